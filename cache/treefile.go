package cache

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"time"
)

// info describes an entry. It implements [fs.FileInfo] and [fs.DirEntry].
type info struct {
	name string
	size int64
	mode fs.FileMode
}

func (t *Tree) info(name string, i int, dir bool) info {
	if dir {
		return info{name: name, mode: fs.ModeDir | 0o555}
	}
	e := &t.entries[i]
	n := info{name: name, size: e.size, mode: 0o444}
	switch e.kind {
	case program:
		n.mode = 0o555
	case link:
		n.mode = fs.ModeSymlink | 0o777
	case absent:
		n.mode = fs.ModeIrregular
	}
	return n
}

func (n info) Name() string               { return n.name }
func (n info) Size() int64                { return n.size }
func (n info) Mode() fs.FileMode          { return n.mode }
func (n info) Type() fs.FileMode          { return n.mode.Type() }
func (n info) IsDir() bool                { return n.mode.IsDir() }
func (n info) ModTime() time.Time         { return time.Time{} }
func (n info) Sys() any                   { return nil }
func (n info) Info() (fs.FileInfo, error) { return n, nil }
func (n info) String() string             { return fs.FormatFileInfo(n) }

func (t *Tree) open(name string) (fs.File, error) {
	_, i, dir, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	n := t.info(path.Base(name), i, dir)
	if dir {
		list, err := t.ReadDir(name)
		return &openDir{info: n, list: list}, err
	}
	data, err := t.read(&t.entries[i])
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{Reader: bytes.NewReader(data), info: n}, nil
}

// openFile is an open file of a tree.
type openFile struct {
	*bytes.Reader
	info info
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// openDir is an open directory of a tree.
type openDir struct {
	info info
	list []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: errIsDir}
}

// ReadDir returns the next n entries, or all remaining ones if n <= 0.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.list) {
		if n > 0 && len(d.list) == 0 {
			return nil, io.EOF
		}
		n = len(d.list)
	}
	next := d.list[:n]
	d.list = d.list[n:]
	return next, nil
}
