// Package cache keeps content by its digest, so that what was fetched once is there for later runs.
//
// A cache is a folder that only its user can read. It holds four things: blobs, named by the SHA-256 digest of their bytes;
// entries, small named records that say which blob stands for what ("this commit of that repository"); trees, read-only
// directories that are two blobs each, see [Tree]; and what is kept for a key, results of earlier runs for instance.
//
// What is read is hashed: a file that is damaged, cut or exchanged is as good as absent. Blobs and entries are written under another
// name, and have their final one only when they are whole. So any number of processes may use one cache at the same time, and
// each of them may be killed at any moment.
//
// The time of a file is that of its last use, give or take an hour. What was not used for longest goes first when a cache is larger than it
// may be: see [Cache.Bound].
package cache

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/krmflow/krmflow/krm"
)

// A Cache is one folder with content. It is safe for concurrent use.
type Cache struct {
	// Unused is told why something cannot be written to the folder. It may be nil. If it is not, a temporary folder takes the place for the rest of
	// the run where something must be written; else that is an error. It must be set before the cache is used.
	Unused func(error)

	dir   atomic.Pointer[string] // of this layout's version
	fixed bool                   // nothing is added or removed
	max   int64                  // what Close trims to; 0 for no bound
	added atomic.Int64           // bytes that were written

	mu     sync.Mutex
	remove string          // what Close removes; empty if the content is to stay
	work   *workspace      // made when it is needed first
	used   map[string]bool // files below dir that were read or written since Track; nil if nobody wants to know
}

// folder returns the folder that has what is in the cache.
func (c *Cache) folder() string { return *c.dir.Load() }

// in returns the cache whose content is in dir.
func in(dir string) *Cache {
	dir = filepath.Join(dir, layout)
	c := &Cache{}
	c.dir.Store(&dir)
	return c
}

// layout is the folder for what this version of the layout holds. Another version takes another one.
const layout = "v1"

// Dir returns the default folder of a cache: the folder krmflow in the user's cache folder.
func Dir() (string, error) {
	user, err := os.UserCacheDir()
	if err == nil && !filepath.IsAbs(user) {
		err = fmt.Errorf("the cache folder %q must be an absolute path", user)
	}
	return filepath.Join(user, "krmflow"), err
}

// Open returns the cache in dir and makes the folder if there is none. It refuses a folder that is a symbolic link, belongs to
// another user or can be written to by others. Nothing is removed from a cache that somebody else uses.
func Open(dir string) (*Cache, error) {
	c := in(dir)
	made, err := private(dir)
	if err == nil {
		_, err = private(c.folder())
	}
	if err != nil {
		return nil, err
	}
	if made {
		_ = writeNew(filepath.Join(dir, tagFile), []byte(tag)) // it is for other programs
	}
	return c, nil
}

// tagFile tells programs that make copies of home folders what need not be in them: see https://bford.info/cachedir/.
const tagFile, tag = "CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# This is the cache of krmflow: it can be removed at any time.\n"

// Temporary returns a cache of its own, for a run that can or shall use no other. Close removes it.
func Temporary() (*Cache, error) {
	dir, err := os.MkdirTemp("", "krmflow-cache-")
	if err != nil {
		return nil, err
	}
	c, err := Open(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c.remove = dir
	return c, nil
}

// Close removes what the run has left unfinished, and what is too much: see [Cache.Bound]. The content stays else, except that of a
// temporary cache.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.work != nil {
		err = c.work.close()
		c.work = nil
	}
	if c.remove != "" {
		return cmp.Or(err, os.RemoveAll(c.remove))
	}
	if added := c.added.Swap(0); added > 0 && c.max > 0 {
		c.bound(added)
	}
	return err
}

// Path returns the folder of the cache.
func (c *Cache) Path() string { return filepath.Dir(c.folder()) }

// private makes dir, or checks that it is a folder which no other user can change.
func private(dir string) (made bool, err error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			made = true
			info, err = os.Lstat(dir)
		}
	}
	switch {
	case err != nil:
		return made, err
	case !info.IsDir():
		return made, fmt.Errorf("the cache folder %q is no directory", dir)
	}
	return made, owned(dir, info)
}

// blob returns the path of a blob.
func (c *Cache) blob(d krm.Digest) string {
	name := hex.EncodeToString(d[:])
	return filepath.Join(c.folder(), "blobs", name[:2], name[2:])
}

