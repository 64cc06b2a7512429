package loaders

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/chart"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/reference"
)

const (
	// maxChartFiles is the limit for files and directories of a chart, and maxChartDepth for
	// their depth.
	maxChartFiles = 10_000
	maxChartDepth = 50
)

// ReadChart returns the files of the chart in a directory that a layer in d refers to, and the
// name of the directory for messages.
//
// As in kustomize, the directory may be anywhere on this machine, unless the layer was fetched.
// Symbolic links must not lead out of it, unless layers may read all files. The error wraps
// fs.ErrNotExist if the directory does not exist.
func (l *Local) ReadChart(d *Dir, folder string) (files []chart.File, shown string, err error) {
	abs := absolute(d, folder)
	l.Uses(d, abs)
	if d.tree != nil {
		if filepath.IsAbs(folder) {
			return nil, "", errOutside(d.tree, folder)
		}
		in, err := l.treeDir(d.tree, abs, folder)
		if err != nil {
			return nil, "", err
		}
		place, _ := d.tree.path(in.Real)
		sub, err := fs.Sub(d.tree, place)
		if err == nil {
			files, err = l.readFolder(sub, in.Name, d.IsFetched())
		}
		return files, in.Name, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		l.observe(d, Observation{Path: abs, Kind: SawNoDir})
		return nil, "", pathError(err, folder, abs)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, "", pathError(err, folder, abs)
	}
	defer root.Close()
	from := root.FS()
	if l.isFree(d) {
		from = os.DirFS(real)
	}
	r := folderReader{l: l, from: from, name: l.name(real), saw: func(name string, o Observation) {
		o.Path = filepath.Join(abs, filepath.FromSlash(name))
		l.observe(d, o)
	}}
	err = r.read(".", 0)
	files = r.files
	if err != nil {
		err = diag.Errorf(diag.Pos{}, "", "the chart in %s: %w", l.name(real), err).With(diag.BadChart)
	}
	return files, l.name(real), err
}

// FetchChart returns the files of the chart for a reference in a layer of d.
func (l *Local) FetchChart(d *Dir, text string) ([]chart.File, error) {
	dir, err := l.FetchChartDir(d, text)
	if err != nil {
		return nil, err
	}
	place, _ := dir.tree.path(dir.Real)
	sub, err := fs.Sub(dir.tree, place)
	if err != nil {
		return nil, err
	}
	return l.readFolder(sub, dir.Name, true)
}

// FetchChartDir fetches the chart for a reference in a layer of d, without reading its files.
func (l *Local) FetchChartDir(d *Dir, text string) (*Dir, error) {
	dir, _, err := l.obtain(d, text, reference.Chart)
	if err == nil && dir == nil {
		err = diag.BadChart.Errorf("the chart is a file, not a directory")
	}
	return dir, err
}

// readFolder returns all files in a file system. It follows symbolic links.
func (l *Local) readFolder(from fs.FS, name string, fetched bool) ([]chart.File, error) {
	r := folderReader{l: l, from: from, name: name, fetched: fetched, saw: func(string, Observation) {}}
	err := r.read(".", 0)
	return r.files, err
}

type folderReader struct {
	l       *Local
	from    fs.FS
	name    string // of the chart directory
	fetched bool
	files   []chart.File
	seen    int // files and directories, counted because links can form cycles
	saw     func(name string, o Observation)
}

func (r *folderReader) read(dir string, depth int) error {
	if depth > maxChartDepth {
		return diag.Limitf("%q is deeper than %d folders", dir, maxChartDepth)
	}
	entries, err := fs.ReadDir(r.from, dir)
	if err != nil {
		r.saw(dir, Observation{Kind: SawOther})
		return linkError(err, dir)
	}
	r.saw(dir, Observation{Kind: SawFolder, Source: &yaml.Source{Data: NamesOf(entries)}})
	for _, e := range entries {
		if r.seen++; r.seen > maxChartFiles {
			return diag.Limitf("larger than %s", diag.Count(maxChartFiles, "file"))
		}
		name := path.Join(dir, e.Name())
		info, err := fs.Stat(r.from, name)
		switch {
		case err != nil:
			r.saw(name, Observation{Kind: SawOther})
			err = linkError(err, name)
		case info.IsDir():
			err = r.read(name, depth+1)
		default:
			err = r.file(name, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *folderReader) file(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		r.saw(name, Observation{Kind: SawOther})
		return diag.NotReadable.Errorf("%q is not a regular file", name)
	}
	if err := r.l.budget.take(info.Size()); err != nil {
		return err
	}
	data, err := fs.ReadFile(r.from, name)
	if err != nil {
		r.saw(name, Observation{Kind: SawOther})
		return linkError(err, name)
	}
	if !isForReaders(name) {
		if err := r.l.checkPointer(r.fetched, data, name, filepath.Join(r.name, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	r.saw(name, Observation{Kind: SawFile, Source: &yaml.Source{Data: data}})
	r.files = append(r.files, chart.File{Name: name, Data: data})
	return nil
}

// isForReaders reports whether a file documents a chart. Repositories often keep pictures in Git
// LFS, and templates do not need them.
func isForReaders(name string) bool {
	return slices.Contains([]string{".md", ".png", ".svg", ".jpg", ".jpeg", ".gif", ".ico"}, strings.ToLower(path.Ext(name)))
}

// linkError returns err as an error about the file name, without its path in the file system.
func linkError(err error, name string) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return diag.NotReadable.Errorf("cannot read %q: %w", name, err)
}

// Command returns the program that the user selects by a path, or by a name to look up on PATH.
// The digest is computed by hash if it is not nil.
func (l *Local) Command(name string, hash func(path string) (krm.Digest, error)) (Program, error) {
	found, err := exec.LookPath(name)
	if err != nil {
		var e *exec.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return Program{}, fmt.Errorf("%q: %w", diag.Redact(name), err)
	}
	if !filepath.IsAbs(found) {
		found = filepath.Join(l.cwd, found)
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return Program{}, pathError(err, name, found)
	}
	if hash != nil {
		digest, err := hash(real)
		return Program{Real: real, Root: filepath.Dir(real), Digest: digest}, err
	}
	return l.Program(real, filepath.Dir(real))
}
