package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/reference"
)

var (
	// ErrRetrieval is wrapped by errors for content that could not be fetched.
	ErrRetrieval = errors.New("retrieval")
	// ErrVerification is wrapped by errors for content with an unexpected digest.
	ErrVerification = errors.New("verification")
	// ErrRefused is wrapped by errors for references that are not permitted.
	ErrRefused = errors.New("refused")

	errTimeout = errors.New("timeout")
)

// An OfflineError reports content that is not in the cache while network access is not allowed.
type OfflineError struct {
	// Reference is the missing reference, without credentials.
	Reference string
}

func (e *OfflineError) Error() string {
	return e.Reference + " is not in the cache and cannot be fetched offline"
}

// failure is the Err of a [diag.Error] for a reference: its kind and cause. The message of the
// diag.Error starts with the reference.
type failure struct {
	kind, cause error
	about       reference.Reference
}

func (f failure) Error() string { return f.kind.Error() }

func (f failure) Unwrap() []error {
	if f.cause == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.cause}
}

// notFetched returns an error for a reference that wraps [ErrRetrieval] and err.
func notFetched(r reference.Reference, err error, format string, args ...any) *diag.Error {
	return newError(r, ErrRetrieval, err, format, args...)
}

func newError(r reference.Reference, kind, err error, format string, args ...any) *diag.Error {
	return &diag.Error{Msg: r.String() + ": " + fmt.Sprintf(format, args...), Err: failure{kind, err, r}}
}

// refused returns an error for a reference that is not permitted.
func refused(r reference.Reference, format string, args ...any) *diag.Error {
	return newError(r, ErrRefused, nil, format, args...)
}

// mismatch returns the error for content with an unexpected digest.
func mismatch(r reference.Reference, want, got fmt.Stringer) error {
	return newError(r, ErrVerification, nil, "expected %s, got %s", want, got).
		Hint("the content was changed at its source or in transit; if the change is intended, update the digest in the reference")
}

// wrap returns err as an error for a reference. It returns err unchanged if it already is one.
func wrap(r reference.Reference, err error) error {
	var offline *OfflineError
	var known failure
	if err == nil || errors.As(err, &offline) || errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	kind := ErrRetrieval
	if errors.Is(err, diag.ErrLimit) {
		kind = diag.ErrLimit
	}
	e := newError(r, kind, err, "%s", cause(err))
	var inner *diag.Error
	if errors.As(err, &inner) {
		e.Msg, e.Hints = r.String()+": "+inner.Msg, inner.Hints
	}
	return e
}

// of converts err to an error for r. References to the same content share one fetch, whose error
// names the reference that was requested first.
func of(r reference.Reference, err error) error {
	var e *diag.Error
	var known failure
	var offline *OfflineError
	if errors.As(err, &offline) && offline == err {
		return &OfflineError{Reference: r.String()}
	}
	if !errors.As(err, &e) || error(e) != err || !errors.As(e.Err, &known) || known.about.Scheme != r.Scheme ||
		known.about.Location != r.Location {
		return err
	}
	text, ok := strings.CutPrefix(e.Msg, known.about.String()+": ")
	if !ok {
		return err
	}
	own := *e
	known.about = r
	own.Msg, own.Err = r.String()+": "+text, known
	return &own
}

// cause returns the message of err without the addresses that libraries put in front, which may
// contain credentials.
func cause(err error) string {
	for {
		var inURL *url.Error
		var inPath *fs.PathError
		var inOp *net.OpError
		switch {
		case errors.As(err, &inURL):
			err = inURL.Err
		case errors.As(err, &inPath) && inPath == err:
			err = inPath.Err
		case errors.As(err, &inOp) && inOp == err && inOp.Addr != nil:
			return fmt.Sprintf("%s %s: %v", inOp.Op, inOp.Addr, inOp.Err)
		default:
			return diag.OneLine(err.Error())
		}
	}
}
