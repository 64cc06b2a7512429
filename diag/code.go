package diag

import "fmt"

// A Code is a kind of message: what a user would look up, for instance "KF0101". Package messages has a page for each. The first two digits
// follow the exit codes: 01 the input, 02 the command line, 03 trust, 04 verification, 05 functions that failed, 06 limits, 07 fetching and
// 09 output.
type Code string

// Errorf returns an error without a place, as [fmt.Errorf] does, of the kind c. If it wraps an error that has a kind, that one counts: what
// is wrapped knows better.
func (c Code) Errorf(format string, args ...any) error {
	return &kindError{fmt.Errorf(format, args...), c}
}

// Of returns err as an error of the kind c, unless it has a kind of its own. Its text stays; nil stays nil.
func (c Code) Of(err error) error {
	if err == nil || CodeOf(err) != "" {
		return err
	}
	return &kindError{err, c}
}

// With sets the kind of e, unless what it is made of has one, and returns e.
func (e *Error) With(c Code) *Error {
	if e.Code == "" {
		e.Code = c
	}
	return e
}

// CodeOf returns the kind of err: that of the innermost error in it which has one, "" if none has. Of errors that it joins the first one counts.
// Types of errors say which kind they are by a method Kind, or by their method Diag: see [AsError].
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

// kindError is an error of a kind, without a place.
type kindError struct {
	error
	code Code
}

func (e *kindError) Unwrap() error { return e.error }
func (e *kindError) Kind() Code    { return e.code }

// coded returns e with the kind of err, if it has none.
func coded(e *Error, err error) *Error {
	if c := CodeOf(err); c != e.Code && c != "" {
		other := *e
		other.Code = c
		return &other
	}
	return e
}
