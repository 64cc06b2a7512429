package builtins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// TestChainedImages compares many chained transformers, which use an index of the images, with the
// same transformers one by one. Some change images that later ones match.
func TestChainedImages(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 2))
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	name := func() string {
		return pick("", "", "r.io/", "r:5/", "rxio/", "é.io/", "a/b/", "/") + pick("web", "api", "x.y", "z")
	}
	c := DefaultConfig()
	for range 60 {
		var text strings.Builder
		for i := range 30 {
			fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%d}\nspec:\n  containers:\n", i)
			for range rnd.IntN(3) {
				fmt.Fprintf(&text, "  - image: %q\n", name()+pick("", ":1", ":2", "@sha256:ab", ":1@sha256:ab", ":a:b", "@a@b:c"))
			}
		}
		var images []Image
		for range 40 {
			image := Image{Name: name() + pick("", "", "", "", ":1", "@sha256:ab", "+", "("), NewTag: pick("", "3")}
			image.TagSuffix = pick("", "-s")
			if rnd.IntN(3) == 0 {
				image.NewName = name()
			}
			images = append(images, image)
		}
		var results [2]string
		for i := range results {
			var ts []*ImageTagTransformer
			for _, image := range images {
				transformer := &ImageTagTransformer{ImageTag: image, FieldSpecs: c.Images}
				if err := transformer.Configure(Env{}); err != nil {
					t.Fatal(err)
				}
				ts = append(ts, transformer)
			}
			if i == 1 {
				ChainImages(ts)
			}
			list := krm.NewList(slices.Clone(docs(t, text.String()))...)
			var warnings strings.Builder
			for n, transformer := range ts {
				warn := func(code diag.Code, format string, args ...any) {
					fmt.Fprintln(&warnings, n, code, fmt.Errorf(format, args...))
				}
				if err := transformer.Transform(list, warn); err != nil {
					t.Fatal(err)
				}
			}
			results[i] = string(list.AppendYAML(nil)) + warnings.String()
		}
		if results[0] != results[1] {
			t.Fatalf("images %+v of\n%s\none by one:\n%s\nchained:\n%s", images, text.String(), results[0], results[1])
		}
	}
}

// TestImageKeysIncludeMatches checks that every image that a pattern matches has the key of the
// pattern.
func TestImageKeysIncludeMatches(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 3))
	word := func(alphabet string) string {
		var b strings.Builder
		for range 1 + rnd.IntN(5) {
			b.WriteByte(alphabet[rnd.IntN(len(alphabet))])
		}
		return b.String()
	}
	matches := 0
	for range 200000 {
		p := compileImage(word("a./:@"))
		image := word("ab/:@")
		if !p.match(image) || p.key() == "" {
			continue
		}
		matches++
		found := false
		imageKeys(image, func(key string) { found = found || key == p.key() })
		if !found {
			t.Fatalf("%q matches %q but does not have its key %q", p.name, image, p.key())
		}
	}
	if matches < 1000 {
		t.Errorf("only %d matches", matches)
	}
}
