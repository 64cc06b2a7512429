package profile_test

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/krmflow/krmflow/internal/engine/profile"
)

// simulated returns a profile of n steps with random dependencies, some of them functions, as jobs
// workers would run them in graph order.
func simulated(r *rand.Rand, n, jobs int) *profile.Profile {
	p := &profile.Profile{Jobs: jobs, Calls: jobs, Stages: []profile.Stage{{Name: profile.Running}}}
	workers := make(times, jobs)
	var end time.Duration
	for i := range n {
		s := profile.Step{ID: string(rune('a'+i%26)) + "#" + time.Duration(i).String(), Layer: string(rune('a' + i%5)),
			File: string(rune('f' + i%7)), Self: time.Duration(r.IntN(1000))}
		var ready time.Duration
		for range r.IntN(4) {
			if i > 0 {
				b := r.IntN(i)
				s.Before = append(s.Before, b)
				ready = max(ready, p.Steps[b].End)
			}
		}
		if r.IntN(8) == 0 {
			s.Answered = 1 // it ran concurrently
			s.Function = "fn"
		}
		free := heap.Pop(&workers).(time.Duration)
		s.Start = max(free, ready)
		s.Waited = s.Start - ready
		s.End = s.Start + s.Self
		heap.Push(&workers, s.End)
		end = max(end, s.End)
		p.Steps = append(p.Steps, s)
	}
	p.Stages[0].Wall = end
	return p
}

type times []time.Duration

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i] < t[j] }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(x any)        { *t = append(*t, x.(time.Duration)) }
func (t *times) Pop() any {
	old := *t
	x := old[len(old)-1]
	*t = old[:len(old)-1]
	return x
}

// For every run, the critical path is a chain of steps, each a dependency of the next, with the
// path's duration. No run is shorter than the minimum time.
func TestCriticalPath(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		jobs := 1 + r.IntN(4)
		p := simulated(r, r.IntN(60), jobs)
		a := profile.Analyse(p)
		var sum time.Duration
		for k, i := range a.Critical {
			if k > 0 && !slices.Contains(p.Steps[i].Before, a.Critical[k-1]) {
				t.Fatalf("step %d does not need step %d, which is before it on the critical path", i, a.Critical[k-1])
			}
			sum += p.Steps[i].Self
		}
		if sum != a.Length {
			t.Fatalf("the critical path takes %v, its steps %v", a.Length, sum)
		}
		if a.Length > a.Wall || a.Length > a.Least {
			t.Fatalf("critical %v, least %v, wall %v", a.Length, a.Least, a.Wall)
		}
		if want := longest(p.Steps, -1); a.Length != want {
			t.Fatalf("critical path of %v, want %v", a.Length, want)
		}
	}
}

// longest tries all chains, from each step back to its dependencies. The step gone takes no time.
func longest(steps []profile.Step, gone int) (most time.Duration) {
	memo := make([]time.Duration, len(steps))
	for i, s := range steps {
		if i == gone {
			s.Self = 0
		}
		memo[i] = s.Self
		for _, b := range s.Before {
			memo[i] = max(memo[i], memo[b]+s.Self)
		}
		most = max(most, memo[i])
	}
	return most
}

// Without a step, a run gains at most the duration of the step, and the critical path is recomputed
// without it.
func TestGainIsBoundedByStep(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		p := simulated(r, 1+r.IntN(40), 1+r.IntN(4))
		a := profile.Analyse(p)
		listed := map[int]profile.Gain{}
		for k, g := range a.Gains {
			listed[g.Step] = g
			if took := p.Steps[g.Step].Self; g.Gain < 0 || g.Gain > took || g.Path < 0 || g.Path > took {
				t.Fatalf("without a step of %v the run gains %v, its critical path %v", took, g.Gain, g.Path)
			}
			if k > 0 && g.Gain > a.Gains[k-1].Gain {
				t.Fatal("the largest gain is not the first")
			}
		}
		for i := range p.Steps {
			if want := a.Length - longest(p.Steps, i); listed[i].Path != want {
				t.Fatalf("without step %d the critical path is %v shorter, want %v", i, listed[i].Path, want)
			}
		}
	}
}

// The totals of layers, files and functions are the sums over their steps, and no time is lost.
func TestSumsCoverAllSteps(t *testing.T) {
	p := simulated(rand.New(rand.NewPCG(5, 6)), 50, 2)
	p.Files = []profile.File{{Name: "f", Bytes: 7}, {Name: "unused", Bytes: 9}}
	p.Planned = []profile.Planned{{File: "f", Wall: 5}, {File: "planned", Wall: 6}, {File: "f", Wall: 7}}
	a := profile.Analyse(p)
	for _, list := range [][]profile.Sum{a.Layers, a.Files} {
		var took time.Duration
		steps := 0
		for i, s := range list {
			took += s.Took
			steps += s.Steps
			if i > 0 && s.Took+s.Planned > list[i-1].Took+list[i-1].Planned {
				t.Error("the longest is not the first")
			}
		}
		if took != a.Work || steps != 50 {
			t.Errorf("sums of %v and %d steps, want %v and 50", took, steps, a.Work)
		}
	}
	find := func(name string) profile.Sum {
		i := slices.IndexFunc(a.Files, func(s profile.Sum) bool { return s.Name == name })
		if i < 0 {
			t.Fatalf("no file %s", name)
		}
		return a.Files[i]
	}
	if f := find("f"); f.Planned != 12 || f.Bytes != 7 {
		t.Errorf("%+v", f)
	}
	if find("planned").Planned != 6 || find("unused").Bytes != 9 {
		t.Error("a file without steps is lost")
	}
	if len(a.Functions) != 1 || a.Functions[0].Name != "fn" {
		t.Errorf("functions %v", a.Functions)
	}
}

// Spans in a lane never overlap, and the number of lanes is the maximum number of concurrent spans.
func TestLanesDoNotOverlap(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		var spans []profile.Span
		for i := range r.IntN(50) {
			start := time.Duration(r.IntN(100))
			spans = append(spans, profile.Span{Start: start, End: start + 1 + time.Duration(r.IntN(30)), Index: i})
		}
		lanes := profile.Lanes(spans)
		n := 0
		for _, lane := range lanes {
			for i, s := range lane {
				n++
				if i > 0 && s.Start < lane[i-1].End {
					t.Fatalf("%v overlaps with %v", s, lane[i-1])
				}
			}
		}
		most := 0
		for at := range time.Duration(130) {
			k := 0
			for _, s := range spans {
				if s.Start <= at && at < s.End {
					k++
				}
			}
			most = max(most, k)
		}
		if n != len(spans) || len(lanes) != most {
			t.Fatalf("%d of %d spans in %d lanes, want %d", n, len(spans), len(lanes), most)
		}
	}
}

// A profile without steps is valid: the command may have ended before the first step.
func TestNothingRan(t *testing.T) {
	a := profile.Analyse(&profile.Profile{Jobs: 2})
	if a.Length != 0 || a.Least != 0 || len(a.Critical) != 0 {
		t.Errorf("%+v", a)
	}
}
