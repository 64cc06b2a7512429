// Package dirs removes directories that functions could write to.
package dirs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll removes a directory and its content, including unreadable directories and
// directories nested deeper than this process can open, which a function may have created. It
// changes nothing outside dir, even if symbolic links are created in it concurrently.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	os.Chmod(dir, 0o700)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	r := remover{root: root, todo: []string{"."}}
	for len(r.todo) > 0 {
		next := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		r.empty(next)
	}
	root.Close()
	r.note(os.Remove(dir))
	return r.err
}

// A remover empties directories one after the other. It first moves nested directories to the
// root, so that no path becomes too long.
type remover struct {
	root  *os.Root
	todo  []string // directories in the root, and the root
	moved int
	err   error // the first error
}

func (r *remover) note(err error) {
	if r.err == nil {
		r.err = err
	}
}

// empty removes the content of dir, and dir itself unless it is the root.
func (r *remover) empty(dir string) {
	for _, e := range r.entries(dir) {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
			r.note(r.root.Remove(path))
		case dir == ".":
			r.todo = append(r.todo, path)
		default:
			r.root.Chmod(path, 0o700) // moving a directory requires write permission
			name := r.free()
			r.note(r.root.Rename(path, name))
			r.todo = append(r.todo, name)
		}
	}
	if dir != "." {
		r.note(r.root.Remove(dir))
	}
}

// entries lists dir, even if it is not readable yet.
func (r *remover) entries(dir string) []fs.DirEntry {
	r.root.Chmod(dir, 0o700)
	f, err := r.root.Open(dir)
	if err != nil {
		r.note(err)
		return nil
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	r.note(err)
	return list
}

// free returns an unused name in the root.
func (r *remover) free() string {
	for {
		r.moved++
		name := fmt.Sprintf("removed-%d", r.moved)
		if _, err := r.root.Lstat(name); os.IsNotExist(err) {
			return name
		}
	}
}
