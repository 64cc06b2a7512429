package loaders

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// files are the files of a tree that is none of this machine. Names are those of [fs.FS].
type files interface {
	fs.FS
	// Real returns the name without symbolic links of an existing file or directory. A link that leaves the tree is an error.
	Real(name string) (string, error)
	Stat(name string) (fs.FileInfo, error)
	ReadFile(name string) ([]byte, error)
}

// givenRoot is what the paths of files in the [fs.FS] of a run begin with. It is the only tree without an @ in its name.
var givenRoot = fetchedRoot + "fs"

// IsGiven reports whether an absolute path is one in the [fs.FS] of a run.
func IsGiven(path string) bool { return diag.Within(path, givenRoot) }

// GivenName returns the name in the [fs.FS] of a run of what an absolute path is, for instance that of an [Observation]: false if it is elsewhere.
func GivenName(path string) (string, bool) {
	if !IsGiven(path) {
		return "", false
	}
	return cmp.Or(strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(path, givenRoot)), "/"), "."), true
}

// RealIn returns a name in a file system without symbolic links. It is an error if there is nothing, or a link leaves the file system.
func RealIn(files fs.FS, name string) (string, error) {
	return (&given{FS: files, known: map[string]string{}}).Real(name)
}

// given are the files of an [fs.FS] that a program renders.
type given struct {
	fs.FS

	mu    sync.Mutex
	known map[string]string // the target of each name that was looked at, if that is a symbolic link, else empty
}

func (g *given) Stat(name string) (fs.FileInfo, error) { return fs.Stat(g.FS, name) }

// Real follows symbolic links part by part: real is how far it has come and rest what is ahead. An FS that tells of no links has none.
func (g *given) Real(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	const maxLinks = 40
	real, links := ".", 0
	for rest := name; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch part {
		case "", ".":
			continue
		case "..":
			if real == "." {
				return "", g.leaves(name, name)
			}
			real = path.Dir(real)
			continue
		}
		next := path.Join(real, part)
		target, err := g.target(next)
		switch {
		case err != nil:
			return "", err
		case target == "":
			real = next
			continue
		case path.IsAbs(target) || filepath.IsAbs(target):
			return "", g.leaves(next, target)
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "open", Path: name, Err: errors.New("too many links")}
		}
		rest = target + "/" + rest
	}
	return real, nil
}

// sharing is what an [fs.FS] may have, too: files that were read for something else and have the content of a name, nil if there is none. What has
// become of such a file is used again. The name has no symbolic links.
type sharing interface {
	Source(name string) *yaml.Source
}

// sameFile returns a file with the content of one in the file system of the run, if the layer in d may read it and somebody else has done so.
func (l *Local) sameFile(d *Dir, abs string, limit int64) *yaml.Source {
	if l.same == nil || !d.tree.isGiven() || !l.isFree(d) && !diag.Within(abs, d.Real) {
		return nil
	}
	place, ok := d.tree.path(abs)
	if !ok {
		return nil
	}
	real, err := d.tree.Real(place)
	if err != nil || !l.isFree(d) && !diag.Within(d.tree.abs(real), d.Real) {
		return nil
	}
	if src := l.same(real); src != nil && int64(len(src.Data)) <= limit {
		return src
	}
	return nil
}

// leaves refuses a symbolic link.
func (g *given) leaves(name, target string) error {
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("the symbolic link %q leads out of the file system that is rendered", target)}
}

// target returns what a name links to, empty if it is no symbolic link.
func (g *given) target(name string) (target string, err error) {
	g.mu.Lock()
	target, ok := g.known[name]
	g.mu.Unlock()
	if ok {
		return target, nil
	}
	info, err := fs.Lstat(g.FS, name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		target, err = fs.ReadLink(g.FS, name)
	}
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known[name] = target
	return target, nil
}

// ReadFile reads a regular file, at most one byte more than any may have.
func (g *given) ReadFile(name string) ([]byte, error) {
	f, err := g.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it is not a regular file")}
	}
	data := make([]byte, 0, min(max(info.Size(), 0), yaml.MaxFile)+1)
	for r := io.LimitReader(f, yaml.MaxFile+1); ; {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)] // it has more than it said
		}
	}
}

// givenPath returns the path of what the user of an [fs.FS] names.
func givenPath(name string) string {
	return filepath.Join(givenRoot, path.Join("/", filepath.ToSlash(name)))
}
