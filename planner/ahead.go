package planner

import (
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// ahead walks from the roots to what they are made of while the compiler does, on other cores and before it, and reads and parses
// the files on the way. That is half of the work of planning. The compiler asks for each file all the same, in its own
// order, and finds it there or reads it: what is planned, and what is said about mistakes, does not depend on ahead.
type ahead struct {
	files *loaders.Local
	roots []string
	next  atomic.Int64 // index of the next root
	ended atomic.Bool
	done  sync.WaitGroup

	seen    sync.Map // the directories that somebody walks, by their real path
	decoded sync.Map // *yaml.Source -> *layerfile.Kustomization, those without a mistake
}

// goAhead starts walkers for all of the jobs but that of the compiler.
func goAhead(files *loaders.Local, roots []string, jobs int) *ahead {
	a := &ahead{files: files, roots: roots}
	for range min(jobs-1, len(roots)) {
		a.done.Go(a.walk)
	}
	return a
}

// end stops the walkers and waits for them.
func (a *ahead) end() {
	a.ended.Store(true)
	a.done.Wait()
}

func (a *ahead) walk() {
	defer func() { _ = recover() }() // the compiler comes to the same file, and says what happened
	for !a.ended.Load() {
		i := int(a.next.Add(1)) - 1
		if i >= len(a.roots) {
			return
		}
		if dir, err := a.files.Root(a.roots[i]); err == nil {
			a.layer(dir, 1)
		}
	}
}

// layer reads the files of the layer in dir, and those of the layers that it uses.
func (a *ahead) layer(dir *loaders.Dir, depth int) {
	defer dir.Close()
	if _, known := a.seen.LoadOrStore(dir.Real, true); known || depth > layerfile.MaxNested || a.ended.Load() {
		return
	}
	var k *layerfile.Kustomization
	for _, name := range layerfile.Names {
		if src := a.files.ReadAhead(layerfile.MaxSize, dir, name, readValue); src != nil {
			k = a.decode(src)
		}
	}
	for _, name := range layerfile.CompositionNames {
		a.files.ReadAhead(layerfile.MaxSize, dir, name, nil)
	}
	if k == nil {
		return
	}
	// The compiler begins with the resources. To go the other way round and meet it is faster than to be just in front of it.
	for _, p := range k.Patches {
		a.read(dir, p.Path, readDocuments)
	}
	for _, text := range k.PatchesStrategicMerge {
		a.read(dir, layerfile.PatchPath(text), readDocuments)
	}
	for _, text := range slices.Concat(k.Configurations, k.CRDs) {
		a.read(dir, text, readValue)
	}
	for _, list := range [][]string{k.Components, k.Bases, k.Resources} {
		for _, text := range slices.Backward(list) {
			a.resource(dir, text, depth)
		}
	}
}

// resource reads ahead what an entry of resources or components names.
func (a *ahead) resource(dir *loaders.Dir, text string, depth int) {
	if text == "" || filepath.IsAbs(text) {
		return
	}
	if loaders.IsRemote(text) {
		a.fetch(dir, text, depth)
		return
	}
	if ext := filepath.Ext(text); ext == ".yaml" || ext == ".yml" {
		a.read(dir, text, readDocuments)
	} else if sub, err := a.files.Sub(dir, text); err == nil {
		dir.Close() // layers may be deep
		a.layer(sub, depth+1)
	}
}

// fetch fetches what an entry of resources or components names. To wait for it takes no core, so many are fetched at the same time.
func (a *ahead) fetch(dir *loaders.Dir, text string, depth int) {
	from := *dir
	a.done.Go(func() {
		defer func() { _ = recover() }()
		if a.ended.Load() {
			return
		}
		if sub, _, err := a.files.FetchAny(&from, text); err == nil && sub != nil {
			a.layer(sub, depth+1)
		}
	})
}

func (a *ahead) read(dir *loaders.Dir, path string, parse func(*yaml.Source) error) {
	if path != "" && !a.ended.Load() && !loaders.IsRemoteFile(path) {
		a.files.ReadAhead(yaml.MaxFile, dir, path, parse)
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
func (a *ahead) decode(src *yaml.Source) *layerfile.Kustomization {
	v, _ := src.Value()
	k := new(layerfile.Kustomization)
	if len(yaml.Decode(v, k)) > 0 {
		return nil
	}
	a.decoded.Store(src, k)
	return k
}

// kustomization returns what is in a file that was decoded, for the one layer that it makes; nil if it was not.
func (a *ahead) kustomization(src *yaml.Source) *layerfile.Kustomization {
	if k, ok := a.decoded.LoadAndDelete(src); ok {
		return k.(*layerfile.Kustomization)
	}
	return nil
}
