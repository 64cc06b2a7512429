package builtins

import (
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/diag"
)

// notGiven is the error of a configuration without something that it needs.
type notGiven string

func (e notGiven) Error() string { return string(e) }

// Kind says which kind of message it is: see [diag.CodeOf].
func (e notGiven) Kind() diag.Code { return diag.MissingField }

// Missing returns an error for which [IsMissing] is true.
func Missing(text string) error { return notGiven(text) }

// advised returns err with a hint line.
func advised(err error, hint string, args ...any) error {
	return diag.Errorf(diag.Pos{}, "", "%w", err).Hint(hint, args...)
}

// IsMissing reports whether err says that something is not given at all. Who knows that a part of the configuration could not
// be read knows why, and need not say so.
func IsMissing(err error) bool {
	var e notGiven
	return errors.As(err, &e)
}

// labelled puts label in front of err, or of each error that err joins. The label may be empty and err nil.
func labelled(label string, err error) error {
	if label == "" || err == nil {
		return err
	}
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		var at *diag.Error
		if errors.As(err, &at) && at.Pos.File != "" {
			e := *at // the place stays in front
			e.Msg, e.Err = label+": "+at.Msg, err
			return &e
		}
		return fmt.Errorf("%s: %w", label, err)
	}
	var errs []error
	for _, e := range many.Unwrap() {
		errs = append(errs, labelled(label, e))
	}
	return errors.Join(errs...)
}
