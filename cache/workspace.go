package cache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A workspace is the directory for one run's unfinished files. The run holds a lock on a file
// next to it until it ends. A directory whose lock is free belongs to a killed run and can be
// removed.
type workspace struct {
	dir  string
	lock *os.File
}

// errFixed is returned for writes to a read-only cache.
var errFixed = errors.New("this cache is read-only")

// temp returns the directory for unfinished files of this run. The first call creates it and
// removes the directories of killed runs. If the cache directory is not writable, it switches to
// a temporary cache; see Cache.Unused.
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

// instead replaces the directory of the cache by a temporary one.
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

// TempDir creates a temporary directory in the same file system as the cache. The caller removes
// it; if the run is killed, a later run does.
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
			sweep(parent, false)
			return w, nil
		}
		if err != nil && (try == tries || !errors.Is(err, fs.ErrNotExist)) { // a concurrent Clean can remove the parent directory
			return nil, err
		}
	}
}

// room is the free space that a file system must have, in bytes. Otherwise nothing is written
// there.
const room = 256 << 10

// tryWorkspace returns nil for both results if another process removed its lock file.
func tryWorkspace(parent string) (*workspace, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.CreateTemp(parent, "*"+lockSuffix)
	if err != nil {
		return nil, err
	}
	// A concurrent sweep may have found the file before it was locked.
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

// Sweep removes the unfinished files of killed runs. A run that adds blobs or entries does so on
// its own.
func (c *Cache) Sweep() {
	if !c.fixed {
		sweep(filepath.Join(c.folder(), "tmp"), false)
	}
}

// sweep removes the workspaces of ended runs, unless dryRun is true, and returns the number of live
// ones.
func sweep(parent string, dryRun bool) (live int) {
	list, _ := os.ReadDir(parent)
	for _, e := range list {
		path := filepath.Join(parent, e.Name())
		if !strings.HasSuffix(path, lockSuffix) {
			// the lock file is created first and removed last
			if _, err := os.Lstat(path + lockSuffix); errors.Is(err, fs.ErrNotExist) && !dryRun {
				os.RemoveAll(path)
			}
		} else if !removeAbandoned(path, dryRun) {
			live++
		}
	}
	return live
}

// removeAbandoned removes the workspace of a lock file if its run has ended, holding the lock
// meanwhile. It returns false if the run may be live. With dryRun it removes nothing.
func removeAbandoned(lock string, dryRun bool) bool {
	if f, err := openPlain(lock, os.O_RDWR); err == nil {
		defer f.Close()
		if !isAbandoned(f) {
			return false
		}
	} else if info, err := os.Lstat(lock); err == nil && info.Mode().IsRegular() {
		return false // unknown: assume that the run is live
	}
	if !dryRun && os.RemoveAll(strings.TrimSuffix(lock, lockSuffix)) == nil {
		os.RemoveAll(lock)
	}
	return true
}

// stillThere reports whether f is still the file at its path.
func stillThere(f *os.File) bool {
	named, err := os.Lstat(f.Name())
	if err != nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && os.SameFile(named, info)
}
