package krm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

// TestIndexesFollowRenames renames resources at random and compares the indexes with the indexes of
// a new list.
func TestIndexesFollowRenames(t *testing.T) {
	onCores(t, 4)
	rnd := rand.New(rand.NewPCG(8, 1))
	l := longList(2 * minPart)
	ids := []ID{}
	rename := func(r *Resource) {
		ids = append(ids, r.ID())
		switch rnd.IntN(12) {
		case 0:
			r.Prev = nil // as a patch that removes all annotations
		case 1:
			r.SetValue(r.Value().With("apiVersion", yaml.Str(fmt.Sprintf("g%d/v1", rnd.IntN(2)))))
		case 2:
			r.SetName(fmt.Sprint("n", rnd.IntN(40)))
		case 3:
			r.PushID()
		default:
			r.PushID()
			r.SetName(fmt.Sprint("n", rnd.IntN(40)))
		}
	}
	for step := range 3000 {
		i := rnd.IntN(20) * 20
		switch rnd.IntN(30) {
		case 0:
			_ = l.Parts(func(part *List) error {
				if part.From() == 0 {
					part.Change(i/4, rename)
				}
				return nil
			})
		case 1:
			c := l.At(i).Copy()
			rename(c)
			l.Set(i, c)
		default:
			l.Change(i, rename)
		}
		plain := NewList(slices.Clone(l.items)...)
		id := ids[rnd.IntN(len(ids))]
		for _, id := range []ID{id, l.At(i).ID(), l.At(i).OrigID()} {
			if got, want := l.FindAny(id), plain.FindAny(id); !slices.Equal(got, want) {
				t.Fatalf("step %d: found %v with or formerly with %s, want %v", step, got, id, want)
			}
			if got, want := l.Named(id.Name), plain.Named(id.Name); !slices.Equal(got, want) {
				t.Fatalf("step %d: found %v named %s, want %v", step, got, id.Name, want)
			}
			if got, want := l.Find(id), plain.Find(id); !slices.Equal(got, want) {
				t.Fatalf("step %d: found %v with %s, want %v", step, got, id, want)
			}
		}
	}
}
