package watchdog

import (
	"math"
	"testing"

	"github.com/krmflow/krmflow/loaders"
)

// The limits grow with the input, however large the flags let it and the answers of functions be.
func TestLimitsOfLargeInput(t *testing.T) {
	for _, n := range []int64{1 << 30, 3 << 30, 1 << 40} {
		u := Usage{Input: &loaders.Budget{Max: math.MaxInt64}}
		u.Input.Add(n)
		u.Made.Store(n)
		if err := u.checkCPU(); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
		if err := u.checkMemory(1); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
