package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// A Tree is a read-only directory tree: the files of a commit or of an archive. Its digest is the
// digest of its index, which lists the digest of each file. A file is read and verified on
// demand, so opening a large tree is cheap.
//
// Names follow [fs.FS]: relative, slash-separated, without "..". Symbolic links are followed
// within the tree; a link that leads out of it is an [EscapeError]. A Tree is safe for concurrent
// use.
type Tree struct {
	// Digest identifies the tree in its cache. It depends on the order in which the files were
	// added.
	Digest krm.Digest
	// Restore, if not nil, is called when the stored files are damaged. If it returns nil, the
	// file is read again. It must be set before the tree is used.
	Restore func() error

	c       *Cache
	entries []entry // sorted by compareNames
	data    krm.Digest
	links   bool // the tree has symbolic links

	restoring sync.Mutex

	mu   sync.Mutex
	file *os.File // the blob with the content of all files
}

type entry struct {
	name         string
	kind         kindOf
	size, offset int64
	digest       krm.Digest
}

// kindOf is the type of an entry. Directories have no entries of their own.
type kindOf byte

const (
	regular kindOf = 'f'
	program kindOf = 'x'
	link    kindOf = 'l'
	absent  kindOf = 's'
)

// Tree opens the tree with digest d. The error wraps fs.ErrNotExist if the cache does not have
// it.
func (c *Cache) Tree(d krm.Digest) (*Tree, error) {
	text, err := c.Get(d)
	if err != nil {
		return nil, err
	}
	data, entries, ok := parseIndex(string(text))
	if !ok || !c.holds(data, entries) {
		return nil, &fs.PathError{Op: "tree", Path: d.String(), Err: fs.ErrNotExist}
	}
	c.use(c.blob(data))
	t := &Tree{Digest: d, c: c, entries: entries, data: data}
	t.links = slices.ContainsFunc(entries, func(e entry) bool { return e.kind == link })
	return t, nil
}

// holds reports whether the blob is long enough for all entries. The check makes a forged index
// harmless: it cannot refer to bytes outside the blob.
func (c *Cache) holds(data krm.Digest, entries []entry) bool {
	info, err := os.Lstat(c.blob(data))
	if err == nil {
		c.touch(c.blob(data), info)
	}
	return err == nil && info.Mode().IsRegular() && !slices.ContainsFunc(entries, func(e entry) bool {
		return e.size < 0 || e.offset < 0 || e.offset > info.Size()-e.size
	})
}

// Close closes the underlying file. The tree remains usable; the next read reopens the file.
func (t *Tree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}

// An EscapeError reports a symbolic link that leads out of its tree.
type EscapeError struct {
	Link, Target string
}

func (e *EscapeError) Error() string {
	return fmt.Sprintf("%q is a symbolic link to %q, which is outside the fetched content", e.Link, e.Target)
}

// Kind returns the error's code; see [diag.CodeOf].
func (e *EscapeError) Kind() diag.Code { return diag.OutsideDirectory }

// ErrAbsent is wrapped by errors for a submodule, which is named in the tree but not stored in
// it.
var ErrAbsent = errors.New("it is a git submodule, and krmflow does not fetch submodules")

// ErrDamaged is wrapped by errors for a file whose bytes in the cache do not match its digest.
var ErrDamaged = errors.New("the copy in the cache is damaged")

