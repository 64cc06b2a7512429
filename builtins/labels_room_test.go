package builtins

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/krmflow/krmflow/krm"
)

// TestAddManyEntries adds many labels and annotations step by step, to a list that owns its
// resources and extends large mappings in place, and to a clone for each step. It also checks that
// earlier clones do not change.
func TestAddManyEntries(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 1))
	text := ""
	for i := range 5 {
		text += fmt.Sprintf("---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d, labels: {k1: x, k2: y}}\n"+
			"spec: {selector: {matchLabels: {a: b}}, template: {metadata: {annotations: {k3: z}}}}\n", i)
	}
	c := DefaultConfig()
	owned := krm.NewList(docs(t, text)...)
	cloned := krm.NewList(docs(t, text)...)
	type snapshot struct {
		list *krm.List
		text string
	}
	var before []snapshot
	for step := range 300 {
		pairs := map[string]string{}
		for range 1 + rnd.IntN(3) {
			pairs[fmt.Sprint("k", rnd.IntN(step+2))] = fmt.Sprint(rnd.IntN(2))
		}
		var b Transformer = &AnnotationsTransformer{Annotations: pairs, FieldSpecs: c.CommonAnnotations}
		if rnd.IntN(2) == 0 {
			b = &LabelTransformer{Labels: pairs, FieldSpecs: c.CommonLabels}
		}
		if err := b.Configure(Env{}); err != nil {
			t.Fatal(err)
		}
		cloned = cloned.Clone()
		for _, list := range []*krm.List{owned, cloned} {
			if err := b.Transform(list, noWarn); err != nil {
				t.Fatal(err)
			}
		}
		got, want := string(owned.AppendYAML(nil)), string(cloned.AppendYAML(nil))
		if got != want {
			t.Fatalf("step %d, %v: got\n%s\nwant\n%s", step, pairs, got, want)
		}
		if rnd.IntN(10) == 0 {
			before = append(before, snapshot{owned.Clone(), got})
			owned = owned.Take(krm.HandedOver)
		}
	}
	for i, s := range before {
		if now := string(s.list.AppendYAML(nil)); now != s.text {
			t.Fatalf("clone %d has changed", i)
		}
	}
}
