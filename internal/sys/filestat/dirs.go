package filestat

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
)

// Dirs knows where directories are without symbolic links. It looks at each once, so it is for a moment in which nothing changes. The zero
// Dirs knows nothing yet. It is not safe for concurrent use.
type Dirs struct{ places map[string]place }

// A place is where a directory is.
type place struct {
	real string // "" if there is none
	info fs.FileInfo
}

// Real returns an absolute, clean path of a directory without symbolic links, "" if there is no such directory.
func (d *Dirs) Real(path string) string { return d.at(path).real }

// Find returns what Real does, and what the file system says about the directory: nil if there is none.
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

// Looked reports whether the directory at a path was looked for.
func (d *Dirs) Looked(path string) bool {
	_, ok := d.places[path]
	return ok
}

// Only makes d forget all but the directories at these paths, and those above them.
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
