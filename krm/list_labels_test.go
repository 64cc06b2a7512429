package krm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

// TestLabelledFindsAllChanges changes labels and annotations of a list at random, in every way in
// which a step may do so, and compares Labelled with a scan.
func TestLabelledFindsAllChanges(t *testing.T) {
	onCores(t, 4)
	rnd := rand.New(rand.NewPCG(3, 4))
	word := func() string { return string(rune('a' + rnd.IntN(4))) }
	relabel := func(v yaml.Value) yaml.Value {
		field := labelFields[rnd.IntN(2)]
		switch rnd.IntN(8) {
		case 0:
			return v.With("metadata", v.Get("metadata").Without(field))
		case 1:
			return v.WithAt(v.At("metadata", field).Without(word()), "metadata", field)
		}
		return v.WithAt(yaml.Str(word()), "metadata", field, word())
	}
	l := longList(2 * minPart)
	for step := range 4000 {
		i := rnd.IntN(l.Len())
		switch rnd.IntN(20) {
		case 0:
			r := listObject(fmt.Sprint("new-", step))
			r.SetValue(relabel(r.Value()))
			if err := l.Append(r); err != nil {
				t.Fatal(err)
			}
		case 1:
			c := l.At(i).Copy()
			c.SetValue(relabel(c.Value()))
			l.Set(i, c)
		case 2:
			if rnd.IntN(20) == 0 {
				_ = l.Parts(func(part *List) error {
					part.Change(0, func(r *Resource) { r.SetValue(r.Value().WithAt(yaml.Str("a"), "metadata", "labels", "b")) })
					return nil
				})
			}
		case 3:
			if rnd.IntN(20) == 0 {
				l.Filter(func(r *Resource) bool { return r != l.At(i) })
			}
		case 4:
			l = l.Take([]Ownership{Exclusive, HandedOver, Exclusive, Exclusive, Borrowed}[rnd.IntN(5)])
		default:
			l.Change(i, func(r *Resource) { r.SetValue(relabel(r.Value())) })
		}
		field, key, values := labelFields[rnd.IntN(2)], word(), []string{word(), word()}
		got, ok := l.Labelled(field, key, values)
		if !ok {
			continue
		}
		var want []int
		for i, r := range l.All() {
			if v := r.Value().At("metadata", field, key); v.Exists() && slices.Contains(values, v.Text()) {
				want = append(want, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("step %d: %s %s in %v: found %v, want %v", step, field, key, values, got, want)
		}
	}
}
