package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/scheduler"
)

// answering is an executor whose functions all give one answer.
type answering []byte

func (answering) Prepare(context.Context, function.Function) error { return nil }

func (a answering) Execute(context.Context, function.Function, yaml.Chunks) (function.Output, error) {
	return function.Output{List: yaml.Chunks{a}}, nil
}

// An object of many small fields takes more room than its text. What a generator makes of such is an error, and does not get lost.
func TestGeneratorTooLarge(t *testing.T) {
	var answer bytes.Buffer
	answer.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: made}\n  data:\n")
	for i := range yaml.MaxResource / 32 {
		fmt.Fprintf(&answer, "    k%d: v\n", i)
	}
	g := &graph.Graph{}
	node := g.Add(&graph.Node{ID: "call", Op: graph.Call{Role: function.GeneratorRole, Function: function.Function{Name: "f"}}})
	g.Roots = []graph.Root{{Dir: "root", Node: node}}
	errs := scheduler.Run(t.Context(), g, scheduler.Options{Executor: func(function.Runtime) (scheduler.Executor, error) {
		return answering(answer.Bytes()), nil
	}})
	if err := errors.Join(errs...); !errors.Is(err, diag.ErrLimit) || !strings.Contains(err.Error(), "v1 ConfigMap made has become larger than 64 MiB") {
		t.Errorf("error %v", err)
	}
}

// absent is an executor that cannot get any image.
type absent struct{ answering }

func (absent) Prepare(context.Context, function.Function) error {
	return &function.Error{Code: function.Retrieval, Msg: "no such image"}
}

// An image that several roots need and nobody has is reported once, with the roots.
func TestFetchFailsForRoots(t *testing.T) {
	g := &graph.Graph{}
	image := g.Add(&graph.Node{ID: "image", Op: graph.Fetch{}})
	for _, dir := range []string{"a", "b"} {
		node := g.Add(&graph.Node{ID: dir, Op: graph.Call{}, After: []graph.NodeID{image}})
		g.Roots = append(g.Roots, graph.Root{Dir: dir, Node: node})
	}
	errs := scheduler.Run(t.Context(), g, scheduler.Options{Executor: func(function.Runtime) (scheduler.Executor, error) { return absent{}, nil }})
	if want := "no such image\n  needed by a, b"; len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("errors %q, want %q", errs, want)
	}
}