// Get returns the bytes of a blob. The error is one of fs.ErrNotExist if there is none, or none with these bytes: a damaged one stays until somebody
// stores it again, for it may be one that another run is writing.
func (c *Cache) Get(d krm.Digest) ([]byte, error) {
	path := c.blob(d)
	data, err := c.read(path)
	if err != nil || krm.DigestOf(data) != d {
		return nil, &fs.PathError{Op: "cache", Path: d.String(), Err: fs.ErrNotExist}
	}
	c.use(path)
	return data, nil
}

// Put stores data and returns its digest.
func (c *Cache) Put(data []byte) (krm.Digest, error) {
	w, err := c.Create()
	if err != nil {
		return krm.Digest{}, err
	}
	defer w.Discard()
	if _, err := w.Write(data); err != nil {
		return krm.Digest{}, err
	}
	return w.Commit()
}

// A Writer takes the bytes of one blob.
type Writer struct {
	c    *Cache
	file *os.File
	hash hash.Hash
	size int64
}

// Create starts a blob. It is part of the cache after [Writer.Commit]; Discard must be called in any case.
func (c *Cache) Create() (*Writer, error) {
	dir, err := c.temp()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "blob-")
	if err != nil {
		return nil, err
	}
	return &Writer{c: c, file: file, hash: sha256.New()}, nil
}

// Write adds bytes.
func (w *Writer) Write(p []byte) (n int, err error) {
	n, err = w.file.Write(p)
	w.hash.Write(p[:n])
	w.size += int64(n)
	return n, err
}

// Name returns the path of the file before Commit. Commit does not see bytes that were written by
// this path.
func (w *Writer) Name() string { return w.file.Name() }

// Size returns how many bytes were written.
func (w *Writer) Size() int64 { return w.size }

// Digest returns the digest of what was written.
func (w *Writer) Digest() krm.Digest { return krm.Digest(w.hash.Sum(nil)) }

// Reader returns what was written, from its start. It ends with the Writer.
func (w *Writer) Reader() io.ReaderAt { return w.file }

// Commit gives the blob its name.
func (w *Writer) Commit() (krm.Digest, error) {
	d := w.Digest()
	path := w.c.blob(d)
	if err := w.file.Close(); err != nil {
		return d, err
	}
	w.c.use(path)
	w.c.added.Add(onDisk(w.size))
	return d, moveTo(w.file.Name(), path)
}

// without tells why something that the run can do without is not kept, and returns that error.
func (c *Cache) without(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Unused != nil {
		c.Unused(err)
	}
	return err
}

// Discard removes what was not committed.
func (w *Writer) Discard() {
	w.file.Close()
	os.Remove(w.file.Name())
}

// moveTo renames a file. The folder is made, also one that another process has just removed. What else stands in its way is none of the
// cache's and goes.
func moveTo(from, to string) error {
	err := os.Rename(from, to)
	for try := 0; err != nil && try < tries; try++ {
		if errors.Is(err, fs.ErrNotExist) {
			err = os.MkdirAll(filepath.Dir(to), 0o700)
		} else {
			err = os.RemoveAll(to)
		}
		if err == nil {
			err = os.Rename(from, to)
		}
	}
	return err
}

// tries is how often something is tried that other processes can be in the way of.
const tries = 5

// Lookup returns the digest that was recorded for a key among those of one kind. Something that is damaged was not recorded.
func (c *Cache) Lookup(kind, key string) (krm.Digest, bool) {
	path := c.entry(kind, key)
	text, err := c.read(path)
	if err != nil {
		return krm.Digest{}, false
	}
	d, ok := parseEntry(kind, filepath.Base(path), text)
	if !ok {
		return krm.Digest{}, false
	}
	c.use(path)
	return d, true
}

// Record stores the digest for a key. What is recorded later counts.
func (c *Cache) Record(kind, key string, d krm.Digest) error {
	dir, err := c.temp()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "entry-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	path := c.entry(kind, key)
	_, err = fmt.Fprintf(f, "%s %s\n", d, seal(kind, filepath.Base(path), d))
	if err = cmp.Or(err, f.Close()); err != nil {
		return err
	}
	c.use(path)
	c.added.Add(onDisk(1))
	return moveTo(f.Name(), path)
}

// entry returns the path of an entry. It holds no word of the key, which may be an address that nobody else should see.
func (c *Cache) entry(kind, key string) string {
	d := krm.DigestOf([]byte(key))
	return filepath.Join(c.folder(), "entries", kind, hex.EncodeToString(d[:]))
}

// seal tells an entry that is whole and in its place, which has a name among those of its kind, from another one.
func seal(kind, name string, d krm.Digest) string {
	sum := krm.DigestOf([]byte(kind + "\x00" + name + "\x00" + d.String()))
	return hex.EncodeToString(sum[:])
}
