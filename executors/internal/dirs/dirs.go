// Package dirs removes directories that functions had to themselves.
package dirs

import (
	"fmt"
	"os"
	"path/filepath"
)

// RemoveAll removes a directory with all that is in it, whatever a function has made there: directories that cannot be
// read, and ones that are nested deeper than this process can have open at a time. Nobody may write to it any more.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	r := remover{top: dir, todo: []string{dir}}
	for len(r.todo) > 0 {
		next := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		r.empty(next)
	}
	r.note(os.Remove(dir))
	return r.err
}

// A remover empties directories one after the other. Those below them come to the top first, so that no path gets long.
type remover struct {
	top   string
	todo  []string // directories in top, and top
	moved int
	err   error // the first
}

func (r *remover) note(err error) {
	if r.err == nil {
		r.err = err
	}
}

// empty removes what is in dir, and dir unless it is the top.
func (r *remover) empty(dir string) {
	os.Chmod(dir, 0o700)
	entries, err := os.ReadDir(dir)
	r.note(err)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
			r.note(os.Remove(path))
		case dir == r.top:
			r.todo = append(r.todo, path)
		default:
			os.Chmod(path, 0o700) // to move it takes the right to write to it
			name := r.free()
			r.note(os.Rename(path, name))
			r.todo = append(r.todo, name)
		}
	}
	if dir != r.top {
		r.note(os.Remove(dir))
	}
}

// free returns a path in the top that nobody has.
func (r *remover) free() string {
	for {
		r.moved++
		name := filepath.Join(r.top, fmt.Sprintf("removed-%d", r.moved))
		if _, err := os.Lstat(name); os.IsNotExist(err) {
			return name
		}
	}
}
