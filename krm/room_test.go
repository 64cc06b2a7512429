package krm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

// TestWithFieldSpares adds fields to earlier mappings at random, also twice to the same mapping and
// through copies of the resource. It checks that no mapping changes.
func TestWithFieldSpares(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	type made struct {
		owner *Resource
		v     yaml.Value
		want  string
	}
	var few []yaml.Field
	for i := range 12 {
		few = append(few, yaml.Field{Key: fmt.Sprint("first-", i), Value: yaml.Str("x")})
	}
	start := yaml.MapOf(few...)
	all := []made{{listObject("a"), start, string(yaml.AppendJSON(nil, start))}}
	for i := range 3000 {
		m := all[max(0, len(all)-1-rnd.IntN(4))]
		if rnd.IntN(10) == 0 {
			m = all[rnd.IntN(len(all))]
		}
		if rnd.IntN(20) == 0 {
			m.owner = m.owner.Copy()
		}
		key, x := fmt.Sprint("k", i), yaml.Str(fmt.Sprint(i))
		if known := fmt.Sprint("k", rnd.IntN(i+1)); m.owner.fieldRoom().Index(m.v, known) != m.v.Index(known) {
			t.Fatalf("found the wrong index of %s", known)
		}
		want := string(yaml.AppendJSON(nil, m.v.With(key, x)))
		all = append(all, made{m.owner, m.owner.WithField(m.v, key, x), want})
	}
	for i, m := range all {
		if got := string(yaml.AppendJSON(nil, m.v)); got != m.want {
			t.Fatalf("mapping %d of %d fields has changed", i, m.v.Len())
		}
	}
}
