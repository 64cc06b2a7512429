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
	if label == "" {
		return err
	}
	return eachError(err, func(err error) error {
		var at *diag.Error
		if errors.As(err, &at) && at.Pos.File != "" {
			e := *at // keep the position in front of the label
			e.Msg, e.Err = label+": "+at.Msg, err
			return &e
		}
		return fmt.Errorf("%s: %w", label, err)
	})
}

// inField returns err, or each error joined in err, as an error about the field at path of the
// configuration. It prefixes the text with the path.
func inField(err error, path ...any) error {
	return eachError(err, func(e error) error { return diag.In(labelled(diag.FieldPath(path), e), path...) })
}

// eachError returns err, or each error joined in err, after a change by f.
func eachError(err error, f func(error) error) error {
	many, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return f(err)
	}
	var errs []error
	for _, e := range many.Unwrap() {
		errs = append(errs, eachError(e, f))
	}
	return errors.Join(errs...)
}

// warnIn warns about the part of the configuration at path.
func warnIn(warn Warn, path []any, code diag.Code, format string, args ...any) {
	warn(code, "%w", diag.In(diag.Errorf(diag.Pos{}, "", format, args...), path...))
}

// warnIn passes on a warning about the part of the configuration at path.
func (e Env) warnIn(w *diag.Error, path ...any) {
	if w.Pos.File == "" {
		w = diag.Errorf(diag.Pos{}, "", "%w", diag.In(w, path...))
	}
	e.Warn(w)
}
