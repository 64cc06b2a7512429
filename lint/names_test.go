package lint

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNamesFindAllMisspellings compares the index of names with a comparison of each pair, for
// random names that are often similar.
func TestNamesFindAllMisspellings(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	const letters = "abAB01-_é"
	random := func() string {
		b := make([]byte, rnd.IntN(9))
		for i := range b {
			b[i] = letters[rnd.IntN(len(letters))]
		}
		return string(b)
	}
	change := func(s string) string {
		b := []byte(s)
		for range 1 + rnd.IntN(2) {
			i, c := rnd.IntN(len(b)+1), letters[rnd.IntN(len(letters))]
			switch op := rnd.IntN(4); {
			case op == 0:
				b = slices.Insert(b, i, c)
			case i == len(b):
			case op == 1:
				b[i] = c
			case op == 2:
				b = slices.Delete(b, i, i+1)
			case i > 0:
				b[i], b[i-1] = b[i-1], b[i]
			}
		}
		return string(b)
	}
	found := 0
	for range 2000 {
		var n Names
		known := []string{"DATABASE_URL", "web-frontend", "web.frontend2"}
		for range rnd.IntN(20) {
			known = append(known, random(), change(known[rnd.IntN(len(known))]))
		}
		for _, name := range known {
			n.Add(name)
		}
		for range 20 {
			name := change(known[rnd.IntN(len(known))])
			got := n.Misspelt(name)
			slices.Sort(got)
			got = slices.Compact(got)
			var want []int
			for i, k := range known {
				if isTypo(name, k) {
					want = append(want, i)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q in %q: got %v, want %v", name, known, got, want)
			}
			found += len(got)
		}
	}
	if found < 1000 {
		t.Errorf("only %d misspellings", found)
	}
}
