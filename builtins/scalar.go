// Follows api/filters/filtersutil/setters.go.

package builtins

import (
	"fmt"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// sameStyle returns text in the style of old: kustomize replaces the text of a scalar and keeps its quotes or their
// absence, so that an unquoted text may turn into a number.
func sameStyle(old yaml.Value, text string) yaml.Value {
	if old.Quoted() {
		return yaml.Str(text).WithStyleOf(old)
	}
	return yaml.Untyped(text)
}

// errTooLarge says that an object would have more than a list may hold.
func errTooLarge() error {
	return diag.Limitf("the object would become larger than %d MiB", yaml.MaxResource>>20)
}

// A growth counts the text that a step adds to an object. The fields that it edits may be any number.
type growth int

// add counts that v takes the place of old.
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

// resourceError says which resource err is about.
func resourceError(r *krm.Resource, err error) error {
	if r.Pos.File != "" {
		return fmt.Errorf("%s (%s): %w", r.ID(), r.Pos, err)
	}
	return fmt.Errorf("%s: %w", r.ID(), err)
}
