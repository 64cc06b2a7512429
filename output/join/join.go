// Package join merges the folders that the shards of a render wrote.
package join

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/output/names"
)

// maxFile is larger than any file that krmflow writes.
const maxFile = 256 << 20

// A Part is the open folder of a shard.
type Part struct {
	*manifest.Manifest
	dir  string // as named by the user
	root *os.Root
}

// Parts are the folders of all shards of a render.
type Parts []*Part

// Open opens the folders of shards and reads their manifests. The error is a
// [*output.RefusedError] unless they are the folders of all shards of the same render. The caller
// must close the result.
func Open(dirs []string) (all Parts, err error) {
	defer func() {
		if err != nil {
			all.Close()
		}
	}()
	for _, dir := range dirs {
		p, err := openPart(dir)
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, all.check()
}

// Close closes the folders.
func (all Parts) Close() {
	for _, p := range all {
		p.root.Close()
	}
}

func openPart(dir string) (p *Part, err error) {
	p = &Part{Manifest: manifest.New(), dir: dir}
	if p.root, err = os.OpenRoot(dir); err != nil {
		return nil, refuse(dir, "cannot open the folder: %v", withoutPath(err))
	}
	if err = p.read(); err != nil {
		p.root.Close()
		return nil, err
	}
	return p, nil
}

// read reads the manifests of the folder and of its roots.
func (p *Part) read() error {
	text, err := p.file(manifest.Name, manifest.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return p.notShard("it has no " + manifest.Name)
	}
	if err == nil {
		err = p.Read(".", string(text))
	}
	if err != nil {
		return refuse(path.Join(p.dir, manifest.Name), "bad manifest: %v", withoutPath(err))
	}
	if p.Shard == nil {
		return p.notShard("its " + manifest.Name + " describes a complete folder")
	}
	if len(p.Shard.Failed) > 0 {
		e := refuse(p.dir, "%s of shard %s could not be rendered", diag.Count(len(p.Shard.Failed), "root"), p.Shard)
		e.Names, e.Hint = p.Shard.Failed, "correct the errors of its run and run the shard again"
		return e
	}
	for _, root := range p.Shard.Roots {
		name := path.Join(root, manifest.Name)
		text, err := p.file(name, manifest.MaxSize)
		if root == "." || errors.Is(err, fs.ErrNotExist) { // a root without files
			continue
		}
		if err == nil {
			err = p.Read(root, string(text))
		}
		if err != nil {
			return refuse(path.Join(p.dir, name), "bad manifest: %v", withoutPath(err))
		}
	}
	if len(p.Torn) > 0 {
		return p.changed(path.Join(slices.Sorted(maps.Keys(p.Torn))[0], manifest.Name))
	}
	return p.foreign()
}

func (p *Part) notShard(why string) error {
	e := refuse(p.dir, "is not the folder of a shard: %s", why)
	e.Hint = "write the folders with: krmflow apply-render DIR --shard I/N -o FOLDER"
	return e
}

func (p *Part) changed(files ...string) error {
	e := refuse(p.dir, "files were changed since krmflow wrote them")
	e.Names, e.Hint = files, "run shard "+p.Shard.String()+" again with --force, or in a new folder"
	return e
}

// foreign returns an error if the folder has files that its manifests do not list.
func (p *Part) foreign() error {
	var found []string
	err := fs.WalkDir(p.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		_, base := manifest.Split(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() || p.Lists(name) && d.Type().IsRegular():
		case base == manifest.Name && d.Type().IsRegular() && (name == base || slices.Contains(p.Shard.Roots, path.Dir(name))):
		default:
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		return refuse(p.dir, "cannot read it: %v", err)
	}
	if len(found) > 0 {
		e := refuse(p.dir, "holds files that krmflow did not write for shard %s", p.Shard)
		e.Names, e.Hint = found, "remove them, or run the shard again in a new folder"
		return e
	}
	return nil
}

// file reads a regular file.
func (p *Part) file(name string, limit int64) ([]byte, error) {
	info, err := p.root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := p.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it is larger than %s", diag.Size(limit))
	}
	return data, err
}

// check returns an error unless the parts are all shards of the same render.
func (all Parts) check() error {
	first := all[0]
	at := map[int]*Part{}
	for _, p := range all {
		if err := p.matches(first); err != nil {
			return err
		}
		if other := at[p.Shard.Index]; other != nil {
			return refuse(p.dir, "is shard %s, as is %s", p.Shard, names.Show(other.dir))
		}
		at[p.Shard.Index] = p
	}
	var missing []string
	for i := 1; i <= first.Shard.Count; i++ {
		if at[i] == nil {
			missing = append(missing, fmt.Sprintf("%d/%d", i, first.Shard.Count))
		}
	}
	if len(missing) > 0 {
		e := refuse(first.dir, "%s missing: %s", diag.Count(len(missing), "shard"), diag.Some(missing))
		e.Hint = "name the folders of all shards; a shard that was stopped can be run again alone"
		return e
	}
	owner := map[string]*Part{}
	var roots []string
	for _, p := range all {
		for _, root := range p.Shard.Roots {
			if other := owner[root]; other != nil {
				e := refuse(p.dir, "has the root %s, which %s also has", names.Show(root), names.Show(other.dir))
				e.Hint = differentTrees
				return e
			}
			owner[root] = p
			roots = append(roots, root)
		}
	}
	if manifest.RootsDigest(roots) != first.Shard.All {
		e := refuse(first.dir, "the shards together do not have all roots")
		e.Hint = differentTrees
		return e
	}
	return nil
}

const differentTrees = "run all shards on the same files: weights, and so the shards of roots, depend on untracked files as well"

// matches returns an error unless p and first are shards of the same render.
func (p *Part) matches(first *Part) error {
	a, b := p.Shard, first.Shard
	that := names.Show(first.dir)
	var e *output.RefusedError
	switch {
	case a.Count != b.Count:
		e = refuse(p.dir, "is shard %s, but %s is shard %s", a, that, b)
	case a.Version != b.Version:
		e = refuse(p.dir, "was written by krmflow %s, but %s by krmflow %s", a.Version, that, b.Version)
	case a.Flags != b.Flags:
		e = refuse(p.dir, "was written with %s, but %s with %s", cmp.Or(a.Flags, "no flags"), that, cmp.Or(b.Flags, "no flags"))
	case a.From != b.From:
		e = refuse(p.dir, "was rendered from %s, but %s from %s", names.Show(a.From), that, names.Show(b.From))
	case a.All != b.All:
		e = refuse(p.dir, "was written for a different list of roots than %s", that)
		e.Hint = "run all shards on the same commit and with the same directories and selection"
	default:
		return nil
	}
	e.Hint = cmp.Or(e.Hint, "run all shards with the same version and the same flags")
	return e
}

// Roots returns the folders of all roots.
func (all Parts) Roots() (roots []string) {
	for _, p := range all {
		roots = append(roots, p.Shard.Roots...)
	}
	slices.Sort(roots)
	return roots
}

// Base returns the directory that contains the roots, as recorded by the shards and relative to the
// working directory of this process. It returns "" if the shards did not record it.
func (all Parts) Base() string { return filepath.FromSlash(all[0].Shard.From) }

// Put puts the files of all roots into a folder. The error is a [*output.RefusedError] if a file
// is missing or was changed.
func (all Parts) Put(to *output.Dir) error {
	for _, p := range all {
		for _, root := range p.Shard.Roots {
			if err := to.PutFiles(root, p.files(root)); err != nil {
				return err
			}
		}
	}
	return nil
}

// files returns the files of a root.
func (p *Part) files(root string) iter.Seq2[output.File, error] {
	return func(yield func(output.File, error) bool) {
		for _, dir := range p.Of(root) {
			for _, name := range slices.Sorted(maps.Keys(p.Files[dir])) {
				file, rec := path.Join(dir, name), p.Files[dir][name]
				data, err := p.file(file, maxFile)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					err = refuse(path.Join(p.dir, file), "cannot read it: %v", withoutPath(err))
				} else if err != nil || manifest.RecordOf(file, data, rec.Secret) != rec {
					err = p.changed(file)
				}
				at := file
				if root != "." {
					at = strings.TrimPrefix(file, root+"/")
				}
				if !yield(output.File{Path: at, Data: data, Secret: rec.Secret}, err) || err != nil {
					return
				}
			}
		}
	}
}

func refuse(dir, format string, args ...any) *output.RefusedError {
	return &output.RefusedError{Path: dir, Reason: fmt.Sprintf(format, args...)}
}

// withoutPath removes the operation and path that package os adds.
func withoutPath(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
