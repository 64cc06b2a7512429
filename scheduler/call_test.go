package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm/chart"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/scheduler"
)

// answering is an executor whose functions all return the same answer.
type answering []byte

func (answering) Prepare(context.Context, function.Function) error { return nil }

func (a answering) Execute(context.Context, function.Function, yaml.Chunks) (function.Output, error) {
	return function.Output{List: yaml.Chunks{a}}, nil
}

// TestGeneratorTooLarge checks that a generated object that is too large is an error that is not
// lost. An object of many small fields takes more memory than its text.
func TestGeneratorTooLarge(t *testing.T) {
	longtest.Only(t)
	var answer bytes.Buffer
	answer.WriteString(
		"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: made}\n  data:\n")
	for i := range yaml.MaxResource / 32 {
		fmt.Fprintf(&answer, "    k%d: v\n", i)
	}
	g := &graph.Graph{}
	node := g.Add(&graph.Node{ID: "call", Op: graph.Call{Role: function.GeneratorRole, Function: function.Function{Name: "f"}}})
	g.Roots = []graph.Root{{Dir: "root", Node: node}}
	errs := scheduler.Run(t.Context(), g, scheduler.Options{Executor: func(function.Runtime) (scheduler.Executor, error) {
		return answering(answer.Bytes()), nil
	}})
	if err := errors.Join(errs...); !errors.Is(err, diag.ErrLimit) ||
		!strings.Contains(err.Error(), "v1 ConfigMap made exceeds the limit of 64 MiB") {
		t.Errorf("error %v", err)
	}
}

// absent is an executor that cannot fetch any image.
type absent struct{ answering }

func (absent) Prepare(context.Context, function.Function) error {
	return &function.Error{Code: function.Retrieval, Msg: "no such image"}
}

// TestFetchFailsForRoots checks that a missing image that several roots need is reported once, with
// the roots.
func TestFetchFailsForRoots(t *testing.T) {
	g := &graph.Graph{}
	image := g.Add(&graph.Node{ID: "image", Op: graph.Fetch{}})
	for _, dir := range []string{"a", "b"} {
		node := g.Add(&graph.Node{ID: dir, Op: graph.Call{}, After: []graph.NodeID{image}})
		g.Roots = append(g.Roots, graph.Root{Dir: dir, Node: node})
	}
	errs := scheduler.Run(t.Context(), g,
		scheduler.Options{Executor: func(function.Runtime) (scheduler.Executor, error) { return absent{}, nil }})
	if want := "no such image\n  needed by a, b"; len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("errors %q, want %q", errs, want)
	}
}

// together is an executor whose functions wait for each other, so all of them must run at the same
// time.
type together struct {
	answering
	all *sync.WaitGroup
}

func (x together) Execute(ctx context.Context, f function.Function, list yaml.Chunks) (function.Output, error) {
	x.all.Done()
	met := make(chan struct{})
	go func() { x.all.Wait(); close(met) }()
	select {
	case <-met:
		return x.answering.Execute(ctx, f, list)
	case <-time.After(20 * time.Second):
		return function.Output{}, errors.New("no other function runs")
	}
}

// TestGeneratorsTogether checks that generators whose answers are absorbed one after the other run
// at the same time, even with one job. Their reports are in the order of the plan.
func TestGeneratorsTogether(t *testing.T) {
	empty := answering("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n")
	for _, test := range []struct {
		chart  *chart.Chart
		answer answering
	}{{nil, empty}, {&chart.Chart{}, nil}} {
		g := &graph.Graph{}
		node := g.Add(&graph.Node{ID: "resources", Op: graph.Merge{}})
		for i := range scheduler.DefaultCalls {
			op := graph.Call{Role: function.GeneratorRole, Function: function.Function{Name: "f"}, Chart: test.chart}
			node = then(g, []graph.NodeID{node}, &graph.Node{ID: fmt.Sprint("call", i), Op: op})
		}
		g.Roots = []graph.Root{{Dir: "root", Node: node}}
		var all sync.WaitGroup
		all.Add(scheduler.DefaultCalls)
		var order, want []string
		for _, n := range g.Calls() {
			want = append(want, n.ID)
		}
		errs := scheduler.Run(t.Context(), g, scheduler.Options{
			Jobs:     1,
			Executor: func(function.Runtime) (scheduler.Executor, error) { return together{test.answer, &all}, nil },
			Call:     func(c scheduler.CallReport) { order = append(order, c.Node.ID) },
		})
		if len(errs) > 0 || !slices.Equal(order, want) {
			t.Errorf("reports of %q, errors %v", order, errs)
		}
	}
}

