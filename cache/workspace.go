package cache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A workspace is the folder for what one run has not finished. As long as the run lives it holds a lock on a file beside it; a
// folder whose lock is free was left by a run that was killed.
type workspace struct {
	dir  string
	lock *os.File
}

// errFixed says that a cache is only read.
var errFixed = errors.New("nothing is added to this cache")

// temp returns the folder for unfinished files of this run. The first call removes those of runs that were killed. It finds out whether
// the folder of the cache can be written to.
func (c *Cache) temp() (string, error) {
	if c.fixed {
		return "", errFixed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.work != nil {
		return c.work.dir, nil
	}
	w, err := newWorkspace(filepath.Join(c.folder(), "tmp"))
	if err != nil && c.Unused != nil {
		var other *Cache
		if other, err = c.instead(err); err == nil {
			w, err = newWorkspace(filepath.Join(other.folder(), "tmp"))
		}
	}
	if err != nil {
		return "", err
	}
	c.work = w
	return w.dir, nil
}

// instead makes a temporary folder the one of the cache.
func (c *Cache) instead(why error) (*Cache, error) {
	other, err := Temporary()
	if err != nil {
		return nil, errors.Join(why, err)
	}
	c.Unused(why)
	c.remove, c.Unused = other.remove, nil
	c.dir.Store(other.dir.Load())
	return other, nil
}

// TempDir makes a folder for unfinished work in the file system of the cache. The caller removes it; if the run is killed, a later
// one does.
func (c *Cache) TempDir() (string, error) {
	dir, err := c.temp()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(dir, "dir-")
}

const lockSuffix = ".lock"

func newWorkspace(parent string) (*workspace, error) {
	for try := 0; ; try++ {
		w, err := tryWorkspace(parent)
		if w != nil && err == nil {
			sweep(parent)
			return w, nil
		}
		if err != nil && (try == tries || !errors.Is(err, fs.ErrNotExist)) { // who cleans the cache removes the folder
			return nil, err
		}
	}
}

// room is what a file system must have left, or nothing new is put there.
const room = 256 << 10

// tryWorkspace returns neither a workspace nor an error if another process has removed its lock meanwhile.
func tryWorkspace(parent string) (*workspace, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.CreateTemp(parent, "*"+lockSuffix)
	if err != nil {
		return nil, err
	}
	// A sweeper may have found the file before it was locked.
	if !tryLock(lock) || !stillThere(lock) {
		return nil, lock.Close()
	}
	w := &workspace{dir: strings.TrimSuffix(lock.Name(), lockSuffix), lock: lock}
	_, err = lock.Write(make([]byte, room))
	if err = cmp.Or(err, lock.Truncate(0)); err == nil {
		err = os.Mkdir(w.dir, 0o700)
	}
	if err != nil {
		w.close()
	}
	return w, err
}

func (w *workspace) close() error {
	err := os.RemoveAll(w.dir)
	os.Remove(w.lock.Name())
	w.lock.Close()
	return err
}

// Sweep removes what runs have left that were killed, as each run does that adds blobs or entries.
func (c *Cache) Sweep() {
	if !c.fixed {
		sweep(filepath.Join(c.folder(), "tmp"))
	}
}

// sweep removes the workspaces whose runs have ended, and returns how many others there are.
func sweep(parent string) (live int) {
	list, _ := os.ReadDir(parent)
	for _, e := range list {
		path := filepath.Join(parent, e.Name())
		if !strings.HasSuffix(path, lockSuffix) {
			if _, err := os.Lstat(path + lockSuffix); errors.Is(err, fs.ErrNotExist) { // which is made first and removed last
				os.RemoveAll(path)
			}
		} else if !removeAbandoned(path) {
			live++
		}
	}
	return live
}

// removeAbandoned removes a workspace, by the path of its lock, and reports whether it could: it holds the lock meanwhile.
func removeAbandoned(lock string) bool {
	if f, err := openPlain(lock, os.O_RDWR); err == nil {
		defer f.Close()
		if !isAbandoned(f) {
			return false
		}
	} else if info, err := os.Lstat(lock); err == nil && info.Mode().IsRegular() {
		return false // nobody knows
	}
	if os.RemoveAll(strings.TrimSuffix(lock, lockSuffix)) == nil {
		os.RemoveAll(lock)
	}
	return true
}

// stillThere reports whether the file's name still stands for it.
func stillThere(f *os.File) bool {
	named, err := os.Lstat(f.Name())
	if err != nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && os.SameFile(named, info)
}
