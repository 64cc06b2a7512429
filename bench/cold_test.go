package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	before = flag.String("before", "", "krmflow of an earlier version, for BenchmarkCold")
	after  = flag.String("after", "", "krmflow to compare with it")
	public = flag.String("public", "", "folder with a public tree, to measure that, too, with flags of apply-render")
)

// BenchmarkCold shows that a cache does not slow down a first run, and that a version is not slower
// than an earlier version:
//
//	go test -run '^$' -bench Cold -benchtime 20x ./bench -before old/krmflow -after bin/krmflow
//
// It builds each tree in three ways, in turn: the earlier version without a cache, this version
// without a cache, and this version with an empty cache. It reports medians of processor time in
// milliseconds, and the ratios of processor time and of wall time between successive ways. Output
// is removed only after all measurements, because some file systems are slow after a removal.
func BenchmarkCold(b *testing.B) {
	if *before == "" || *after == "" {
		b.Skip("-before and -after name two programs")
	}
	shop, err := filepath.Abs("../testdata/kustomize/shop/overlays")
	if err != nil {
		b.Fatal(err)
	}
	for name, args := range map[string][]string{"shop": {shop}, "public": strings.Fields(*public)} {
		if len(args) == 0 {
			continue
		}
		b.Run(name, func(b *testing.B) {
			cost(b, func(out string) []string {
				return append([]string{"apply-render", "-q", "-R", "-o", out + "/"}, args...)
			})
		})
	}
	for _, t := range []Tree{Service(), Flat(1000)} {
		b.Run(t.Name, func(b *testing.B) {
			dir := b.TempDir()
			if err := Write(b.Context(), dir, t, 1); err != nil {
				b.Fatal(err)
			}
			cost(b, func(string) []string { return []string{"build", dir} })
		})
	}
}

// cost measures a command in three ways, in turn.
func cost(b *testing.B, command func(out string) []string) {
	work := b.TempDir()
	// The cache already has other roots: creating its folders takes a fraction of a millisecond,
	// once per machine.
	other := filepath.Join(work, "other")
	if err := Write(b.Context(), other, Service(), 2); err != nil {
		b.Fatal(err)
	}
	var samples [3][]Sample
	for i := 0; b.Loop(); i++ {
		cache := filepath.Join(work, fmt.Sprint("cache-", i))
		if _, err := runTo(b.Context(), os.DevNull, *after, "build", "-q", "--cache-dir="+cache, other); err != nil {
			b.Fatal(err)
		}
		for k := range samples {
			way := (i + k) % len(samples)
			args := append(command(filepath.Join(work, fmt.Sprint("out-", way, "-", i))),
				[]string{"--no-cache", "--no-cache", "--cache-dir=" + cache}[way])
			s, err := runTo(b.Context(), os.DevNull, []string{*before, *after, *after}[way], args...)
			if err != nil {
				b.Fatal(err)
			}
			samples[way] = append(samples[way], s)
		}
	}
	ms := func(way int) float64 { return float64(Median(samples[way]).CPU) / float64(time.Millisecond) }
	wall := func(way int) float64 { return float64(Median(samples[way]).Wall) }
	b.ReportMetric(ms(0), "before-ms")
	b.ReportMetric(ms(1), "after-ms")
	b.ReportMetric(ms(2), "cold-ms")
	b.ReportMetric(ms(1)/ms(0), "after/before")
	b.ReportMetric(ms(2)/ms(1), "cold/after")
	b.ReportMetric(wall(1)/wall(0), "wall-after/before")
	b.ReportMetric(wall(2)/wall(1), "wall-cold/after")
	b.ReportMetric(0, "ns/op")
}
