package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/krmflow/krmflow/internal/cli/program"
)

// The event log of a run contains each id of the plan once, in an order that the edges of the plan
// allow.
func TestEventLogIsThePlan(t *testing.T) {
	const root = "../../testdata/kustomize/shop/overlays/"
	for _, dir := range []string{"dev", "staging", "prod"} {
		var out, events, stderr bytes.Buffer
		if code := start(program.Name{}, []string{"plan", root + dir, "-o", "json"}, nil, &out, &stderr); code != 0 {
			t.Fatalf("plan: exit code %d\n%s", code, stderr.String())
		}
		var plan struct {
			Nodes []struct {
				ID     string
				Inputs []string
			}
		}
		if err := json.Unmarshal(out.Bytes(), &plan); err != nil {
			t.Fatal(err)
		}
		if code := start(program.Name{}, []string{"apply-render", "-j", "4", "--log-format", "json", root + dir}, nil, &bytes.Buffer{},
			&events); code != 0 {
			t.Fatalf("apply-render: exit code %d\n%s", code, events.String())
		}
		position := map[string]int{}
		dec := json.NewDecoder(&events)
		for dec.More() {
			var e struct{ Node string }
			if err := dec.Decode(&e); err != nil {
				t.Fatal(err)
			}
			if e.Node == "" {
				continue
			}
			if _, twice := position[e.Node]; twice {
				t.Errorf("%s: node %s ran twice", dir, e.Node)
			}
			position[e.Node] = len(position)
		}
		planned := map[string]int{}
		for _, n := range plan.Nodes {
			planned[n.ID] = 0
			for _, in := range n.Inputs {
				if position[in] > position[n.ID] {
					t.Errorf("%s: node %s ended before its input %s", dir, n.ID, in)
				}
			}
		}
		ran, want := slices.Sorted(maps.Keys(position)), slices.Sorted(maps.Keys(planned))
		if len(want) < 10 || !slices.Equal(ran, want) {
			t.Errorf("%s: nodes that ran\n%q\nplanned\n%q", dir, ran, want)
		}
	}
}
