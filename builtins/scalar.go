// Follows api/filters/filtersutil/setters.go.

package builtins

import (
	"fmt"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// sameStyle returns text in the style of old. Like kustomize, it keeps the presence or absence of
// quotes, so an unquoted text may become a number.
func sameStyle(old yaml.Value, text string) yaml.Value {
	if old.Quoted() {
		return yaml.Str(text).WithStyleOf(old)
	}
	return yaml.Untyped(text)
}

// errTooLarge reports that an object would exceed the maximum size of a resource.
func errTooLarge() error {
	return diag.Limitf("the object would become larger than %d MiB", yaml.MaxResource>>20)
}

// A growth is the number of bytes that a step has added to an object. It limits steps that may
// edit any number of fields.
type growth int

// add records that v replaces old.
func (g *growth) add(old, v yaml.Value) error {
	if *g += growth(len(v.Text()) - len(old.Text())); *g > yaml.MaxResource {
		return errTooLarge()
	}
	return nil
}

func errNotScalar(v yaml.Value) error { return errFound("a scalar", v) }

func errFound(want string, v yaml.Value) error {
	article := "a"
	if v.Type() == yaml.Int {
		article = "an"
	}
	return diag.UnfitField.Errorf("expected %s, found %s %s", want, article, v.Type())
}

// resourceError adds the identity of r to err.
func resourceError(r *krm.Resource, err error) error {
	if r.Pos.File != "" {
		return fmt.Errorf("%s (%s): %w", r.ID(), r.Pos, err)
	}
	return fmt.Errorf("%s: %w", r.ID(), err)
}
