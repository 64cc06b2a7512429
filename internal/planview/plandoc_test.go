package planview_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/planner"
)

func TestPlanIsDeterministic(t *testing.T) {
	cwd, err := filepath.Abs("../../testdata/kustomize")
	if err != nil {
		t.Fatal(err)
	}
	var first string
	for range 5 {
		var text, doc bytes.Buffer
		plan := planner.Compile(t.Context(), []string{"shop/overlays/prod", "monorepo/all"}, planner.Options{Cwd: cwd, Reorder: "legacy"})
		if err := plan.Err(); err != nil {
			t.Fatal(err)
		}
		if err := planview.WriteNodes(&text, plan, nil); err != nil {
			t.Fatal(err)
		}
		if err := planview.NewText(plan, nil, planview.Style{}).WriteRoots(&text); err != nil {
			t.Fatal(err)
		}
		if err := planview.WriteJSON(&doc, plan, nil); err != nil {
			t.Fatal(err)
		}
		switch got := text.String() + doc.String(); {
		case first == "":
			first = got
		case got != first:
			t.Fatal("two plans of one tree differ")
		}
	}
}
