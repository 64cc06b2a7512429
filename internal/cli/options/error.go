package options

// An Error is one about the command line.
type Error struct {
	Kind Kind
	Err  error
}

// A Kind says what is wrong with a command line.
type Kind int

// The kinds of errors.
const (
	Usage     Kind = iota // the command line is wrong
	Untrusted             // it asks for trust that cannot be given
	Mismatch              // it has a digest that is none
)

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns a list, as errors.Join does: each of the errors that Err joins is printed by itself.
func (e *Error) Unwrap() []error { return []error{e.Err} }

// UsageError returns an Error of the kind Usage.
func UsageError(err error) error { return &Error{Usage, err} }
