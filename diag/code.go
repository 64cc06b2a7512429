package diag

import "fmt"

// A Code identifies a kind of message that users can look up, for instance "KF0101". Package
// messages has a page for each. The first two digits follow the exit codes: 01 input, 02 command
// line, 03 trust, 04 verification, 05 failed functions, 06 limits, 07 fetching and 09 output.
type Code string

// Errorf returns an error with code c and without a position, formatted like [fmt.Errorf]. If a
// wrapped error has a code, that code takes precedence because it is more specific.
func (c Code) Errorf(format string, args ...any) error {
	return &kindError{fmt.Errorf(format, args...), c}
}

// Of returns err with code c, or err itself if it already has a code. The text does not change.
// Of(nil) is nil.
func (c Code) Of(err error) error {
	if err == nil || CodeOf(err) != "" {
		return err
	}
	return &kindError{err, c}
}

// With sets the code of e unless e already has one, and returns e.
func (e *Error) With(c Code) *Error {
	if e.Code == "" {
		e.Code = c
	}
	return e
}

// CodeOf returns the code of the innermost error in err that has one, "" if none has. For joined
// errors, the first one with a code takes precedence. An error type declares its code by a method
// Kind or Diag: see [AsError].
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if c := CodeOf(e.Unwrap()); c != "" {
			return c
		}
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if c := CodeOf(part); c != "" {
				return c
			}
		}
	}
	switch e := err.(type) {
	case interface{ Kind() Code }:
		return e.Kind()
	case interface{ Diag() *Error }:
		return e.Diag().Code
	}
	return ""
}

// Kind returns e.Code: see [CodeOf].
func (e *Error) Kind() Code { return e.Code }

// kindError is an error with a code and without a position.
type kindError struct {
	error
	code Code
}

func (e *kindError) Unwrap() error { return e.error }
func (e *kindError) Kind() Code    { return e.code }

// coded returns e with the code of err, or e itself if err has no other code.
func coded(e *Error, err error) *Error {
	if c := CodeOf(err); c != e.Code && c != "" {
		other := *e
		other.Code = c
		return &other
	}
	return e
}
