package scheduler_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/scheduler"
)

// TestPureRunSkipsCallsAndFetches checks that a pure run skips calls, fetches and their consumers,
// runs all other nodes, and requests no executor.
func TestPureRunSkipsCallsAndFetches(t *testing.T) {
	g := &graph.Graph{}
	load := g.Add(&graph.Node{ID: "load",
		Op: graph.Load{Source: &yaml.Source{File: "r.yaml", Data: []byte("{apiVersion: v1, kind: Service, metadata: {name: web}}\n")}}})
	fetch := g.Add(&graph.Node{ID: "fetch", Op: graph.Fetch{}})
	call := g.Add(&graph.Node{ID: "call", Op: graph.Call{}, Inputs: []graph.NodeID{load}, After: []graph.NodeID{fetch}})
	behind := g.Add(&graph.Node{ID: "behind", Op: graph.Merge{}, Inputs: []graph.NodeID{load, call}})
	failed := g.Add(&graph.Node{ID: "failed", Op: graph.Merge{}, Inputs: []graph.NodeID{load, load}})
	needs := g.Add(&graph.Node{ID: "needs failed", Op: graph.Pass{}, Inputs: []graph.NodeID{failed}})
	other := g.Add(&graph.Node{ID: "other", Op: graph.Pass{}, Inputs: []graph.NodeID{load}})
	g.Roots = []graph.Root{{Dir: "behind", Node: behind}, {Dir: "needs", Node: needs}, {Dir: "other", Node: other}}

	for _, jobs := range []int{1, 4} {
		var mu sync.Mutex
		var ran, roots []string
		errs := scheduler.Run(t.Context(), g, scheduler.Options{Jobs: jobs, Pure: true, KeepGoing: true,
			Event: func(e scheduler.Event) {
				mu.Lock()
				defer mu.Unlock()
				ran = append(ran, e.Node.ID)
			},
			Root: func(r graph.Root, list *krm.List) error {
				roots = append(roots, r.Dir)
				return nil
			},
			Executor: func(function.Runtime) (scheduler.Executor, error) {
				t.Error("an executor is asked for")
				return nil, errors.ErrUnsupported
			}})
		slices.Sort(ran)
		if want := []string{"failed", "load", "other"}; !slices.Equal(ran, want) {
			t.Errorf("with %d jobs %q ran, want %q", jobs, ran, want)
		}
		if len(errs) != 1 || !slices.Equal(roots, []string{"other"}) {
			t.Errorf("roots %q and errors %v, want one that is ready and one error", roots, errs)
		}
	}
}
