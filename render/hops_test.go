package render_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// stack is a transformer that records the krmflow functions on its call stack, including itself.
type stack struct{ names []string }

func (s *stack) Transform(*krm.List, diag.Warn) error {
	pc := make([]uintptr, 100)
	frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if name, ok := strings.CutPrefix(f.Function, "github.com/krmflow/krmflow/"); ok {
			s.names = append(s.names, name)
		}
	}
	return nil
}

// TestFewHops checks that there are few calls between Run and a transformer. ARCHITECTURE.md lists
// them, and the three calls of a command before Run.
func TestFewHops(t *testing.T) {
	var s stack
	g := &graph.Graph{}
	g.Add(&graph.Node{ID: "a.yaml#x", Op: graph.Transform{Transformer: &s}})
	if err := render.Run(t.Context(), &planner.Plan{Graph: g}, render.Options{}); err != nil {
		t.Fatal(err)
	}
	want := "render_test.(*stack).Transform eval.Run scheduler.(*run).visit scheduler.(*walk).work scheduler.Run render.Run render_test.TestFewHops"
	if got := strings.Join(s.names, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
