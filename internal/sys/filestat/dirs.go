package filestat

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
)

// Dirs resolves directory paths and caches the results. It looks at each directory only once,
// so a Dirs must not be kept across changes of the file system; see [Dirs.Only]. The zero Dirs
// is empty and ready to use. A Dirs must not be used concurrently.
type Dirs struct{ places map[string]place }

// A place is the resolved location of a directory.
type place struct {
	real string // "" if the directory does not exist
	info fs.FileInfo
}

// Real returns the absolute, clean path of a directory with all symbolic links resolved, or ""
// if path is not a directory.
func (d *Dirs) Real(path string) string { return d.at(path).real }

// Find returns the path that Real returns and the directory's file information, which is nil if
// path is not a directory.
func (d *Dirs) Find(path string) (real string, info fs.FileInfo) {
	p := d.at(path)
	return p.real, p.info
}

func (d *Dirs) at(path string) place {
	if p, ok := d.places[path]; ok {
		return p
	}
	if d.places == nil {
		d.places = map[string]place{}
	}
	p := d.find(path)
	d.places[path] = p
	return p
}

func (d *Dirs) find(path string) place {
	up := filepath.Dir(path)
	if up == path {
		info, _ := os.Lstat(path)
		return place{path, info}
	}
	within := d.Real(up)
	if within == "" {
		return place{}
	}
	full := path
	if within != up {
		full = filepath.Join(within, filepath.Base(path))
	}
	info, err := os.Lstat(full)
	switch {
	case err != nil:
		return place{}
	case info.IsDir():
		return place{full, info}
	case info.Mode()&fs.ModeSymlink == 0:
		return place{}
	}
	if full, err = filepath.EvalSymlinks(full); err != nil {
		return place{}
	}
	if info, err = os.Lstat(full); err != nil || !info.IsDir() {
		return place{}
	}
	return place{full, info}
}

// Looked reports whether the directory at path has been looked up before.
func (d *Dirs) Looked(path string) bool {
	_, ok := d.places[path]
	return ok
}

// Only drops all cached results except those for paths and their parent directories.
func (d *Dirs) Only(paths iter.Seq[string]) {
	only := map[string]place{}
	for path := range paths {
		for {
			p, ok := d.places[path]
			if _, done := only[path]; done || !ok {
				break
			}
			only[path] = p
			path = filepath.Dir(path)
		}
	}
	d.places = only
}
