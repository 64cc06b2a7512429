package output

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"golang.org/x/sync/errgroup"
)

// BenchmarkOutput writes 100 roots of 57 files of 2 KB: first into a new folder, then unchanged,
// then with one file changed.
func BenchmarkOutput(b *testing.B) {
	lists := make([]*krm.List, 100)
	for i := range lists {
		l := krm.NewList()
		for j := range 57 {
			l.Append(configMap(fmt.Sprint("object-", j), strings.Repeat(fmt.Sprint("text ", i), 200)))
		}
		lists[i] = l
	}
	run := func(b *testing.B, out string) {
		o, err := Open(out, Options{})
		if err != nil {
			b.Fatal(err)
		}
		var g errgroup.Group
		g.SetLimit(4)
		for i, l := range lists {
			g.Go(func() error { return o.Put(fmt.Sprintf("team-%d/app-%d", i%20, i), l) })
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		if _, err := o.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	b.Run("first", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			run(b, filepath.Join(dir, fmt.Sprint("new", i)))
		}
	})
	out := filepath.Join(dir, "out")
	run(b, out)
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			run(b, out)
		}
	})
	b.Run("one", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			l := lists[7].Clone()
			l.Set(3, configMap("object-3", fmt.Sprint(i)))
			lists[7] = l
			run(b, out)
		}
	})
}
