package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// BenchmarkParse reads a catalog of 1,000 functions and finds the last one.
func BenchmarkParse(b *testing.B) {
	var text strings.Builder
	text.WriteString("apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec:\n  krmFunctions:\n")
	for i := range 1000 {
		fmt.Fprintf(&text,
			"  - group: example.com\n    names:\n      kind: Fn%d\n    versions:\n    - name: v1\n      runtime:\n        container:\n          image: r.io/f%d\n          sha256: %s\n", i, i, hexA)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		c, err := Parse(&yaml.Source{File: "c", Data: []byte(text.String())}, Ref{Scheme: Local, Location: "/c"})
		if err != nil || Search(krm.GVK{Group: "example.com", Version: "v1", Kind: "Fn999"}, []*Catalog{c}).Entry == nil {
			b.Fatal(err)
		}
	}
}
