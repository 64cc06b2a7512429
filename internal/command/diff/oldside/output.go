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
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output/manifest"
)

// Output is earlier output.
type Output struct {
	// Lists are the resources by the output folder of their root.
	Lists map[string]*krm.List
	// File reports that the output is a single file.
	File bool
}

// Read reads a folder that krmflow wrote, or any folder or file of YAML. outs are the output
// folders of the roots to compare. In a folder without manifests a file belongs to the deepest
// of outs that contains it. A single file belongs to the only root.
func Read(dir string, outs []string) (*Output, error) {
	w := &Output{Lists: map[string]*krm.List{}}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if len(outs) > 1 {
			return nil, diag.Arguments.Errorf("--against: %q is one file, and %s are compared with it: name a folder, or one directory",
				dir, diag.Count(len(outs), "root"))
		}
		w.File = true
		return w, w.add(outs[0], dir)
	}
	m, files, err := listed(dir)
	if err != nil {
		return nil, err
	}
	if len(m.Roots) > 0 {
		return w, w.addListed(dir, m)
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
		if root == "" {
			continue
		}
		if err := w.add(root, filepath.Join(dir, filepath.FromSlash(file))); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// addListed adds the files that the manifests of a folder list. Missing files are skipped.
func (w *Output) addListed(dir string, m *manifest.Manifest) error {
	for _, folder := range slices.Sorted(maps.Keys(m.Files)) {
		root, ok := m.Owner(folder)
		if !ok {
			continue
		}
		if w.Lists[root] == nil {
			w.Lists[root] = krm.NewList()
		}
		for _, name := range slices.Sorted(maps.Keys(m.Files[folder])) {
			if err := w.add(root, filepath.Join(dir, filepath.FromSlash(folder), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
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

// add adds the resources in a file to the list of a root.
func (w *Output) add(root, file string) error {
	data, err := loaders.ReadFile(file, yaml.MaxFile)
	if err != nil {
		return err
	}
	rs, err := krm.Resources(&yaml.Source{File: file, Data: data}, nil)
	if err != nil {
		return err
	}
	var all []*krm.Resource
	if list := w.Lists[root]; list != nil {
		for _, r := range list.All() {
			all = append(all, r)
		}
	}
	w.Lists[root] = krm.NewList(append(all, rs...)...)
	return nil
}
