package yaml

import (
	"slices"
	"testing"
)

// FuzzStream checks that reading a list item by item, from chunks of any size, returns the same
// value as reading it as one document.
func FuzzStream(f *testing.F) {
	f.Add([]byte("kind: ResourceList\nitems:\n- a: |\n    x\n- b: 'x\n- y'\n- &a c: [d,\ne]\n  f: *a\n# g\n\nresults:\n- h\n"))
	f.Add([]byte("---\nkind: ResourceList\nitems:\n  - a\n# b\n  - - c\n    - d\n  -\n    e: >\n     f\n\n\n     g\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for size := 1; size <= 2*len(data); size = 3*size - size/2 {
			byItem := stream()
			got, ok, err := byItem.byItem(slices.Collect(slices.Chunk(data, size)))
			if err != nil || !ok {
				return
			}
			whole := stream()
			text, err := plainText("", data)
			if err != nil {
				t.Fatalf("%q: read by item, but %v", data, err)
			}
			want, err := whole.documents(text)
			if err != nil || len(want) != 1 {
				t.Fatalf("%q: read by item, but as a whole it is %d documents, %v", data, len(want), err)
			}
			if dump(got.Value) != dump(want[0].Value) {
				t.Fatalf("%q in chunks of %d:\nby item %s\nwhole   %s", data, size, dump(got.Value), dump(want[0].Value))
			}
		}
	})
}

func stream() *Stream {
	return &Stream{MaxItems: 1000, Room: 1 << 30, source: Source{answer: true}}
}
