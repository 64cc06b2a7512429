package console

import (
	"context"
	"errors"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/loaders/remote"
)

// codeOf returns the code of err: the code that it carries, or else a code derived from its
// type, so that every printed error has one.
func codeOf(err error) diag.Code {
	if code := diag.CodeOf(err); code != "" {
		return code
	}
	var line *options.Error
	switch {
	case errors.As(err, &line):
		return map[options.Kind]diag.Code{options.Usage: diag.Usage, options.Untrusted: diag.Denied,
			options.Mismatch: diag.BadReference}[line.Kind]
	case errors.As(err, new(*remote.OfflineError)):
		return diag.Offline
	case diag.IsTooLarge(err):
		return diag.TooLarge
	case errors.Is(err, diag.ErrLimit):
		return diag.Limit
	case errors.Is(err, remote.ErrVerification):
		return diag.DigestMismatch
	case errors.Is(err, remote.ErrRefused):
		return diag.Refused
	case errors.Is(err, remote.ErrRetrieval):
		return diag.NotFetched
	case errors.Is(err, context.Canceled):
		return diag.Stopped
	}
	return diag.General
}
