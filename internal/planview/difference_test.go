package planview

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/krmflow/krmflow/krm"
)

// random returns a plan with some of ten steps and files, each with one of a few values.
func random(r *rand.Rand) *Document {
	d := &Document{secret: map[string]krm.Digest{}}
	for i := range 10 {
		name := fmt.Sprint(i)
		if r.IntN(3) > 0 {
			n := Node{ID: name, Verb: "transform", Summary: fmt.Sprint(r.IntN(2)), Inputs: []string{fmt.Sprint(r.IntN(2))}}
			if r.IntN(2) == 0 {
				n.Function = &Function{Allowed: r.IntN(2) == 0, Grants: []Grant{{Capability: fmt.Sprint(r.IntN(2)), By: "flag"}},
					ConfigLine: r.IntN(100), Cache: fmt.Sprint(r.IntN(100))}
			}
			d.Nodes = append(d.Nodes, n)
		}
		switch r.IntN(3) {
		case 0:
			d.Files = append(d.Files, File{Path: name, Digest: fmt.Sprint(r.IntN(2))})
		case 1:
			d.Files = append(d.Files, File{Path: name, Secret: true})
			d.secret[name] = krm.DigestOf([]byte{byte(r.IntN(2))})
		}
	}
	return d
}

// An addition in one direction is a removal in the other. A plan does not differ from itself.
// Different line numbers of configurations and a different cache state are not a change.
func TestCompareRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b := random(r), random(r)
		if d := Compare(a, a); d.Any() {
			t.Fatalf("seed %d: a plan differs from itself: %s", seed, d)
		}
		there, back := Compare(a, b), Compare(b, a)
		for i, kind := range there.Kinds() {
			for k, c := range kind.Changes {
				other := back.Kinds()[i].Changes[k]
				opposite := map[string]string{Added: Removed, Removed: Added, Changed: Changed}[c.What]
				if other.Name != c.Name || other.What != opposite || len(other.Fields) != len(c.Fields) {
					t.Fatalf("seed %d: %v, and back %v", seed, c, other)
				}
				for _, f := range c.Fields {
					if f.Field == "function.configLine" || f.Field == "function.cache" {
						t.Fatalf("seed %d: %v", seed, f)
					}
				}
			}
		}
	}
}

// Files that may contain values of Secrets are compared one by one within the process, and their
// digests are never printed.
func TestCompareSecrets(t *testing.T) {
	plan := func(value string, more ...File) *Document {
		return &Document{Files: append([]File{{Path: "s", Secret: true}}, more...), Secrets: value,
			secret: map[string]krm.Digest{"s": krm.DigestOf([]byte(value))}}
	}
	want := []FieldChange{{Field: "digest", Old: "hidden", New: "hidden, changed"}}
	if d := Compare(plan("a"), plan("b", File{Path: "t"})); d.Secrets != "" || len(d.Files) != 2 ||
		!slices.EqualFunc(d.Files[0].Fields, want, func(a, b FieldChange) bool { return a.String() == b.String() }) {
		t.Errorf("in one process: %+v", d)
	}
	read := func(d *Document) *Document { d.secret = nil; return d }
	for want, d := range map[string]*Difference{
		"":        Compare(read(plan("a")), plan("a")),
		Changed:   Compare(read(plan("a")), plan("b")),
		"unknown": Compare(read(plan("a")), plan("b", File{Path: "t"})),
	} {
		if d.Secrets != want {
			t.Errorf("Secrets of a written plan: %q, not %q", d.Secrets, want)
		}
	}
}
