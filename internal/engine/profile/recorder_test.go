package profile_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/scheduler"
)

// recorded returns the profile of a run with every kind of step: loading a file, a function that
// needs no list, the step that takes its answer, a function that waits for its preparation, and the
// output.
func recorded() *profile.Profile {
	began := time.Now()
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	g := &graph.Graph{}
	src := &yaml.Source{File: "web.yaml", Data: []byte("kind: A\n")}
	load := g.Add(&graph.Node{ID: "k#resources[0]", Op: graph.Load{Source: src}, Layer: "k"})
	made := g.Add(&graph.Node{ID: "k#generators[0]", Op: graph.Call{Function: function.Function{Name: "gen"}}, Layer: "k"})
	absorb := g.Add(&graph.Node{ID: "k#generators[0].absorb", Op: graph.Absorb{}, Inputs: []graph.NodeID{load, made}, Layer: "k"})
	late := g.Add(&graph.Node{ID: "k#transformers[0]", Op: graph.Call{Function: function.Function{Name: "fn"}},
		Inputs: []graph.NodeID{absorb}, Layer: "k"})
	g.Add(&graph.Node{ID: "left out", Op: graph.Pass{}})
	g.Roots = []graph.Root{{Dir: "k", Node: late}}

	r := profile.New(began, 2, 8)
	r.Stage(profile.Planning)
	r.Plan(graph.Origin{Source: src})
	r.Plan(graph.Origin{Source: src})
	r.Stage(profile.Running)
	r.Event(scheduler.Event{Node: g.Nodes[load], Start: at(2), End: at(5), Resources: 1, Made: 10})
	r.Event(scheduler.Event{Node: g.Nodes[made], Start: at(2), End: at(11), Called: at(2), Answered: at(11), Made: 10, Resources: 1})
	r.Event(scheduler.Event{Node: g.Nodes[absorb], Start: at(11), End: at(12), Taken: 20, Made: 20, Resources: 2})
	r.Event(scheduler.Event{Node: g.Nodes[late], Start: at(13), End: at(30), Called: at(16), Answered: at(28), Taken: 20,
		Made: 30, Resources: 3})
	r.Root(g.Roots[0], krm.NewList(), time.Now())
	r.Memory(1000, 0.5)
	r.Stage(profile.Writing)
	return r.Profile(g, []*yaml.Source{src})
}

// The time that a step worked and the time that it waited are separate.
func TestSelfAndWaiting(t *testing.T) {
	p := recorded()
	if len(p.Steps) != 5 {
		t.Fatalf("%d steps, want four and an output: %+v", len(p.Steps), p.Steps)
	}
	const ms = time.Millisecond
	for i, want := range []struct{ self, waited time.Duration }{{3 * ms, -1}, {9 * ms, -1}, {1 * ms, 0}, {14 * ms, 4 * ms}} {
		s := p.Steps[i]
		if s.Self != want.self || want.waited >= 0 && s.Waited != want.waited {
			t.Errorf("%s: took %v, waited %v; want %+v", s.ID, s.Self, s.Waited, want)
		}
	}
	if s := p.Steps[0]; s.File != "web.yaml" || s.Made != 10 || s.Verb != "load" {
		t.Errorf("%+v", s)
	}
	if s := p.Steps[4]; s.Verb != profile.Output || s.ID != "k" || len(s.Before) != 1 || s.Before[0] != 3 {
		t.Errorf("%+v", s)
	}
	if len(p.Planned) != 1 || p.Planned[0].Steps != 2 {
		t.Errorf("planned %+v", p.Planned)
	}
	if p.Memory.Least != 1 || len(p.Memory.Samples) != 1 || len(p.Stages) != 4 {
		t.Errorf("memory %+v, stages %+v", p.Memory, p.Stages)
	}
}

// A nil recorder records nothing, and the memory for samples is bounded.
func TestRecorderIsBounded(t *testing.T) {
	var none *profile.Recorder
	none.Stage("x")
	none.Plan(graph.Origin{})
	none.Event(scheduler.Event{})
	none.Root(graph.Root{}, nil, time.Time{})
	none.Memory(1, 1)
	r := profile.New(time.Now(), 4, 8)
	for i := range 100_000 {
		r.Memory(uint64(i), 1)
	}
	p := r.Profile(nil, nil)
	if n := len(p.Memory.Samples); n < 500 || n > 2000 || p.Memory.Live < 99_999 {
		t.Errorf("%d samples, most %d", n, p.Memory.Live)
	}
}

// A trace has the format of browsers and Perfetto, and its profile can be read back.
func TestTraceRoundTrips(t *testing.T) {
	p := recorded()
	var b bytes.Buffer
	if err := profile.WriteTrace(&b, p); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), profile.TraceBegins) {
		t.Errorf("it begins with %.40s", b.String())
	}
	var trace struct {
		Events []struct {
			Name, Ph string
			Ts, Dur  *float64
			Pid, Tid *int
			Args     map[string]any
		} `json:"traceEvents"`
		Unit string `json:"displayTimeUnit"`
	}
	if err := json.Unmarshal(b.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	threads, ends, phases := map[int]string{}, map[int]float64{}, map[string]int{}
	for _, e := range trace.Events {
		phases[e.Ph]++
		if e.Name == "" || e.Ts == nil || e.Pid == nil || e.Tid == nil || *e.Ts < 0 {
			t.Errorf("an event without what each has: %+v", e)
			continue
		}
		switch e.Ph {
		case "M":
			if e.Name == "thread_name" {
				threads[*e.Tid] = e.Args["name"].(string)
			}
		case "X":
			if threads[*e.Tid] == "" {
				t.Errorf("%s is on a thread without a name", e.Name)
			}
			if *e.Ts < ends[*e.Tid]-0.01 {
				t.Errorf("%s begins at %v, before the event before it on %s ends", e.Name, *e.Ts, threads[*e.Tid])
			}
			if e.Dur != nil {
				ends[*e.Tid] = *e.Ts + *e.Dur
			}
		case "C":
		default:
			t.Errorf("phase %s", e.Ph)
		}
	}
	if phases["X"] < 9 || phases["C"] != 2 || trace.Unit != "ms" {
		t.Errorf("events %v, unit %s", phases, trace.Unit)
	}
	again, err := profile.ReadTrace(&b)
	if err != nil || len(again.Steps) != len(p.Steps) || again.Steps[2].Self != p.Steps[2].Self {
		t.Errorf("%+v, %v", again, err)
	}
}

// A file is refused if it is not a krmflow trace, or if a step depends on a later one.
func TestReadTrace(t *testing.T) {
	for _, text := range []string{"", "{}", "[]", `{"krmflow":{"steps":[{"before":[0]}]}}`, `{"krmflow":{"steps":[{},{"before":[-1]}]}}`} {
		if p, err := profile.ReadTrace(strings.NewReader(text)); err == nil {
			t.Errorf("%q is read as %+v", text, p)
		}
	}
}
