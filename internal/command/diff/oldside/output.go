// Package oldside has the old sides of a comparison: output of an earlier run, and roots of a
// revision that are the same as now.
package oldside

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/engine/sink"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/render"
)

// Output is earlier output.
type Output struct {
	// File reports that the output is a single file.
	File bool

	dir   string
	m     *manifest.Manifest  // nil without manifests
	files map[string][]string // without manifests: the files by the output folder of their root
	known *known.Files        // see Same
}

// Open opens a folder that krmflow wrote, or any folder or file of YAML. outs are the output
// folders of the roots to compare. In a folder without manifests a file belongs to the deepest
// of outs that contains it. A single file belongs to the only root.
func Open(dir string, outs []string) (*Output, error) {
	w := &Output{dir: dir, files: map[string][]string{}}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if len(outs) > 1 {
			return nil, diag.Arguments.Errorf("--against: %q is one file, and %s are compared with it: name a folder, or one directory",
				dir, diag.Count(len(outs), "root"))
		}
		w.File, w.files[outs[0]] = true, []string{dir}
		return w, nil
	}
	m, files, err := listed(dir)
	if err != nil {
		return nil, err
	}
	if len(m.Roots) > 0 {
		w.m = m
		return w, nil
	}
	if len(files) == 0 {
		return nil, diag.Errorf(diag.Pos{}, "", "--against: %q has neither a Kustomization nor YAML files", dir).With(diag.NoKustomization)
	}
	for _, file := range files {
		root := ""
		for _, out := range outs {
			if below(file, out) && (root == "" || len(out) > len(root)) {
				root = out
			}
		}
		if root != "" {
			w.files[root] = append(w.files[root], filepath.Join(dir, filepath.FromSlash(file)))
		}
	}
	return w, nil
}

// Roots returns the output folders of the roots that have output, sorted.
func (w *Output) Roots() []string {
	if w.m == nil {
		return slices.Sorted(maps.Keys(w.files))
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.m.Roots)), func(root string) bool { return !w.Has(root) })
}

// Has reports whether the root with this output folder has output.
func (w *Output) Has(root string) bool {
	if w.m == nil {
		return w.files[root] != nil
	}
	return len(w.m.Of(root)) > 0
}

// List reads the resources of a root. The result is nil if the root has no output. Missing files
// that a manifest lists are skipped.
func (w *Output) List(root string) (*krm.List, error) {
	if !w.Has(root) {
		return nil, nil
	}
	files := w.files[root]
	if w.m != nil {
		for _, folder := range w.m.Of(root) {
			for _, name := range slices.Sorted(maps.Keys(w.m.Files[folder])) {
				files = append(files, filepath.Join(w.dir, filepath.FromSlash(folder), name))
			}
		}
	}
	var all []*krm.Resource
	for _, file := range files {
		data, err := loaders.ReadFile(file, yaml.MaxFile)
		if w.m != nil && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rs, err := krm.Resources(&yaml.Source{File: file, Data: data}, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, rs...)
	}
	return krm.NewList(all...), nil
}

// Same reports whether the files of a root are unchanged since a run wrote them from the inputs of
// its record. Then the difference is empty. Same is false for files with redacted Secrets, and for
// a layout with options.
func (w *Output) Same(e *engine.Engine, root render.Root, r *records.Record) bool {
	if w.m == nil || !w.m.Roots[root.Out] || w.m.Torn[root.Out] {
		return false
	}
	have := map[string]map[string]manifest.Record{}
	for _, dir := range w.m.Of(root.Out) {
		have[dir] = w.m.Files[dir]
	}
	sum := manifest.Digest(have)
	if len(have) == 0 || !slices.ContainsFunc(sink.Forms(root), func(form krm.Digest) bool {
		files, ok := r.Form(form)
		return ok && files == sum
	}) {
		return false
	}
	if w.known == nil {
		w.known = e.Output(w.dir)
	}
	for dir, files := range have {
		for name, rec := range files {
			file, at := path.Join(dir, name), filepath.Join(w.dir, filepath.FromSlash(dir), name)
			if info, err := os.Lstat(at); err == nil && w.known.Is(file, filestat.Of(info), rec) {
				continue
			}
			if data, err := loaders.ReadFile(at, yaml.MaxFile); err != nil || manifest.RecordOf(file, data, rec.Secret) != rec {
				return false
			}
		}
	}
	return true
}

// Asked reports whether the root with the output folder out would be at or below one of the
// directories args. It reports true if that is unknown: the output does not record the location
// of its roots, or args are elsewhere.
func Asked(base string, args []string, out string) bool {
	if len(args) == 0 {
		args = []string{"."}
	}
	root := filepath.Join(base, filepath.FromSlash(out))
	return slices.ContainsFunc(args, func(arg string) bool {
		dir, err := filepath.Abs(arg)
		return err != nil || base == "" || diag.Within(root, dir) || !diag.Within(dir, base)
	})
}

func below(file, dir string) bool { return dir == "." || strings.HasPrefix(file, dir+"/") }

// listed returns the merged manifests below a folder, and its YAML and JSON files, sorted.
func listed(dir string) (*manifest.Manifest, []string, error) {
	m := manifest.New()
	var files []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && rel != "." && d.Name()[0] == '.':
			return fs.SkipDir
		case d.Name() == manifest.Name && d.Type().IsRegular():
			text, err := loaders.ReadFile(p, manifest.MaxSize)
			if err == nil {
				err = m.Read(path.Dir(rel), string(text))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
		case d.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(rel)):
			files = append(files, rel)
		}
		return nil
	})
	return m, files, err
}
