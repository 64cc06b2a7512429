package revision

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/krmflow/krmflow/cache"
)

// node is a file or directory.
type node struct {
	name     string
	mode     fs.FileMode
	id       string  // object id; for a submodule the id of its commit
	children []*node // entries of a directory, sorted
}

// add adds a line of the output of git ls-tree to the directories. It skips names that are
// invalid as paths, which git itself never creates.
func add(dirs map[string]*node, head, name string) {
	fields := strings.Fields(head)
	if len(fields) != 3 || !fs.ValidPath(name) || name == "." {
		return
	}
	n := &node{name: path.Base(name), mode: 0o644, id: fields[2]}
	switch fields[0] {
	case "100755":
		n.mode = 0o755
	case "120000":
		n.mode = fs.ModeSymlink | 0o777
	case "160000":
		n.mode = fs.ModeIrregular
	}
	d := directory(dirs, path.Dir(name))
	d.children = append(d.children, n)
}

// directory returns the directory called name and creates it and its parents if necessary.
func directory(dirs map[string]*node, name string) *node {
	if d := dirs[name]; d != nil {
		return d
	}
	d := &node{name: path.Base(name), mode: fs.ModeDir | 0o755}
	dirs[name] = d
	up := directory(dirs, path.Dir(name))
	up.children = append(up.children, d)
	return d
}

// child returns the entry called name, or nil.
func (n *node) child(name string) *node {
	i, ok := slices.BinarySearchFunc(n.children, name, func(c *node, name string) int { return strings.Compare(c.name, name) })
	if !ok {
		return nil
	}
	return n.children[i]
}

// errSubmodule is the error for a path in a submodule.
var errSubmodule error = submodule{}

type submodule struct{}

func (submodule) Error() string {
	return "it is a git submodule, whose files are in a separate repository"
}

// Hints returns a way to compare with the files of the submodule.
func (submodule) Hints() []string {
	return []string{"to compare with it, check out the revision and its submodules in a different directory, and name that directory instead of the revision"}
}

// Is makes the error a [cache.ErrAbsent], so that a reference into a submodule is not mistaken
// for a file because it is not a directory.
func (submodule) Is(target error) bool { return target == cache.ErrAbsent }

// errLeaves reports a symbolic link that leads out of the tree.
var errLeaves = errors.New("it is a symbolic link that leads out of the repository")

// lookup returns the node called name. Symbolic links before the last element are always
// followed; follow determines whether a link at the end is followed.
func (t *Tree) lookup(op, name string, follow bool) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	way, err := t.walk(name, follow)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return way[len(way)-1], nil
}

// walk resolves name and returns the nodes on the resolved path, starting with the root of the
// tree.
func (t *Tree) walk(name string, follow bool) ([]*node, error) {
	const maxLinks = 40
	at := []*node{t.root} // the current node and its parents
	links := 0
	for rest := name; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch part {
		case "", ".":
			continue
		case "..":
			if len(at) == 1 {
				return nil, errLeaves
			}
			at = at[:len(at)-1]
			continue
		}
		next := at[len(at)-1].child(part)
		switch {
		case next == nil:
			return nil, fs.ErrNotExist
		case next.mode&fs.ModeIrregular != 0:
			return nil, errSubmodule
		case next.mode&fs.ModeSymlink != 0 && (follow || rest != ""):
			target, err := t.target(next)
			if err != nil {
				return nil, err
			}
			if links++; links > maxLinks {
				return nil, errors.New("too many links")
			}
			rest = target + "/" + rest
			continue
		}
		at = append(at, next)
	}
	return at, nil
}

