package filestat

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
)

// Dirs knows where directories are without symbolic links. It looks at each once, so it is for a moment in which nothing changes. The zero
// Dirs knows nothing yet. It is not safe for concurrent use.
type Dirs struct{ real map[string]string }

// Real returns an absolute, clean path of a directory without symbolic links, "" if there is no such directory.
func (d *Dirs) Real(path string) string {
	if real, ok := d.real[path]; ok {
		return real
	}
	if d.real == nil {
		d.real = map[string]string{}
	}
	real := d.find(path)
	d.real[path] = real
	return real
}

func (d *Dirs) find(path string) string {
	up := filepath.Dir(path)
	if up == path {
		return path
	}
	within := d.Real(up)
	if within == "" {
		return ""
	}
	full := path
	if within != up {
		full = filepath.Join(within, filepath.Base(path))
	}
	info, err := os.Lstat(full)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return full
	case info.Mode()&fs.ModeSymlink == 0:
		return ""
	}
	if full, err = filepath.EvalSymlinks(full); err != nil {
		return ""
	}
	if info, err = os.Lstat(full); err != nil || !info.IsDir() {
		return ""
	}
	return full
}

// Looked reports whether the directory at a path was looked for.
func (d *Dirs) Looked(path string) bool {
	_, ok := d.real[path]
	return ok
}

// Only makes d forget all but the directories at these paths, and those above them.
func (d *Dirs) Only(paths iter.Seq[string]) {
	only := map[string]string{}
	for path := range paths {
		for {
			real, ok := d.real[path]
			if _, done := only[path]; done || !ok {
				break
			}
			only[path] = real
			path = filepath.Dir(path)
		}
	}
	d.real = only
}
