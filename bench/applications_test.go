package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkApplications compares Applications with directories of the same content:
//
//	go test -run '^$' -bench Applications -benchtime 5x ./bench -after bin/krmflow
//
// It runs plan and apply-render on both trees in turn, first without a cache and then with a filled
// cache. It reports medians of processor time in milliseconds.
func BenchmarkApplications(b *testing.B) {
	if *after == "" {
		b.Skip("-after names a program")
	}
	work := b.TempDir()
	trees := []string{filepath.Join(work, "objects"), filepath.Join(work, "directories")}
	for i, t := range []Tree{Applications(2000, 200), ApplicationOverlays(2000, 200)} {
		if err := Write(b.Context(), trees[i], t, 1); err != nil {
			b.Fatal(err)
		}
	}
	runs := 0
	for _, command := range []string{"plan", "apply-render"} {
		for _, cached := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/cache=%v", command, cached), func(b *testing.B) {
				measured := func(tree string) Sample {
					runs++
					args := []string{command, "-R", "-q"}
					if command == "apply-render" {
						args = append(args, "-o", filepath.Join(work, fmt.Sprint("out-", runs))+"/")
					}
					if cached {
						args = append(args, "--cache-dir="+tree+"-cache")
					} else {
						args = append(args, "--no-cache")
					}
					s, err := runTo(b.Context(), os.DevNull, *after, append(args, tree)...)
					if err != nil {
						b.Fatal(err)
					}
					return s
				}
				if cached {
					for _, tree := range trees {
						measured(tree)
					}
				}
				var samples [2][]Sample
				for b.Loop() {
					for i, tree := range trees {
						samples[i] = append(samples[i], measured(tree))
					}
				}
				ms := func(i int) float64 { return float64(Median(samples[i]).CPU) / float64(time.Millisecond) }
				b.ReportMetric(ms(0), "objects-ms")
				b.ReportMetric(ms(1), "directories-ms")
				b.ReportMetric(ms(0)/ms(1), "ratio")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
