package executors

import (
	"context"
	"errors"
	"testing"

	"github.com/krmflow/krmflow/executors/internal/wire"
	"github.com/krmflow/krmflow/krm/function"
)

// Only the caller decides whether a call is cancelled. An executor that reports a cancellation
// without one is wrong.
func TestCancelledByNobody(t *testing.T) {
	x, f, answer := &Process{kind: "wasm"}, function.Function{Name: "f"}, &wire.Error{Code: wire.Code_CANCELLED}
	var e *Error
	if err := x.refusal(t.Context(), f, answer); !errors.As(err, &e) || e.Code != Internal {
		t.Errorf("error %v", err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := x.refusal(ctx, f, answer); err != why {
		t.Errorf("error %v", err)
	}
}
