package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/flock"
)

// A folder is an open directory of an output. Names have no slashes except where stated, and
// links are not followed. The following methods are implemented per system:
//
//	create(name, data, perm) writes a file that must not exist
//	read(name, buf) reads at most len(buf) bytes of a regular file; returns their number
//		and the permissions of the file
//	stat(name) returns the metadata and size of a regular file; name may have slashes
//	sub(name) opens a subfolder
//	entries() lists the folder; the entries have their types
//	link(from, name) hard-links the file name of the folder from; errors.ErrUnsupported if
//		that is not possible
type folder struct {
	root *os.Root // nil for a folder opened by sub on Linux
	f    *os.File
	fd   int // of f
}

// openFolder opens the folder name in dir.
func openFolder(dir *os.Root, name string) (*folder, error) {
	root, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	f, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	return &folder{root, f, int(f.Fd())}, nil
}

// makeFolder opens the folder name in dir and creates it if necessary.
func makeFolder(dir *os.Root, name string) (*folder, error) {
	d, err := openFolder(dir, name)
	if notExist(err) {
		if err = dir.MkdirAll(name, 0o777); err == nil {
			d, err = openFolder(dir, name)
		}
	}
	return d, err
}

func listFolder(dir *os.Root, name string) ([]fs.DirEntry, error) {
	d, err := openFolder(dir, name)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.entries()
}

func (d *folder) close() {
	if d != nil {
		d.f.Close()
		if d.root != nil {
			d.root.Close()
		}
	}
}

// readWhole reads a regular file into buf[:0], growing it if necessary. A file of more than most
// bytes is an error.
func (d *folder) readWhole(name string, buf []byte, most int64) ([]byte, error) {
	_, size, err := d.stat(name)
	switch {
	case err != nil:
		return buf, err
	case size > most:
		return buf, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it is larger than %s", diag.Size(most))}
	}
	buf = slices.Grow(buf[:0], int(size)+1) // one additional byte detects a growing file
	n, _, err := d.read(name, buf[:cap(buf)])
	return buf[:n], err
}

// take hard-links the file name from another folder, or copies it if that is not possible.
func (d *folder) take(from *folder, name string) error {
	err := d.link(from, name)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	info, err := from.root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return notRegular(name)
	}
	data, err := from.root.ReadFile(name)
	if err != nil {
		return err
	}
	if err := d.create(name, data, info.Mode().Perm()); err != nil {
		return err
	}
	return d.root.Chtimes(name, info.ModTime(), info.ModTime())
}

func notRegular(name string) error {
	return &fs.PathError{Op: "open", Path: name, Err: flock.ErrNotRegular}
}