// TestPanicEndsOtherCalls checks that a panic of an executor is the error of its node, and that all
// other functions end before the run does.
func TestPanicEndsOtherCalls(t *testing.T) {
	g := &graph.Graph{}
	var last []graph.NodeID
	for i := range 5 {
		last = []graph.NodeID{then(g, last, &graph.Node{ID: fmt.Sprint("call", i),
			Op: graph.Call{Role: function.GeneratorRole, Function: function.Function{Name: fmt.Sprint(i)}}})}
	}
	var running atomic.Int32
	errs := scheduler.Run(t.Context(), g,
		scheduler.Options{Executor: func(function.Runtime) (scheduler.Executor, error) { return first{running: &running}, nil }})
	var p *diag.PanicError
	if len(errs) != 1 || !errors.As(errs[0], &p) || running.Load() != 0 {
		t.Errorf("errors %v, %d functions run", errs, running.Load())
	}
}

// first is an executor whose first function panics. The others run until they are stopped.
type first struct {
	answering
	running *atomic.Int32
}

func (x first) Execute(ctx context.Context, f function.Function, list yaml.Chunks) (function.Output, error) {
	if f.Name == "0" {
		panic("first")
	}
	x.running.Add(1)
	defer x.running.Add(-1)
	<-ctx.Done()
	return function.Output{}, context.Cause(ctx)
}

// TestReportWithoutAbsorb checks that a generator's report is passed on once, even if the run ends
// before a step absorbs its answer.
func TestReportWithoutAbsorb(t *testing.T) {
	g := &graph.Graph{}
	slow := g.Add(&graph.Node{ID: "slow", Op: graph.Call{Function: function.Function{Name: "slow"}}})
	last := []graph.NodeID{slow}
	for _, name := range []string{"made", "bad"} {
		last = []graph.NodeID{then(g, last,
			&graph.Node{ID: name, Op: graph.Call{Role: function.GeneratorRole, Function: function.Function{Name: name}}})}
	}
	made := make(chan struct{})
	var reports []string
	errs := scheduler.Run(t.Context(), g, scheduler.Options{
		Executor: func(function.Runtime) (scheduler.Executor, error) { return failing{made: made}, nil },
		Event: func(e scheduler.Event) {
			if e.Node.ID == "made" {
				close(made)
			}
		},
		Call: func(c scheduler.CallReport) {
			if c.Node.ID == "made" {
				reports = append(reports, string(c.Stderr))
			}
		},
	})
	if len(errs) != 1 || errs[0].Error() != "bad" || !slices.Equal(reports, []string{"made"}) {
		t.Errorf("errors %v, reports %q", errs, reports)
	}
}

// failing is an executor. The function bad fails after made has answered; slow runs until it is
// stopped.
type failing struct {
	answering
	made chan struct{}
}

func (x failing) Execute(ctx context.Context, f function.Function, _ yaml.Chunks) (function.Output, error) {
	switch f.Name {
	case "bad":
		<-x.made
		return function.Output{}, errors.New("bad")
	case "slow":
		<-ctx.Done()
		return function.Output{}, context.Cause(ctx)
	}
	list := yaml.Chunks{[]byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n")}
	return function.Output{List: list, Stderr: []byte(f.Name)}, nil
}
