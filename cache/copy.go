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

// OpenCopy returns the read-only cache in a directory written by [Cache.CopyUsed]. Because
// nothing is ever written to it, it may belong to any user. Its blobs are verified as in any
// cache, but its entries are only as trustworthy as the author of the copy.
func OpenCopy(dir string) (*Cache, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: errors.New("it is not a directory")}
	}
	if err != nil {
		return nil, err
	}
	c := in(dir)
	c.fixed = true
	return c, nil
}

// Track starts recording which files are used, for [Cache.CopyUsed].
func (c *Cache) Track() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = map[string]bool{}
}

// use records the use of a cache file.
func (c *Cache) use(file string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used != nil {
		rel, _ := filepath.Rel(c.folder(), file) // cannot fail: file is below the folder
		c.used[filepath.ToSlash(rel)] = true
	}
}

// discard removes a damaged file, unless the cache is read-only.
func (c *Cache) discard(file string) {
	if !c.fixed {
		os.Remove(file)
	}
}

// attributesFile stops git from converting line endings and diffing files when a copy is
// committed to a repository.
const attributesFile, attributes = ".gitattributes", "* -text -diff\n"

// CopyUsed writes the files used since [Cache.Track] to dir and removes everything else from an
// earlier copy there. It refuses a directory that has other files. A run that is killed leaves a
// copy with more files than necessary, but with no incomplete ones under their final name.
func (c *Cache) CopyUsed(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // links inside cannot lead out of it
	if err != nil {
		return err
	}
	defer root.Close()
	there, err := fs.ReadDir(root.FS(), ".")
	for _, e := range there {
		if name := e.Name(); name != layout && name != attributesFile {
			return fmt.Errorf("%q contains %q, which is not part of a copy: name a new or empty folder", dir, name)
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

// copy copies one file. It fails if the content of a blob does not match its digest.
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
	temp := fmt.Sprintf("%s.%d.tmp", to, os.Getpid()) // another run may write the same file
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
		err = fmt.Errorf("%w; run the command again to fetch it again", ErrDamaged)
	}
	if err == nil {
		err = root.Rename(temp, to)
	}
	if err != nil {
		root.Remove(temp)
	}
	return err
}

// removeUnused removes files and directories that are no longer part of the copy.
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
		root.Remove(dirs[len(dirs)-1-i]) // fails for non-empty directories
	}
	return err
}
