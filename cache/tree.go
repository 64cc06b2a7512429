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

// A Tree is a read-only directory with everything below it: the files of a commit, or of an archive. Its digest is that of its
// index, which has the digest of each file. A file is read, and verified, when somebody asks for it.
//
// Names are those of [fs.FS]: relative, with slashes, without "..". A symbolic link is followed as long as it stays in the tree;
// one that leaves it is an [EscapeError]. A Tree is safe for concurrent use.
type Tree struct {
	// Digest names the tree in its cache. The same files, stored in another order, have another one.
	Digest krm.Digest
	// Restore is called when the stored files turn out to be damaged; if it returns nil they are read once more. It must be set
	// before the tree is used, and may be nil.
	Restore func() error

	c       *Cache
	entries []entry // sorted by compareNames
	data    krm.Digest
	links   bool // there are symbolic links

	restoring sync.Mutex

	mu   sync.Mutex
	file *os.File // the blob with all files
}

type entry struct {
	name         string
	kind         kindOf
	size, offset int64
	digest       krm.Digest
}

// kindOf tells what an entry is. Directories have no entry of their own.
type kindOf byte

const (
	regular kindOf = 'f'
	program kindOf = 'x'
	link    kindOf = 'l'
	absent  kindOf = 's'
)

// Tree opens the tree with a digest. The error is one of fs.ErrNotExist if the cache does not have it.
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

// holds reports whether there is a blob that is long enough for all entries. Whoever wrote an index, it makes nobody read what is not there.
func (c *Cache) holds(data krm.Digest, entries []entry) bool {
	info, err := os.Lstat(c.blob(data))
	if err == nil {
		c.touch(c.blob(data), info)
	}
	return err == nil && info.Mode().IsRegular() && !slices.ContainsFunc(entries, func(e entry) bool {
		return e.size < 0 || e.offset < 0 || e.offset > info.Size()-e.size
	})
}

// Close releases the file that the tree is read from. The tree may be read again afterwards.
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

// An EscapeError says that a symbolic link leads out of its tree.
type EscapeError struct {
	Link, Target string
}

func (e *EscapeError) Error() string {
	return fmt.Sprintf("%q is a symbolic link to %q, which is outside of what was fetched", e.Link, e.Target)
}

// Kind says which kind of message it is: see [diag.CodeOf].
func (e *EscapeError) Kind() diag.Code { return diag.OutsideDirectory }

// ErrAbsent is wrapped by errors about something that the tree names and does not hold.
var ErrAbsent = errors.New("it is a git submodule, and krmflow does not fetch these")

// ErrDamaged is wrapped by errors about a file in the cache that has other bytes than it had when it was stored.
var ErrDamaged = errors.New("the copy in the cache is damaged")

// compareNames orders names so that everything in a folder is together.
func compareNames(a, b string) int {
	return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

// compareTo is compareNames without the copies.
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

// at returns the index of the entry with a name, or of the first one below the folder of that name.
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

// maxLinks is how many symbolic links may stand in the way of one name.
const maxLinks = 40

// Real returns the name without symbolic links of an existing file or directory.
func (t *Tree) Real(name string) (string, error) {
	real, _, _, err := t.find("open", name)
	return real, err
}

// find follows name. dir says that it is a directory, whose first entry is i.
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

// follow is find in a tree that has symbolic links: part by part, real is how far it has come and rest what is ahead.
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

// leaves reports whether a link in dir leads out of the tree, as far as its text tells.
func leaves(dir, target string) bool {
	joined := path.Join(dir, target)
	return joined == ".." || strings.HasPrefix(joined, "../")
}

// missing returns the error for a name that is not there: it may be in something that the tree does not hold.
func (t *Tree) missing(name string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if i, isDir, ok := t.at(dir); ok && !isDir && t.entries[i].kind == absent {
			return ErrAbsent
		}
	}
	return fs.ErrNotExist
}

// ReadFile returns the bytes of a file.
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

// read returns the verified bytes of an entry.
func (t *Tree) read(e *entry) ([]byte, error) {
	if e.kind == absent {
		return nil, ErrAbsent
	}
	if data, err := t.readOnce(e); err == nil {
		return data, nil
	}
	// One at a time: who comes later finds what the first has restored.
	t.restoring.Lock()
	defer t.restoring.Unlock()
	t.Close()
	data, err := t.readOnce(e)
	if err == nil {
		return data, nil
	}
	t.c.discard(t.c.blob(t.data)) // nobody else must find what is wrong
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

// Stat describes a file or directory.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	_, i, dir, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return t.info(path.Base(name), i, dir), nil
}

// ReadDir returns what is in a directory, sorted by name. Links are shown as such.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	real, i, dir, err := t.find("readdir", name)
	if err == nil && !dir {
		err = &fs.PathError{Op: "readdir", Path: name, Err: errors.New("it is no directory")}
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

// Open makes a Tree an [fs.FS].
func (t *Tree) Open(name string) (fs.File, error) { return t.open(name) }