// Real resolves the symbolic links in name and reports whether the result is a directory. It does
// not read the content of files.
func (t *Tree) Real(name string) (real string, dir bool, err error) {
	if !fs.ValidPath(name) {
		return "", false, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	way, err := t.walk(name, true)
	if err != nil {
		return "", false, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	parts := make([]string, len(way)-1)
	for i, n := range way[1:] {
		parts[i] = n.name
	}
	return path.Join(append(parts, ".")...), way[len(way)-1].mode.IsDir(), nil
}

// maxTarget is the size limit for the target of a symbolic link, in bytes.
const maxTarget = 4096

// target returns the target of a symbolic link. An absolute target is an error.
func (t *Tree) target(n *node) (string, error) {
	size, err := t.size(n.id)
	if err != nil {
		return "", err
	}
	if size > maxTarget {
		return "", errors.New("it is a symbolic link with a target that is too long")
	}
	data, err := t.content(n.id)
	if err == nil && path.IsAbs(string(data)) {
		err = errLeaves
	}
	return string(data), err
}

// Open implements [fs.FS].
func (t *Tree) Open(name string) (fs.File, error) {
	info, err := t.stat("open", name, true)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return &dir{info: info, tree: t}, nil
	}
	data, err := t.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &file{Reader: bytes.NewReader(data), info: info}, nil
}

// ReadFile returns the content of a file. The caller owns the slice.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	n, err := t.lookup("read", name, true)
	if err != nil {
		return nil, err
	}
	if n.mode.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it is a directory")}
	}
	t.copied(name, n)
	data, err := t.content(n.id)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return data, nil
}

// Stat returns information about a file or directory. It follows symbolic links.
func (t *Tree) Stat(name string) (fs.FileInfo, error) { return t.stat("stat", name, true) }

// Lstat is [Tree.Stat], but does not follow a symbolic link at the end of name.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) { return t.stat("lstat", name, false) }

func (t *Tree) stat(op, name string, follow bool) (fs.FileInfo, error) {
	n, err := t.lookup(op, name, follow)
	if err != nil {
		return nil, err
	}
	t.copied(name, n)
	return t.info(op, name, n)
}

// info returns information about a node that was found as name.
func (t *Tree) info(op, name string, n *node) (*info, error) {
	i := &info{node: n, name: path.Base(name)}
	if n.mode.IsDir() {
		return i, nil
	}
	var err error
	if i.size, err = t.size(n.id); err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return i, nil
}

// ReadLink returns the target of a symbolic link.
func (t *Tree) ReadLink(name string) (string, error) {
	n, err := t.lookup("readlink", name, false)
	if err != nil {
		return "", err
	}
	if n.mode&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	data, err := t.content(n.id)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return string(data), nil
}

// ReadDir returns the entries of a directory, sorted by name.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.lookup("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("it is not a directory")}
	}
	return t.entries(n), nil
}

func (t *Tree) entries(n *node) []fs.DirEntry {
	list := make([]fs.DirEntry, len(n.children))
	for i, c := range n.children {
		list[i] = entry{t, c}
	}
	return list
}

// info describes a node. The size of a symbolic link is the length of its target.
type info struct {
	*node
	name string
	size int64
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.size }
func (i *info) Mode() fs.FileMode  { return i.mode }
func (i *info) ModTime() time.Time { return time.Time{} }
func (i *info) IsDir() bool        { return i.mode.IsDir() }
func (i *info) Sys() any           { return nil }

// entry is a directory entry.
type entry struct {
	tree *Tree
	node *node
}

func (e entry) Name() string      { return e.node.name }
func (e entry) IsDir() bool       { return e.node.mode.IsDir() }
func (e entry) Type() fs.FileMode { return e.node.mode.Type() }
func (e entry) Info() (fs.FileInfo, error) {
	if e.node.mode&fs.ModeIrregular != 0 {
		return &info{node: e.node, name: e.node.name}, nil
	}
	return e.tree.info("stat", e.node.name, e.node)
}

// file is an open file.
type file struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

// dir is an open directory.
type dir struct {
	info fs.FileInfo
	tree *Tree
	read int // number of entries already returned
}

func (d *dir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *dir) Close() error               { return nil }
func (d *dir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: errors.New("it is a directory")}
}

// ReadDir implements [fs.ReadDirFile].
func (d *dir) ReadDir(n int) ([]fs.DirEntry, error) {
	all := d.tree.entries(d.info.(*info).node)[d.read:]
	if n > 0 && len(all) == 0 {
		return nil, io.EOF
	}
	if n > 0 {
		all = all[:min(n, len(all))]
	}
	d.read += len(all)
	return all, nil
}
