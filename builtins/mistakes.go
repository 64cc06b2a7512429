package builtins

import (
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/diag"
)

// notGiven is the error for a configuration that lacks a required part.
type notGiven string

func (e notGiven) Error() string { return string(e) }

// Kind returns [diag.MissingField]: see [diag.CodeOf].
func (e notGiven) Kind() diag.Code { return diag.MissingField }

// Missing returns an error for which [IsMissing] is true.
func Missing(text string) error { return notGiven(text) }

// advised returns err with a hint.
func advised(err error, hint string, args ...any) error {
	return diag.Errorf(diag.Pos{}, "", "%w", err).Hint(hint, args...)
}

// IsMissing reports whether err says that a required part of a configuration is missing. A caller
// that could not read the configuration completely can suppress such an error, because it has
// already reported the cause.
func IsMissing(err error) bool {
	var e notGiven
	return errors.As(err, &e)
}

// labelled prefixes err, or each error joined in err, with label. It returns err unchanged if
// label is empty or err is nil.
func labelled(label string, err error) error {
	if label == "" || err == nil {
		return err
	}
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		var at *diag.Error
		if errors.As(err, &at) && at.Pos.File != "" {
			e := *at // keep the position in front of the label
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
