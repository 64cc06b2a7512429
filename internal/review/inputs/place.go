package inputs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// A Place provides access to files of this machine or of a Git revision. All paths are absolute
// paths on this machine. The zero Place is this machine.
type Place struct {
	files fs.FS // nil for this machine
	top   string
}

// In returns a Place with files as the content of the directory top. All other paths refer to
// this machine.
func In(files fs.FS, top string) Place { return Place{files, top} }

// name returns the name of a path in p.files, and whether the path is in them.
func (p Place) name(path string) (string, bool) {
	if p.files == nil || !diag.Within(path, p.top) {
		return "", false
	}
	rel, err := filepath.Rel(p.top, path)
	return filepath.ToSlash(rel), err == nil
}

// Lstat returns information about a path without following a symbolic link.
func (p Place) Lstat(path string) (fs.FileInfo, error) {
	if name, ok := p.name(path); ok {
		return fs.Lstat(p.files, name)
	}
	return os.Lstat(path)
}

func (p Place) readLink(path string) (string, error) {
	if name, ok := p.name(path); ok {
		return fs.ReadLink(p.files, name)
	}
	return os.Readlink(path)
}

// ReadFile returns the content of a file.
func (p Place) ReadFile(path string) ([]byte, error) {
	if name, ok := p.name(path); ok {
		return fs.ReadFile(p.files, name)
	}
	return os.ReadFile(path)
}

// ReadDir returns the entries of a directory, sorted by name.
func (p Place) ReadDir(path string) ([]fs.DirEntry, error) {
	if name, ok := p.name(path); ok {
		return fs.ReadDir(p.files, name)
	}
	return os.ReadDir(path)
}

// ReadLink returns the target of a symbolic link.
func (p Place) ReadLink(path string) (string, error) { return p.readLink(path) }

// maxLinks is the maximum depth of nested symbolic links in a path.
const maxLinks = 40

// A resolver resolves symbolic links and caches the results.
type resolver struct {
	place Place
	known map[string]resolved
}

// resolved is a resolved path and the links on the way. The last element of real need not exist.
type resolved struct {
	real  string
	links []string
}

// resolve resolves the symbolic links in an absolute path.
func (r *resolver) resolve(path string) resolved { return r.follow(filepath.Clean(path), maxLinks) }

func (r *resolver) follow(path string, depth int) resolved {
	if known, ok := r.known[path]; ok {
		return known
	}
	up := filepath.Dir(path)
	if up == path || depth == 0 {
		return resolved{real: path}
	}
	at := r.step(r.follow(up, depth), filepath.Base(path), depth)
	r.known[path] = at
	return at
}

// step resolves an entry of a directory that is already resolved.
func (r *resolver) step(from resolved, name string, depth int) resolved {
	path := filepath.Join(from.real, name)
	target, err := r.place.readLink(path)
	if err != nil || depth == 0 {
		return resolved{path, from.links}
	}
	links := append(from.links[:len(from.links):len(from.links)], path)
	if filepath.IsAbs(target) {
		to := r.follow(filepath.Clean(target), depth-1)
		return resolved{to.real, append(links, to.links...)}
	}
	at := resolved{from.real, links}
	for part := range strings.SplitSeq(filepath.ToSlash(target), "/") {
		switch part {
		case "", ".":
		case "..":
			at.real = filepath.Dir(at.real)
		default:
			at = r.step(at, part, depth-1)
		}
	}
	return at
}
