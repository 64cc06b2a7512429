package scheduler_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/scheduler"
)

// transform is a transformer that calls a function.
type transform func()

func (f transform) Transform(*krm.List, diag.Warn) error { f(); return nil }

// runOne runs a graph of one step, which calls f.
func runOne(t *testing.T, f func()) error {
	g := &graph.Graph{}
	g.Add(&graph.Node{ID: "a.yaml#x", Op: graph.Transform{Transformer: transform(f)}})
	return errors.Join(scheduler.Run(t.Context(), g, scheduler.Options{Jobs: 1})...)
}

// TestPanicNamesNode checks that a panic of a step becomes an error that names the node and omits
// the value of the panic.
func TestPanicNamesNode(t *testing.T) {
	err := runOne(t, func() { panic("secret value") })
	var p *diag.PanicError
	if !errors.As(err, &p) || p.Where != "a.yaml#x" || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v, want a PanicError of the node without the value", err)
	}
}
