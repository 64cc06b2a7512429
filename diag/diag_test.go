package diag

import (
	"errors"
	"fmt"
	"testing"
)

// TestAsError checks that the position of a wrapped error is printed once, at the beginning, and
// that its hints stay at the end.
func TestAsError(t *testing.T) {
	bad := Errorf(Pos{"f.yaml", 2}, "a", "bad").Hint("do it better")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{bad, "f.yaml:2: a: bad\n  do it better"},
		{fmt.Errorf("envs[0]: %w", bad), "f.yaml:2: envs[0]: a: bad\n  do it better"},
		{Errorf(Pos{}, "b", "no good: %w", bad), "b: no good: f.yaml:2: a: bad\n  do it better"},
		{errors.New("alone"), "alone"},
		{fmt.Errorf("wide: %w", Limitf("too much").Hint("less")), "wide: too much\n  less"},
	} {
		e := AsError(tt.err)
		if got := e.Error(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.err, got, tt.want)
		}
		if !errors.Is(e, tt.err) {
			t.Errorf("%q is not in the error", tt.err)
		}
	}
}
