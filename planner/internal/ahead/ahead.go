// Package ahead reads and parses the files of layers before the planner asks for them, on other cores.
package ahead

import (
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/helm"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// A Reader walks from the roots to what they are made of while the compiler does, on other cores and before it, and reads and parses
// the files on the way. That is half of the work of planning. The compiler asks for each file all the same, in its own
// order, and finds it there or reads it: what is planned, and what is said about mistakes, does not depend on a Reader. Where it comes to a
// file that somebody is just reading, it walks, too, until that is there: large files take milliseconds.
type Reader struct {
	files *loaders.Local
	roots []string
	helm  bool         // charts are rendered
	next  atomic.Int64 // index of the next root
	ended atomic.Bool
	done  sync.WaitGroup

	seen    sync.Map // the directories that somebody walks, by their real path
	decoded sync.Map // *yaml.Source -> *layerfile.Kustomization, those without a mistake
}

// Start starts walkers for all of the jobs but that of the compiler.
func Start(files *loaders.Local, roots []string, jobs int, charts bool) *Reader {
	a := &Reader{files: files, roots: roots, helm: charts}
	if jobs > 1 {
		files.WhileWaiting(func(over func() bool) {
			a.walk(func() bool { return over() || files.IsFull() })
		})
	}
	for range min(jobs-1, len(roots)) {
		a.done.Go(func() { a.walk(a.over) })
	}
	return a
}

// over waits while enough was read ahead, and reports whether there is no more use in it.
func (a *Reader) over() bool {
	for a.files.IsFull() && !a.ended.Load() {
		time.Sleep(time.Millisecond)
	}
	return a.ended.Load()
}

// End stops the walkers and waits for them.
func (a *Reader) End() {
	a.ended.Store(true)
	a.done.Wait()
}

// walk walks from one root after the other, until over says that there is no more use in it.
func (a *Reader) walk(over func() bool) {
	defer func() { _ = recover() }() // the compiler comes to the same file, and says what happened
	for !over() {
		i := int(a.next.Add(1)) - 1
		if i >= len(a.roots) {
			return
		}
		if dir, err := a.files.Root(a.roots[i]); err == nil {
			(&walk{a, over}).layer(dir.Ahead(), 1)
		}
	}
}

// walk is the way from a root to what it is made of.
type walk struct {
	*Reader
	over func() bool
}

// layer reads the files of the layer in dir, and those of the layers that it uses.
func (w *walk) layer(dir *loaders.Dir, depth int) {
	defer dir.Close()
	if _, known := w.seen.LoadOrStore(dir.Real, true); known || depth > layerfile.MaxNested || w.over() {
		return
	}
	var k *layerfile.Kustomization
	for _, name := range layerfile.Names {
		if src := w.files.ReadAhead(layerfile.MaxSize, dir, name, readValue); src != nil {
			k = w.decode(src)
		}
	}
	for _, name := range layerfile.CompositionNames {
		w.files.ReadAhead(layerfile.MaxSize, dir, name, nil)
	}
	if k == nil {
		return
	}
	if w.helm && len(k.HelmCharts) > 0 {
		helm.FetchAhead(w.files, dir, k.HelmGlobals, k.HelmCharts, w.done.Go)
	}
	// The compiler begins with the resources. To go the other way round and meet it is faster than to be just in front of it. It is met
	// in each part of a long list: if the end of one is as much as is read ahead, there is nothing to do until the compiler comes there.
	for _, p := range k.Patches {
		w.read(dir, p.Path, readDocuments)
	}
	for _, text := range k.PatchesStrategicMerge {
		w.read(dir, layerfile.PatchPath(text), readDocuments)
	}
	for _, text := range slices.Concat(k.Configurations, k.CRDs) {
		w.read(dir, text, readValue)
	}
	for _, list := range [][]string{k.Components, k.Bases, k.Resources} {
		for part := range slices.Chunk(list, partLen) {
			for _, text := range slices.Backward(part) {
				w.resource(dir, text, depth)
			}
		}
	}
}

// partLen is how many entries of a list are much less than may be read ahead, and so many that to meet the compiler is rare.
const partLen = 512

// resource reads ahead what an entry of resources or components names.
func (w *walk) resource(dir *loaders.Dir, text string, depth int) {
	if text == "" || filepath.IsAbs(text) {
		return
	}
	if loaders.IsRemote(text) {
		w.fetch(dir, text, depth)
		return
	}
	if ext := filepath.Ext(text); ext == ".yaml" || ext == ".yml" {
		w.read(dir, text, readDocuments)
	} else if sub, err := w.files.Sub(dir, text); err == nil {
		dir.Close() // layers may be deep
		w.layer(sub, depth+1)
	}
}

// fetch fetches what an entry of resources or components names. To wait for it takes no core, so many are fetched at the same time.
func (w *walk) fetch(dir *loaders.Dir, text string, depth int) {
	from := *dir
	w.done.Go(func() {
		defer func() { _ = recover() }()
		if w.ended.Load() {
			return
		}
		if sub, _, err := w.files.FetchAny(&from, text); err == nil && sub != nil {
			(&walk{w.Reader, w.Reader.over}).layer(sub, depth+1)
		}
	})
}

func (w *walk) read(dir *loaders.Dir, path string, parse func(*yaml.Source) error) {
	if path != "" && !w.over() && !loaders.IsRemoteFile(path) {
		w.files.ReadAhead(yaml.MaxFile, dir, path, parse)
	}
}

func readValue(src *yaml.Source) error {
	_, err := src.Value()
	return err
}

func readDocuments(src *yaml.Source) error {
	_, err := src.Documents()
	return err
}

// decode decodes a kustomization file, and returns nil if there are mistakes in it.
func (a *Reader) decode(src *yaml.Source) *layerfile.Kustomization {
	v, _ := src.Value()
	k := new(layerfile.Kustomization)
	if len(yaml.Decode(v, k)) > 0 {
		return nil
	}
	a.decoded.Store(src, k)
	return k
}

// Kustomization returns what is in a file that was decoded, for the one layer that it makes; nil if it was not.
func (a *Reader) Kustomization(src *yaml.Source) *layerfile.Kustomization {
	if k, ok := a.decoded.LoadAndDelete(src); ok {
		return k.(*layerfile.Kustomization)
	}
	return nil
}
