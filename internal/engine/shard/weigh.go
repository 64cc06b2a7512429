package shard

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// Weights are in bytes of input. The other costs are converted to bytes: on the public monorepos,
// krmflow renders about 10 MB of layers and resources in a second.
const (
	layerWeight    = 2_000     // a layer besides its files
	functionWeight = 500_000   // a call of a function: 50 ms
	chartWeight    = 1_500_000 // a run of helm: 150 ms
)

// A Weigher estimates the cost of roots from the files of the tree. It reads nothing else, so that
// each machine with the same commit gets the same weights: recorded times differ between machines,
// and so would the assignment. Its methods are safe for concurrent use.
type Weigher struct {
	files sync.Map // *node by path
}

// Root is a root that is weighed: its directories, and a weight besides these.
type Root struct {
	Dirs []string
	More int64
}

// Weights returns the weight of each root. jobs is the number of goroutines.
func (w *Weigher) Weights(roots []Root, jobs int) []int64 {
	weights := make([]int64, len(roots))
	var next atomic.Int64
	var done sync.WaitGroup
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(roots) {
				return
			}
			weights[i] = layerWeight + roots[i].More + w.weigh(roots[i].Dirs)
		}
	}
	for range min(jobs, len(roots)) - 1 {
		done.Go(work)
	}
	work()
	done.Wait()
	return weights
}

// weigh returns the weight of directories and of everything that they use. Shared layers are part
// of the weight of each root that uses them, because each shard has to build them.
func (w *Weigher) weigh(dirs []string) (sum int64) {
	seen := map[string]bool{}
	next := slices.Clone(dirs)
	for len(next) > 0 {
		path := filepath.Clean(next[len(next)-1])
		next = next[:len(next)-1]
		if seen[path] {
			continue
		}
		seen[path] = true
		n := w.node(path)
		sum += n.weight
		next = append(next, n.uses...)
	}
	return sum
}

// A node is a file or directory. uses are the paths of the files and directories that it names.
type node struct {
	once   sync.Once
	weight int64
	uses   []string
}

func (w *Weigher) node(path string) *node {
	v, ok := w.files.Load(path)
	if !ok {
		v, _ = w.files.LoadOrStore(path, &node{})
	}
	n := v.(*node)
	n.once.Do(func() { n.read(path) })
	return n
}

// read reads a file or directory. What cannot be read has no weight: planning reports the error.
func (n *node) read(path string) {
	if loaders.IsRemote(path) {
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case info.Mode().IsRegular() && isLayerFile(filepath.Base(path)):
		n.uses = []string{filepath.Dir(path)}
	case info.Mode().IsRegular():
		n.weight = info.Size()
	case info.IsDir():
		n.readDir(path)
	}
}

func isLayerFile(name string) bool {
	return slices.Contains(layerfile.Names, name) || slices.Contains(layerfile.CompositionNames, name)
}

// readDir reads the layer in a directory. A directory without a layer is a chart, which has the
// weight of everything in it, or a folder of manifests.
func (n *node) readDir(dir string) {
	isLayer := false
	for _, name := range slices.Concat(layerfile.Names, layerfile.CompositionNames) {
		data, err := loaders.ReadFile(filepath.Join(dir, name), layerfile.MaxSize)
		if err != nil {
			continue
		}
		isLayer = true
		n.weight += layerWeight + int64(len(data))
		if v, err := (&yaml.Source{File: name, Data: data}).Value(); err == nil {
			n.layer(dir, v)
		}
	}
	if isLayer {
		return
	}
	_, err := os.Stat(filepath.Join(dir, "Chart.yaml"))
	isChart := err == nil
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.IsDir() && path != dir && !isChart:
			return fs.SkipDir
		case d.Type().IsRegular():
			if info, err := d.Info(); err == nil {
				n.weight += info.Size()
			}
		}
		return nil
	})
}

// layer adds the files and directories that a layer file names, and its charts and functions.
func (n *node) layer(dir string, v yaml.Value) {
	for _, text := range texts(nil, v) {
		if _, file, ok := strings.Cut(text, "="); ok { // KEY=FILE of a generator
			text = file
		}
		if text != "" && !filepath.IsAbs(text) && !loaders.IsRemote(text) {
			n.uses = append(n.uses, filepath.Join(dir, text))
		}
	}
	for _, field := range []string{"helmCharts", "helmChartInflationGenerator"} {
		n.weight += chartWeight * int64(len(v.Get(field).Items()))
	}
	for _, field := range []string{"generators", "transformers", "validators"} {
		for _, item := range v.Get(field).Items() {
			n.weight += functionsOf(dir, item)
		}
	}
}

// functionsOf returns the weight of the functions that an item of a layer configures. The item is a
// configuration, the text of some, or the name of a file.
func functionsOf(dir string, item yaml.Value) (weight int64) {
	if item.Type() != yaml.String {
		return functionOf(item)
	}
	src := &yaml.Source{Data: []byte(item.Text())}
	if !strings.Contains(item.Text(), "\n") {
		if loaders.IsRemote(item.Text()) {
			return functionWeight
		}
		data, err := loaders.ReadFile(filepath.Join(dir, item.Text()), yaml.MaxFile)
		if err != nil {
			return 0 // a layer, or a mistake
		}
		src.Data = data
	}
	docs, _ := src.Documents() // planning reports the error
	for _, d := range docs {
		weight += functionOf(d.Value)
	}
	return weight
}

// functionOf returns the weight of an item with a configuration: 0 for a built-in.
func functionOf(config yaml.Value) int64 {
	version := config.Get("apiVersion").Text()
	if version == "builtin" || strings.Contains(version, "kustomize.config.k8s.io/") {
		return 0
	}
	return functionWeight
}

// texts appends the texts in a value that may name files.
func texts(to []string, v yaml.Value) []string {
	for _, f := range v.Fields() {
		to = texts(to, f.Value)
	}
	for _, item := range v.Items() {
		to = texts(to, item)
	}
	if text := v.Text(); v.Type() == yaml.String && len(text) < 1000 && !strings.Contains(text, "\n") {
		to = append(to, text)
	}
	return to
}
