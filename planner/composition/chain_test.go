package composition

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestLabelsOfChains compares the labels in lists that continue each other with a comparison of all
// items, whichever list is asked first.
func TestLabelsOfChains(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 5))
	for range 300 {
		lists := []*List{{}}
		for range 1 + rnd.IntN(6) {
			in := lists[rnd.IntN(len(lists))]
			c := &List{imports: []*List{in}, Items: append([]*Item(nil), in.Items...)}
			for range rnd.IntN(4) {
				it := &Item{ID: ID{APIVersion: fmt.Sprint("v", rnd.IntN(3)), Kind: "K", Name: fmt.Sprint("n", rnd.IntN(4))}}
				if rnd.IntN(8) == 0 {
					c.Items = append([]*Item{it}, c.Items...)
				} else {
					c.Items = append(c.Items, it)
				}
			}
			lists = append(lists, c)
		}
		for range 20 {
			c := lists[rnd.IntN(len(lists))]
			for _, it := range c.Items {
				same := 0
				for _, o := range c.Items {
					if o.ID.Kind == it.ID.Kind && o.ID.Name == it.ID.Name {
						same++
					}
				}
				want := it.ID.short()
				if same > 1 {
					want = it.ID.APIVersion + "/" + want
				}
				if got := c.Label(it); got != want {
					t.Fatalf("got %s, want %s", got, want)
				}
			}
		}
	}
}
