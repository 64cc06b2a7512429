package yaml

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestFinderEqualsGet compares a Finder, with and without an index, with the methods of Value.
func TestFinderEqualsGet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var fields []Field
		for _, k := range rnd.Perm(40)[:rnd.IntN(40)] {
			fields = append(fields, Field{fmt.Sprint("key-", k), Str(fmt.Sprint(k))})
		}
		v := MapOf(fields...)
		f := v.Finder(rnd.IntN(34))
		for k := range 42 {
			key := fmt.Sprint("key-", k)
			if f.Index(key) != v.Index(key) || f.Get(key) != v.Get(key) {
				t.Fatalf("%s of %d fields: found %d, want %d", key, v.Len(), f.Index(key), v.Index(key))
			}
		}
	}
	if f := Str("x").Finder(100); f.Index("a") != -1 || f.Get("a").Exists() {
		t.Error("found a field of a string")
	}
}
