package yaml

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestGrowthIsDifferenceOfSizes compares Growth with the sizes of both values for lists that grow
// at the front, in place or not, and whose items move, change and disappear. It also checks that
// lists with common memory do not change.
func TestGrowthIsDifferenceOfSizes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	item := func() Value {
		return MapOf(Field{"name", Str(strings.Repeat("x", rnd.IntN(5)))}, Field{"value", SeqOf(Str(fmt.Sprint(rnd.IntN(2000))))})
	}
	var room ItemRoom
	list := SeqOf(item(), item(), item())
	type snapshot struct {
		list  Value
		items []Value
	}
	var before []snapshot
	for range 3000 {
		before = append(before, snapshot{list, slices.Clone(list.Items())})
		old, n := list, list.Len()
		switch op := rnd.IntN(8); {
		case op < 3 || n == 0:
			list = room.Prepend(list, []Value{item(), item()}[rnd.IntN(3)%2:])
			if rnd.IntN(4) == 0 {
				other := room.Prepend(old, []Value{item()}) // a second list that continues an earlier one
				before = append(before, snapshot{other, slices.Clone(other.Items())})
			}
		case op < 5: // move an item to the front and change it
			i := rnd.IntN(n)
			list = SeqOf(slices.Concat([]Value{item()}, list.Items()[:i], list.Items()[i+1:])...)
			if n > 1 && rnd.IntN(2) == 0 { // the item that was first changes also
				list = list.WithItem(1, item())
			}
		case op < 6:
			list = list.WithItem(rnd.IntN(n), item())
		default:
			i := rnd.IntN(n)
			list = SeqOf(slices.Delete(slices.Clone(list.Items()), i, min(n, i+rnd.IntN(3)))...)
		}
		if rnd.IntN(20) == 0 {
			old = before[rnd.IntN(len(before))].list
		}
		if got, want := Growth(old, list), list.Size(MaxResource)-old.Size(MaxResource); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
	}
	for i, s := range before {
		if !slices.Equal(s.list.Items(), s.items) {
			t.Fatalf("list %d has changed", i)
		}
	}
}
