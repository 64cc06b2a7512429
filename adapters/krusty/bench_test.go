//go:build unix

package krusty_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/krmflow/krmflow/adapters/krusty"
	"github.com/krmflow/krmflow/bench"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	kustomize "sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Benchmark200Overlays renders 200 overlays of 57 resources over 20 bases in one process, as a
// controller does: each overlay separately, to YAML. In addition to time and allocations, it
// reports the processor time and the peak size of the heap.
//
//	go test -run '^$' -bench 200Overlays -benchtime 1x
func Benchmark200Overlays(b *testing.B) {
	tree := bench.Overlays(200, 20)
	dir := b.TempDir()
	if err := bench.Write(b.Context(), dir, tree, 1); err != nil {
		b.Fatal(err)
	}
	var first [][sha256.Size]byte // digest of each overlay's output, from the first sub-benchmark
	for _, way := range []struct {
		name string
		run  func(b *testing.B, put func(i int, yaml []byte))
	}{
		{"kustomize", func(b *testing.B, put func(int, []byte)) {
			for i, root := range tree.Roots {
				m, err := kustomize.MakeKustomizer(options()).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, root))
				put(i, asYaml(b, m, err))
			}
		}},
		{"adapter", func(b *testing.B, put func(int, []byte)) {
			for i, root := range tree.Roots {
				m, err := krusty.MakeKustomizer(options()).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, root))
				put(i, asYaml(b, m, err))
			}
		}},
		{"adapter-parallel", func(b *testing.B, put func(int, []byte)) {
			k := krusty.MakeKustomizer(options())
			each(tree.Roots, func(i int, root string) {
				m, err := k.Run(filesys.MakeFsOnDisk(), filepath.Join(dir, root))
				put(i, asYaml(b, m, err))
			})
		}},
		{"render", func(b *testing.B, put func(int, []byte)) {
			for i, root := range tree.Roots {
				result, err := render.Render(b.Context(), render.Options{Dirs: []string{root}, Plan: planner.Options{Cwd: dir}})
				put(i, yaml(b, result, err))
			}
		}},
		{"render-fs", func(b *testing.B, put func(int, []byte)) {
			for i, root := range tree.Roots {
				result, err := render.Render(b.Context(), render.Options{Dirs: []string{root}, Plan: planner.Options{FS: os.DirFS(dir)}})
				put(i, yaml(b, result, err))
			}
		}},
		{"render-parallel", func(b *testing.B, put func(int, []byte)) {
			each(tree.Roots, func(i int, root string) {
				result, err := render.Render(b.Context(), render.Options{Dirs: []string{root}, Plan: planner.Options{Cwd: dir}})
				put(i, yaml(b, result, err))
			})
		}},
		{"render-at-once", func(b *testing.B, put func(int, []byte)) {
			o := render.Options{Dirs: tree.Roots, Plan: planner.Options{Cwd: dir, Jobs: runtime.GOMAXPROCS(0)}}
			o.Run.Jobs = o.Plan.Jobs
			result, err := render.Render(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			for i, list := range result.Lists {
				put(i, list.AppendYAML(nil))
			}
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			made := make([][sha256.Size]byte, len(tree.Roots))
			peak, before := watchHeap(), cpuTime(b)
			for b.Loop() {
				way.run(b, func(i int, yaml []byte) { made[i] = sha256.Sum256(yaml) })
			}
			b.ReportMetric(float64(cpuTime(b)-before)/1e6/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(peak())/(1<<20), "peak-MiB")
			if first == nil {
				first = made
			}
			for i, digest := range made {
				if digest != first[i] {
					b.Fatalf("%s is not what the first way has made", tree.Roots[i])
				}
			}
		})
	}
}

// options returns the options of kustomize build.
func options() *krusty.Options {
	o := krusty.MakeDefaultOptions()
	o.Reorder = krusty.ReorderOptionUnspecified
	return o
}

func asYaml(b *testing.B, m resmap.ResMap, err error) []byte {
	if err == nil {
		var text []byte
		if text, err = m.AsYaml(); err == nil {
			return text
		}
	}
	b.Error(err)
	return nil
}

func yaml(b *testing.B, result *render.Result, err error) []byte {
	if err != nil {
		b.Error(err)
		return nil
	}
	var text bytes.Buffer
	if err := result.WriteYAML(&text); err != nil {
		b.Error(err)
	}
	return text.Bytes()
}

// each calls do for each root, on all cores.
func each(roots []string, do func(i int, root string)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				do(i, roots[i])
			}
		})
	}
	for i := range roots {
		next <- i
	}
	close(next)
	workers.Wait()
}

// cpuTime returns the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watchHeap starts to watch the heap. peak stops the watch and returns the maximum size in bytes.
func watchHeap() (peak func() uint64) {
	runtime.GC()
	stop, most := make(chan bool), make(chan uint64)
	go func() {
		max := uint64(0)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			if m.HeapAlloc > max {
				max = m.HeapAlloc
			}
			select {
			case <-stop:
				most <- max
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-most
	}
}
