// Package ahead reads and parses the files of layers on other cores before the planner needs
// them.
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

// A Reader walks from the roots to all layers they use, on other cores and ahead of the compiler,
// and reads and parses the files on the way. This is half of the work of planning.
//
// The compiler requests every file in its own order, with or without a Reader, and finds it
// already read or reads it. The plan and the errors therefore do not depend on a Reader. If the
// compiler needs a file that is currently being read, it walks ahead as well until the file is
// available, because large files take milliseconds.
type Reader struct {
	files *loaders.Local
	roots []string
	helm  bool         // charts are rendered
	next  atomic.Int64 // index of the next root
	spare atomic.Int64 // number of walkers that may be started
	ended atomic.Bool
	done  sync.WaitGroup

	seen    sync.Map // directories visited by any walker, by real path
	decoded sync.Map // *yaml.Source -> *layerfile.Kustomization, only those without mistakes
}

// Start starts walkers for the roots: at most one for each job except the compiler's.
func Start(files *loaders.Local, roots []string, jobs int, charts bool) *Reader {
	a := &Reader{files: files, roots: roots, helm: charts}
	if jobs > 1 {
		files.WhileWaiting(func(over func() bool) {
			a.walk(func() bool { return over() || files.IsFull() })
		})
	}
	a.spare.Store(int64(jobs - 1))
	for range roots {
		if !a.start(func() { a.walk(a.over) }) {
			break
		}
	}
	return a
}

// start starts f as a walker. It reports false if all jobs have a walker.
func (a *Reader) start(f func()) bool {
	if a.spare.Add(-1) < 0 {
		a.spare.Add(1)
		return false
	}
	a.done.Go(func() {
		defer a.spare.Add(1)
		f()
	})
	return true
}

// over blocks while the read-ahead is full, and reports whether walkers should stop.
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

// walk walks from one root after the other until over reports true.
func (a *Reader) walk(over func() bool) {
	defer func() { _ = recover() }() // the compiler reaches the same file and reports the panic
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

// A walk is a walker with its stop condition.
type walk struct {
	*Reader
	over func() bool
}

// layer reads the files of the layer in dir and of the layers it uses.
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
	// The compiler begins with the resources. Walking in the opposite direction and meeting it is
	// faster than staying just in front of it. Long lists are divided into parts, and the walk
	// meets the compiler in each part: if the end of a list filled the read-ahead, the walkers
	// would be idle until the compiler got there. While cores are idle, each part gets its own
	// walker; otherwise a root with one long list would have only one.
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
			if len(list) == len(part) || !w.startPart(dir, part, depth) {
				w.part(dir, part, depth)
			}
		}
	}
}

// startPart starts a walker for a part of a list. It reports false if all jobs have one.
func (w *walk) startPart(dir *loaders.Dir, part []string, depth int) bool {
	dir.Close() // the copy opens its own files
	own := *dir
	return w.start(func() {
		defer func() { _ = recover() }()
		defer own.Close()
		(&walk{w.Reader, w.Reader.over}).part(&own, part, depth)
	})
}

// part reads ahead the files and layers named by a part of a list.
func (w *walk) part(dir *loaders.Dir, part []string, depth int) {
	for _, text := range slices.Backward(part) {
		w.resource(dir, text, depth)
	}
}

// partLen is the number of list entries per part: far below the capacity of the read-ahead, and
// small enough for 16 walkers of a list of 2,000, but large enough that the walk rarely meets the
// compiler.
const partLen = 128

// resource reads ahead the file or layer named by an entry of resources or components.
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
		dir.Close() // layers may be deeply nested
		w.layer(sub, depth+1)
	}
}

// fetch fetches the content named by an entry of resources or components. Waiting for it needs no
// core, so fetches run concurrently.
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

// decode decodes a kustomization file. It returns nil if the file has mistakes.
func (a *Reader) decode(src *yaml.Source) *layerfile.Kustomization {
	v, _ := src.Value()
	k := new(layerfile.Kustomization)
	if len(yaml.Decode(v, k)) > 0 {
		return nil
	}
	a.decoded.Store(src, k)
	return k
}

// Kustomization returns the decoded content of a file, nil if it was not decoded. Each result is
// returned once, because the layer takes ownership of it.
func (a *Reader) Kustomization(src *yaml.Source) *layerfile.Kustomization {
	if k, ok := a.decoded.LoadAndDelete(src); ok {
		return k.(*layerfile.Kustomization)
	}
	return nil
}
