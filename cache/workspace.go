package cache

import (
	"fmt"
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

// temp returns the folder for unfinished files of this run. The first call removes those of runs that were killed.
func (c *Cache) temp() (string, error) {
	if c.fixed {
		return "", fmt.Errorf("nothing is added to %q", c.Path())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.work == nil {
		parent := filepath.Join(c.dir, "tmp")
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return "", err
		}
		sweep(parent)
		w, err := newWorkspace(parent)
		if err != nil {
			return "", err
		}
		c.work = w
	}
	return c.work.dir, nil
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
	for {
		lock, err := os.CreateTemp(parent, "*"+lockSuffix)
		if err != nil {
			return nil, err
		}
		// A sweeper may have found the file before it was locked.
		if tryLock(lock) && stillThere(lock) {
			w := &workspace{dir: strings.TrimSuffix(lock.Name(), lockSuffix), lock: lock}
			return w, os.Mkdir(w.dir, 0o700)
		}
		lock.Close()
	}
}

func (w *workspace) close() error {
	err := os.RemoveAll(w.dir)
	os.Remove(w.lock.Name())
	w.lock.Close()
	return err
}

// sweep removes the workspaces whose runs have ended.
func sweep(parent string) {
	locks, _ := filepath.Glob(filepath.Join(parent, "*"+lockSuffix))
	for _, name := range locks {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if isAbandoned(f) && os.RemoveAll(strings.TrimSuffix(name, lockSuffix)) == nil {
			os.Remove(name)
		}
		f.Close()
	}
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
