package builtins

import (
	"fmt"

	"github.com/krmflow/krmflow/krm"
)

// sameStyle returns text in the style of old: kustomize replaces the text of a scalar and keeps its quotes or their
// absence, so that an unquoted text may turn into a number.
func sameStyle(old krm.Value, text string) krm.Value {
	if old.Quoted() {
		return krm.Str(text).WithStyleOf(old)
	}
	return krm.Untyped(text)
}

// errTooLarge says that an object would have more than a list may hold.
func errTooLarge() error {
	return krm.Limitf("the object would become larger than %d MiB", krm.MaxResource>>20)
}

// A growth counts the text that a step adds to an object. The fields that it edits may be any number.
type growth int

// add counts that v takes the place of old.
func (g *growth) add(old, v krm.Value) error {
	if *g += growth(len(v.Text()) - len(old.Text())); *g > krm.MaxResource {
		return errTooLarge()
	}
	return nil
}

func errNotScalar(v krm.Value) error { return errFound("a scalar", v) }

func errFound(want string, v krm.Value) error {
	article := "a"
	if v.Type() == krm.Int {
		article = "an"
	}
	return fmt.Errorf("expected %s, found %s %s", want, article, v.Type())
}

// resourceError says which resource err is about.
func resourceError(r *krm.Resource, err error) error {
	if r.Pos.File != "" {
		return fmt.Errorf("%s (%s): %w", r.ID(), r.Pos, err)
	}
	return fmt.Errorf("%s: %w", r.ID(), err)
}
