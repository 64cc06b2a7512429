// Package cache is a content-addressed store on disk. Later runs read from it instead of fetching
// again.
//
// A cache is a directory that only its user can write to. It has four kinds of content: blobs,
// named by the SHA-256 digest of their bytes; entries, small named records that map a key to the
// digest of a blob ("this commit of that repository"); trees, read-only directories stored as two
// blobs each, see [Tree]; and kept values, stored under a key, for example results of earlier
// runs.
//
// Every read verifies the content against its digest, so a damaged, truncated or replaced file is
// treated as missing. Blobs and entries are written under a temporary name and renamed once they
// are complete. Any number of processes may therefore share a cache, and each may be killed at
// any time.
//
// The modification time of a file is the time of its last use, accurate to an hour. A cache over
// its size limit removes the least recently used files first; see [Cache.Bound].
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

// A Cache is a content-addressed store in one directory. It is safe for concurrent use.
type Cache struct {
	// Unused, if not nil, is called with the error if the cache directory cannot be written to.
	// The cache then uses a temporary directory for the rest of the run. If Unused is nil, the
	// write returns the error instead. A failed [Cache.Keep] is passed to Unused as well. Unused
	// must be set before the cache is used.
	Unused func(error)

	dir   atomic.Pointer[string] // the directory of this layout version
	fixed bool                   // read-only
	max   int64                  // size limit that Close trims to; 0 means unlimited
	added atomic.Int64           // bytes written, in whole blocks

	mu     sync.Mutex
	remove string          // directory that Close removes; empty to keep the content
	work   *workspace      // created on first use
	used   map[string]bool // files below dir used since Track; nil if not tracking
}

// folder returns the directory that holds the content.
func (c *Cache) folder() string { return *c.dir.Load() }

// in returns a Cache for the content in dir, without touching the file system.
func in(dir string) *Cache {
	dir = filepath.Join(dir, layout)
	c := &Cache{}
	c.dir.Store(&dir)
	return c
}

// layout is the name of the subdirectory for this version of the on-disk layout. A version with a
// different layout uses a different subdirectory.
const layout = "v1"

// Dir returns the default cache directory: krmflow in the user's cache directory.
func Dir() (string, error) {
	user, err := os.UserCacheDir()
	if err == nil && !filepath.IsAbs(user) {
		err = fmt.Errorf("the cache folder %q must be an absolute path", user)
	}
	return filepath.Join(user, "krmflow"), err
}

// Open returns the cache in dir and creates the directory if it does not exist. It refuses a
// symbolic link, and a directory that belongs to another user or that other users can write to.
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
		_ = writeNew(filepath.Join(dir, tagFile), []byte(tag)) // an aid for other programs; the cache works without it
	}
	return c, nil
}

// tagFile tells backup programs to skip the directory; see https://bford.info/cachedir/.
const tagFile, tag = "CACHEDIR.TAG",
	"Signature: 8a477f597d28d172789f06886806bc55\n# This is the cache of krmflow: it can be removed at any time.\n"

// Temporary returns a cache in a new temporary directory, for a run that cannot or must not use a
// persistent one. [Cache.Close] removes it.
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

// Close removes the unfinished files of this run and trims the cache to its limit; see
// [Cache.Bound]. The rest of the content remains, except in a temporary cache, which Close
// deletes.
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

// Path returns the directory of the cache.
func (c *Cache) Path() string { return filepath.Dir(c.folder()) }

// private creates dir, or checks that it is a directory that no other user can change.
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
		return made, fmt.Errorf("the cache folder %q is not a directory", dir)
	}
	return made, owned(dir, info)
}

// blob returns the path of the blob with digest d.
func (c *Cache) blob(d krm.Digest) string {
	name := hex.EncodeToString(d[:])
	return filepath.Join(c.folder(), "blobs", name[:2], name[2:])
}

// Get returns the bytes of the blob with digest d. Every error wraps fs.ErrNotExist, also if the
// blob cannot be read or is damaged. Get leaves a damaged blob in place until the next Put
// replaces it.
func (c *Cache) Get(d krm.Digest) ([]byte, error) {
	path := c.blob(d)
	data, err := c.read(path)
	if err != nil || krm.DigestOf(data) != d {
		return nil, &fs.PathError{Op: "cache", Path: d.String(), Err: fs.ErrNotExist}
	}
	c.use(path)
	return data, nil
}

// Put stores data as a blob and returns its digest.
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

// A Writer writes one blob. It is not safe for concurrent use.
type Writer struct {
	c    *Cache
	file *os.File
	hash hash.Hash
	size int64
}

// Create starts a new blob. The blob becomes visible with [Writer.Commit]. The caller must call
// [Writer.Discard] in any case.
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

// Write appends p to the blob.
func (w *Writer) Write(p []byte) (n int, err error) {
	n, err = w.file.Write(p)
	w.hash.Write(p[:n])
	w.size += int64(n)
	return n, err
}

// Name returns the path of the temporary file, valid until Commit. Bytes written through this
// path do not become part of the digest.
func (w *Writer) Name() string { return w.file.Name() }

// Size returns the number of bytes written so far.
func (w *Writer) Size() int64 { return w.size }

// Digest returns the digest of the bytes written so far.
func (w *Writer) Digest() krm.Digest { return krm.Digest(w.hash.Sum(nil)) }

// Reader returns a reader for the bytes written so far. It is valid until Commit or Discard.
func (w *Writer) Reader() io.ReaderAt { return w.file }

// Commit moves the blob into the cache and returns its digest.
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

// without reports err to Unused and returns it. It is for content that the run can do without.
func (c *Cache) without(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Unused != nil {
		c.Unused(err)
	}
	return err
}

// Discard removes the blob if it was not committed. After Commit it does nothing.
func (w *Writer) Discard() {
	w.file.Close()
	os.Remove(w.file.Name())
}

// moveTo renames a file and creates the target directory if necessary, even if another process
// removes it at the same time. Anything else at the target path does not belong to the cache and
// is removed.
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

// tries is the number of attempts for an operation that can collide with other processes.
const tries = 5

// Lookup returns the digest recorded for key under kind. A damaged entry is treated as missing.
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

// Record stores d for key under kind. It replaces an earlier entry.
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

// entry returns the path of an entry. The name is a hash of the key, because keys can be private
// addresses.
func (c *Cache) entry(kind, key string) string {
	d := krm.DigestOf([]byte(key))
	return filepath.Join(c.folder(), "entries", kind, hex.EncodeToString(d[:]))
}

// seal returns a checksum of an entry's digest and location. It detects truncated entries and
// entries moved from another name or kind.
func seal(kind, name string, d krm.Digest) string {
	sum := krm.DigestOf([]byte(kind + "\x00" + name + "\x00" + d.String()))
	return hex.EncodeToString(sum[:])
}
