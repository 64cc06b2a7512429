package limits

import (
	"bytes"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/scheduler"
)

// The limits grow with the input, however large the flags and the answers of functions allow it to
// be.
func TestLimitsOfLargeInput(t *testing.T) {
	for _, n := range []int64{1 << 30, 3 << 30, 1 << 40} {
		u := Usage{Input: &loaders.Budget{Max: math.MaxInt64}, CPU: time.Nanosecond, CPUGrows: true}
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

// With a limit set by the user, fewer jobs may run as memory use approaches it: always at least
// one, and never more when less memory is free.
func TestJobsNearTheLimit(t *testing.T) {
	if (&Usage{}).Jobs() != nil {
		t.Error("without a limit something asks before each node")
	}
	u := Usage{Limit: 100 << 20, Input: &loaders.Budget{Max: math.MaxInt64}}
	jobs := u.Jobs()
	before := 8
	for live := uint64(0); live <= 120<<20; live += 1 << 20 {
		u.crowded.Store(math.Float64bits(1 - u.part(live)))
		got := jobs(8)
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

// TestMemoryLimit checks that a limit of the user with Lifts replaces the limit by input, and that
// a limit from a variable can only lower it.
func TestMemoryLimit(t *testing.T) {
	for _, c := range []struct {
		limit int64
		lifts bool
		live  uint64
		ends  bool
	}{
		{0, true, 200 << 20, true},
		{1 << 30, true, 200 << 20, false},
		{1 << 30, true, 2 << 30, true},
		{1 << 30, false, 200 << 20, true},
		{64 << 20, false, 100 << 20, true},
	} {
		u := Usage{Limit: c.limit, Lifts: c.lifts, Input: &loaders.Budget{Max: math.MaxInt64}}
		if err := u.checkMemory(c.live); (err != nil) != c.ends {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A run near its limit renders the same bytes with fewer nodes at a time.
func TestSameBytesNearTheLimit(t *testing.T) {
	g := &graph.Graph{}
	for i := range 40 {
		src := &yaml.Source{File: fmt.Sprintf("r%d.yaml", i),
			Data: fmt.Appendf(nil, "{apiVersion: v1, kind: Service, metadata: {name: web-%d}}\n", i)}
		load := g.Add(&graph.Node{ID: fmt.Sprintf("r%d#resources[0]", i), Op: graph.Load{Source: src}})
		g.Roots = append(g.Roots, graph.Root{Dir: fmt.Sprintf("r%d", i),
			Node: g.Add(&graph.Node{ID: fmt.Sprintf("r%d#merge", i), Op: graph.Merge{}, Inputs: []graph.NodeID{load}})})
	}
	const all = 8
	run := func(live uint64) (made map[string]string, most int) {
		u := Usage{Limit: 100 << 20, Input: &loaders.Budget{Max: math.MaxInt64}}
		u.crowded.Store(math.Float64bits(1 - u.part(live)))
		var mu sync.Mutex
		made = map[string]string{}
		running := 0
		errs := scheduler.Run(t.Context(), g, scheduler.Options{Jobs: all, Limit: u.Jobs(),
			Begin: func(*graph.Node) {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(100 * time.Microsecond) // lets others start if allowed
			},
			Event: func(scheduler.Event) {
				mu.Lock()
				defer mu.Unlock()
				running--
			},
			Root: func(r graph.Root, list *krm.List) error {
				var b bytes.Buffer
				defer mu.Unlock()
				mu.Lock()
				err := list.WriteYAML(&b)
				made[r.Dir] = b.String()
				return err
			}})
		if len(errs) > 0 || len(made) != len(g.Roots) {
			t.Fatalf("%d of %d roots, %v", len(made), len(g.Roots), errs)
		}
		return made, most
	}
	want, _ := run(0)
	for live, limit := range map[uint64]int{60 << 20: 6, 80 << 20: 3, 99 << 20: 1} {
		made, most := run(live)
		if most > limit {
			t.Errorf("%d MiB of 100 in use: %d nodes at a time, want at most %d", live>>20, most, limit)
		}
		for dir, text := range want {
			if made[dir] != text {
				t.Errorf("%s is %q, without a limit %q", dir, made[dir], text)
			}
		}
	}
}
