package options

// An Error is an error of the command line.
type Error struct {
	Kind Kind
	Err  error
}

// A Kind is the kind of an Error.
type Kind int

// The kinds of errors.
const (
	Usage     Kind = iota // the command line is wrong
	Untrusted             // it requests trust that cannot be granted
	Mismatch              // it has a malformed digest
)

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns a list, as errors.Join does, so that the errors joined in Err are printed one
// by one.
func (e *Error) Unwrap() []error { return []error{e.Err} }

// UsageError returns an Error of kind Usage.
func UsageError(err error) error { return &Error{Usage, err} }
