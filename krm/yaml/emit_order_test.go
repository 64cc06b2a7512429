package yaml

import (
	"math/rand/v2"
	"testing"
)

// TestCompareKeysByWhatDiffers compares compareKeys, which reads as little of the keys as possible,
// with a comparison of whole keys.
func TestCompareKeysByWhatDiffers(t *testing.T) {
	parts := []string{"a", "Z", "é", "٣", "0", "1", "7", "00", "12", "-", ".", "/", "_", "\U0001F600", "\xff"}
	rnd := rand.New(rand.NewPCG(3, 4))
	key := func() (k string) {
		for range rnd.IntN(6) {
			k += parts[rnd.IntN(len(parts))]
		}
		return k
	}
	sign := func(n int) int { return min(1, max(-1, n)) }
	for range 300_000 {
		prefix := key()
		a, b := prefix+key(), prefix+key()
		if got, want := compareKeys(a, b), compareRunes([]rune(a), []rune(b)); sign(got) != sign(want) {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	}
}
