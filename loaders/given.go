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

// files are the files of a tree that is not on this machine. Names follow [fs.FS].
type files interface {
	fs.FS
	// Real resolves the symbolic links in the name of an existing file or directory. A link that
	// leads out of the tree is an error.
	Real(name string) (string, error)
	Stat(name string) (fs.FileInfo, error)
	ReadFile(name string) ([]byte, error)
}

// givenRoot is the root of the paths of files in the [fs.FS] of a run. Roots of fetched trees
// differ from it because they contain an @.
var givenRoot = fetchedRoot + "fs"

// IsGiven reports whether an absolute path is in the [fs.FS] of a run.
func IsGiven(path string) bool { return diag.Within(path, givenRoot) }

// GivenName returns the name in the [fs.FS] of a run for an absolute path, for example for that
// of an [Observation]. It reports false if the path is elsewhere.
func GivenName(path string) (string, bool) {
	if !IsGiven(path) {
		return "", false
	}
	return cmp.Or(strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(path, givenRoot)), "/"), "."), true
}

// RealIn resolves the symbolic links in a name of a file system. It returns an error if the name
// does not exist or a link leads out of the file system.
func RealIn(files fs.FS, name string) (string, error) {
	return (&given{FS: files, known: map[string]string{}}).Real(name)
}

// given is the [fs.FS] that a program renders.
type given struct {
	fs.FS

	mu sync.Mutex
	// known caches link targets by name. An empty target means that the name is not a symbolic
	// link.
	known map[string]string
}

func (g *given) Stat(name string) (fs.FileInfo, error) { return fs.Stat(g.FS, name) }

// Real resolves symbolic links one path element at a time: real is the part already resolved,
// rest the part still to do. An FS that does not implement [fs.ReadLinkFS] has no links.
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

// sharing is an optional interface of an [fs.FS]. Source returns a file with the content of name
// that was already read for a different purpose, or nil. Its parsed form is then reused. The name
// has no symbolic links.
type sharing interface {
	Source(name string) *yaml.Source
}

// sameFile returns an already read file with the content of abs in the run's file system. It
// returns nil if there is none or if the layer in d must not read it.
func (l *Local) sameFile(d *Dir, abs string, limit int64) *yaml.Source {
	if l.same == nil || !d.tree.isGiven() || !l.isFree(d) && !diag.Within(abs, d.bound()) {
		return nil
	}
	place, ok := d.tree.path(abs)
	if !ok {
		return nil
	}
	real, err := d.tree.Real(place)
	if err != nil || !l.isFree(d) && !diag.Within(d.tree.abs(real), d.bound()) {
		return nil
	}
	if src := l.same(real); src != nil && int64(len(src.Data)) <= limit {
		return src
	}
	return nil
}

// leaves returns the error for a symbolic link that leads out of the file system.
func (g *given) leaves(name, target string) error {
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("the symbolic link %q leads out of the file system being rendered",
		target)}
}

// target returns the target of a symbolic link, or an empty string if name is not a symbolic
// link.
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

// ReadFile reads a regular file. It stops one byte after the size limit for files, so that
// callers can detect larger ones.
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
			data = append(data, 0)[:len(data)] // larger than Stat reported
		}
	}
}

// givenPath returns the absolute path for a name in the [fs.FS] of the run.
func givenPath(name string) string {
	return filepath.Join(givenRoot, path.Join("/", filepath.ToSlash(name)))
}
