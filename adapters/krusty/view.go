package krusty

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// A view presents a file system of kustomize as an [fs.ReadLinkFS] with the root "/". It reads
// files without opening them, because a file in memory can be opened only once.
type view struct {
	files filesys.FileSystem
	// base is the path of the rendered directory without links; "." if it is unknown. Its parent
	// directories exist even if files does not contain them, because some file systems contain
	// only one directory.
	base string
}

// newView returns the view of files in which the directory dir is rendered.
func newView(files filesys.FileSystem, dir filesys.ConfirmedDir) view {
	base, err := filepath.Rel(abs("."), dir.String())
	if err != nil {
		base = "."
	}
	return view{files, filepath.ToSlash(base)}
}

// isAbove reports whether name is the directory that is rendered, or one above it.
func (v view) isAbove(name string) bool {
	return name == "." || v.base == name || strings.HasPrefix(v.base, name+"/")
}

// abs returns the path of a name.
func abs(name string) string {
	return filepath.Join(string(filepath.Separator), filepath.FromSlash(name))
}

// Open implements [fs.FS].
func (v view) Open(name string) (fs.File, error) {
	info, err := v.stat("open", name)
	if err != nil {
		return nil, err
	}
	if info.dir {
		return &openDir{view: v, info: info}, nil
	}
	data, err := v.files.ReadFile(abs(name))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{bytes.NewReader(data), info}, nil
}

// Stat implements [fs.StatFS].
func (v view) Stat(name string) (fs.FileInfo, error) { return v.stat("stat", name) }

func (v view) stat(op, name string) (info info, err error) {
	switch {
	case !fs.ValidPath(name):
		err = fs.ErrInvalid
	case v.isAbove(name), v.files.IsDir(abs(name)):
		info.dir = true
	case !v.files.Exists(abs(name)):
		err = fs.ErrNotExist
	}
	if err != nil {
		return info, &fs.PathError{Op: op, Path: name, Err: err}
	}
	info.view, info.name = v, name
	return info, nil
}

// Lstat implements [fs.ReadLinkFS]. Links in the way to name are none of its business.
func (v view) Lstat(name string) (fs.FileInfo, error) {
	info, err := v.stat("lstat", name)
	if err != nil {
		return nil, err
	}
	target, err := v.target(name)
	info.link = target != ""
	return info, err
}

// ReadLink implements [fs.ReadLinkFS].
func (v view) ReadLink(name string) (string, error) {
	target, err := v.target(name)
	if err == nil && target == "" {
		err = &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return target, err
}

// target returns the target of a link relative to its directory, or "" if name is not a link.
// kustomize's file systems report only the final destination of a path.
func (v view) target(name string) (string, error) {
	if v.isAbove(name) {
		return "", nil
	}
	from, _, err := v.files.CleanedAbs(abs(path.Dir(name)))
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	dir, file, err := v.files.CleanedAbs(abs(name))
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	real := dir.Join(file)
	if real == from.Join(path.Base(name)) {
		return "", nil
	}
	rel, err := filepath.Rel(from.String(), real)
	return filepath.ToSlash(rel), err
}

// info describes a file or directory. It is a [fs.FileInfo] and a [fs.DirEntry].
type info struct {
	view      view
	name      string
	dir, link bool
}

func (i info) Name() string               { return path.Base(i.name) }
func (i info) IsDir() bool                { return i.Mode().IsDir() }
func (i info) Type() fs.FileMode          { return i.Mode().Type() }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) Sys() any                   { return nil }
func (i info) Info() (fs.FileInfo, error) { return i, nil }

// Size reads the file: there is no other way to learn it.
func (i info) Size() int64 {
	if i.dir || i.link {
		return 0
	}
	data, _ := i.view.files.ReadFile(abs(i.name))
	return int64(len(data))
}

func (i info) Mode() fs.FileMode {
	switch {
	case i.link:
		return fs.ModeSymlink | 0o777
	case i.dir:
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// openFile is an open file.
type openFile struct {
	*bytes.Reader
	info info
}

func (f *openFile) Stat() (fs.FileInfo, error) { return sized{f.info, f.Reader.Size()}, nil }
func (f *openFile) Close() error               { return nil }

// sized is the info of a file whose size is known.
type sized struct {
	info
	size int64
}

func (s sized) Size() int64 { return s.size }

// openDir is an open directory.
type openDir struct {
	view view
	info info
	list []fs.DirEntry
	read bool
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements [fs.ReadDirFile].
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		names, err := d.view.files.ReadDir(abs(d.info.name))
		if err != nil {
			return nil, &fs.PathError{Op: "readdir", Path: d.info.name, Err: err}
		}
		slices.Sort(names)
		for _, name := range names {
			if i, err := d.view.Lstat(path.Join(d.info.name, name)); err == nil {
				d.list = append(d.list, i.(info))
			}
		}
		d.read = true
	}
	if n > 0 && len(d.list) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.list) {
		n = len(d.list)
	}
	next := d.list[:n:n]
	d.list = d.list[n:]
	return next, nil
}
