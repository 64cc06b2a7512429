package limits

import (
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A run that is stopped between two steps names the previous step, and nodes without a position do
// not hide it.
func TestStoppedBetweenSteps(t *testing.T) {
	var s Steps
	src := &yaml.Source{File: "k/kustomization.yaml", Data: []byte("namePrefix: a\n")}
	placed := &graph.Node{Origin: graph.Origin{Source: src, Path: []any{"namePrefix"}}}
	s.Begin(placed)
	s.End(placed)
	s.Begin(&graph.Node{})
	if err := s.Stopped(diag.Limitf("stopped")); !strings.HasPrefix(err.Error(), "k/kustomization.yaml:1: ") {
		t.Errorf("the place is missing in %q", err)
	}
}
