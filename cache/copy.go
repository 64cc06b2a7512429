package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// OpenCopy returns the cache in a folder that [Cache.CopyUsed] has written. It is read and never written to, so it may belong to anybody:
// its files are verified as those of any cache, but what its entries say is what whoever wrote them said.
func OpenCopy(dir string) (*Cache, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: errors.New("it is no directory")}
	}
	if err != nil {
		return nil, err
	}
	c := in(dir)
	c.fixed = true
	return c, nil
}

// Track begins to remember what is used, for [Cache.CopyUsed].
func (c *Cache) Track() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = map[string]bool{}
}

// use remembers that a file of the cache was used.
func (c *Cache) use(file string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used != nil {
		rel, _ := filepath.Rel(c.folder(), file) // it is below
		c.used[filepath.ToSlash(rel)] = true
	}
}

// discard removes a file that is not what it should be.
func (c *Cache) discard(file string) {
	if !c.fixed {
		os.Remove(file)
	}
}

// attributesFile keeps git from changing the bytes of files, where a copy is part of a repository.
const attributesFile, attributes = ".gitattributes", "* -text -diff\n"

// CopyUsed makes dir a copy of what was used since [Cache.Track], and of nothing else: what else an earlier copy has goes. It refuses a
// folder with other files. A run that is killed leaves a copy that has more than it needs.
func (c *Cache) CopyUsed(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // no link in it leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	there, err := fs.ReadDir(root.FS(), ".")
	for _, e := range there {
		if name := e.Name(); name != layout && name != attributesFile {
			return fmt.Errorf("%q has %q, which is no part of a copy: name an empty folder, or none", dir, name)
		}
	}
	if err == nil {
		err = root.WriteFile(attributesFile, []byte(attributes), 0o666)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.used {
		if err := c.copy(root, name); err != nil {
			return fmt.Errorf("cannot copy to %q: %w", dir, err)
		}
	}
	return c.removeUnused(root)
}

// copy copies one file. A blob has the bytes that its name says, or is not copied.
func (c *Cache) copy(root *os.Root, name string) error {
	from, _, err := openRegular(filepath.Join(c.folder(), filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer from.Close()
	to := path.Join(layout, name)
	if err := root.MkdirAll(path.Dir(to), 0o777); err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.%d.tmp", to, os.Getpid()) // another run may write the same
	f, err := root.Create(temp)
	if err != nil {
		return err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, hash), from)
	err = errors.Join(err, f.Close())
	digits, isBlob := strings.CutPrefix(name, "blobs/")
	if isBlob && err == nil && hex.EncodeToString(hash.Sum(nil)) != strings.ReplaceAll(digits, "/", "") {
		c.discard(from.Name())
		err = fmt.Errorf("%w; it is fetched again if you try once more", ErrDamaged)
	}
	if err == nil {
		err = root.Rename(temp, to)
	}
	if err != nil {
		root.Remove(temp)
	}
	return err
}

// removeUnused removes what is no part of a copy any more.
func (c *Cache) removeUnused(root *os.Root) error {
	var dirs []string
	err := fs.WalkDir(root.FS(), layout, func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // nothing was used
		case err != nil:
			return err
		case e.IsDir():
			dirs = append(dirs, name)
			return nil
		case c.used[strings.TrimPrefix(name, layout+"/")]:
			return nil
		}
		return root.Remove(name)
	})
	for i := range dirs {
		root.Remove(dirs[len(dirs)-1-i]) // fails for those that are in use
	}
	return err
}
