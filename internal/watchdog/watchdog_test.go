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

// With a limit of the user fewer jobs may run the nearer the memory in use is to it: never none, and never more when there is less room.
func TestJobsNearTheLimit(t *testing.T) {
	if (&Usage{}).Jobs(8) != nil {
		t.Error("without a limit something asks before each node")
	}
	u := Usage{Limit: 100 << 20, Input: &loaders.Budget{Max: math.MaxInt64}}
	jobs := u.Jobs(8)
	before := 8
	for live := uint64(0); live <= 120<<20; live += 1 << 20 {
		u.crowded.Store(math.Float64bits(1 - u.part(live)))
		got := jobs()
		if got < 1 || got > before {
			t.Fatalf("%d MiB in use: %d jobs, and %d with a little less", live>>20, got, before)
		}
		if live <= 50<<20 && got != 8 || live >= 94<<20 && got != 1 {
			t.Errorf("%d MiB in use: %d jobs", live>>20, got)
		}
		if err := u.checkMemory(live); (err != nil) != (live > 100<<20) {
			t.Errorf("%d MiB in use: %v", live>>20, err)
		}
		before = got
	}
	if u.within(64<<20) != 64<<20 || u.within(200<<20) != 100<<20 {
		t.Error("collections do not heed the limit")
	}
}