// compareNames orders names so that the content of a directory is contiguous.
func compareNames(a, b string) int {
	return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

// compareTo is compareNames without allocations.
func (e entry) compareTo(name string) int {
	for i := range min(len(e.name), len(name)) {
		a, b := e.name[i], name[i]
		if a == b {
			continue
		}
		if a == '/' {
			return -1
		}
		if b == '/' {
			return 1
		}
		return int(a) - int(b)
	}
	return len(e.name) - len(name)
}

// at returns the index of the entry called name, or of the first entry below the directory called
// name.
func (t *Tree) at(name string) (i int, dir, ok bool) {
	if name == "." {
		return 0, true, true
	}
	i, ok = slices.BinarySearchFunc(t.entries, name, entry.compareTo)
	if ok {
		return i, false, true
	}
	dir = i < len(t.entries) && strings.HasPrefix(t.entries[i].name, name+"/")
	return i, dir, dir
}

// maxLinks is the number of symbolic links that may be followed for one name.
const maxLinks = 40

// Real resolves the symbolic links in name, which must exist.
func (t *Tree) Real(name string) (string, error) {
	real, _, _, err := t.find("open", name)
	return real, err
}

// find resolves name. If dir is true, the result is a directory whose first entry is i.
func (t *Tree) find(op, name string) (real string, i int, dir bool, err error) {
	switch {
	case !fs.ValidPath(name):
		err = fs.ErrInvalid
	case t.links:
		real, i, dir, err = t.follow(name)
	default:
		var ok bool
		real = name
		if i, dir, ok = t.at(name); !ok {
			err = t.missing(name)
		}
	}
	if err != nil {
		return "", 0, false, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return real, i, dir, nil
}

// follow is find for a tree with symbolic links. It resolves one path element at a time: real is
// the part already resolved, rest the part still to do.
func (t *Tree) follow(name string) (real string, i int, dir bool, err error) {
	real, dir = ".", true
	links := 0
	for rest := name; rest != "" && rest != "."; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		next := path.Join(real, part)
		found, isDir, ok := t.at(next)
		switch {
		case part == ".." && real == ".":
			return "", 0, false, &EscapeError{Link: name, Target: ".."}
		case !ok, !isDir && t.entries[found].kind != link && rest != "":
			return "", 0, false, t.missing(next + "/" + rest)
		case isDir || t.entries[found].kind != link:
			real, i, dir = next, found, isDir
			continue
		}
		target, err := t.read(&t.entries[found])
		if links++; err == nil && links > maxLinks {
			err = errors.New("too many symbolic links")
		}
		if err == nil && (path.IsAbs(string(target)) || leaves(real, string(target))) {
			err = &EscapeError{Link: next, Target: string(target)}
		}
		if err != nil {
			return "", 0, false, err
		}
		rest = strings.TrimSuffix(string(target)+"/"+rest, "/")
	}
	return real, i, dir, nil
}

// leaves reports whether the text of a link in dir leads out of the tree. Links on the way are
// not considered here; follow resolves them one by one.
func leaves(dir, target string) bool {
	joined := path.Join(dir, target)
	return joined == ".." || strings.HasPrefix(joined, "../")
}

// missing returns ErrAbsent for a name inside a submodule, and fs.ErrNotExist for any other name.
func (t *Tree) missing(name string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if i, isDir, ok := t.at(dir); ok && !isDir && t.entries[i].kind == absent {
			return ErrAbsent
		}
	}
	return fs.ErrNotExist
}

// ReadFile returns the content of a file.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	_, i, dir, err := t.find("read", name)
	if err != nil {
		return nil, err
	}
	if dir {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsDir}
	}
	data, err := t.read(&t.entries[i])
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return data, nil
}

var errIsDir = errors.New("it is a directory")

// read returns the verified content of an entry. If the cached file is damaged, it removes and
// restores it.
func (t *Tree) read(e *entry) ([]byte, error) {
	if e.kind == absent {
		return nil, ErrAbsent
	}
	if data, err := t.readOnce(e); err == nil {
		return data, nil
	}
	// One goroutine restores the file; the others wait and then find it restored.
	t.restoring.Lock()
	defer t.restoring.Unlock()
	t.Close()
	data, err := t.readOnce(e)
	if err == nil {
		return data, nil
	}
	t.c.discard(t.c.blob(t.data)) // other readers must not find the damaged blob
	if t.Restore == nil || t.c.fixed {
		return nil, err
	}
	if err := t.Restore(); err != nil {
		return nil, err
	}
	t.Close()
	return t.readOnce(e)
}

func (t *Tree) readOnce(e *entry) ([]byte, error) {
	f, err := t.opened()
	if err != nil {
		return nil, ErrDamaged
	}
	data := make([]byte, e.size)
	if _, err := f.ReadAt(data, e.offset); err != nil || krm.DigestOf(data) != e.digest {
		return nil, ErrDamaged
	}
	return data, nil
}

func (t *Tree) opened() (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		f, _, err := openRegular(t.c.blob(t.data))
		if err != nil {
			return nil, err
		}
		t.file = f
	}
	return t.file, nil
}

// Stat returns information about a file or directory. It follows symbolic links.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	_, i, dir, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return t.info(path.Base(name), i, dir), nil
}

// ReadDir returns the entries of a directory, sorted by name. Symbolic links are not resolved.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	real, i, dir, err := t.find("readdir", name)
	if err == nil && !dir {
		err = &fs.PathError{Op: "readdir", Path: name, Err: errors.New("it is not a directory")}
	}
	if err != nil {
		return nil, err
	}
	prefix := real + "/"
	if real == "." {
		prefix = ""
	}
	var list []fs.DirEntry
	for i < len(t.entries) && strings.HasPrefix(t.entries[i].name, prefix) {
		base, _, isDir := strings.Cut(t.entries[i].name[len(prefix):], "/")
		list = append(list, t.info(base, i, isDir))
		for i++; isDir && i < len(t.entries) && strings.HasPrefix(t.entries[i].name, prefix+base+"/"); i++ {
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Open implements [fs.FS].
func (t *Tree) Open(name string) (fs.File, error) { return t.open(name) }
