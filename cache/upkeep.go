package cache

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// Existing returns the cache in dir for looking at it and for removing from it, which [Cache.Usage], [Cache.Verify], [Cache.Trim] and
// [Cache.Clean] do. Nothing is made. The error is one of fs.ErrNotExist if there is none. A folder that is something else, a copy of a cache
// for instance, is refused, and so is one that [Open] refuses.
func Existing(dir string) (*Cache, error) {
	c := in(dir)
	for _, folder := range []string{dir, c.folder()} {
		info, err := os.Lstat(folder)
		full := folder != dir && errors.Is(err, fs.ErrNotExist) && !isEmpty(dir)
		if full {
			info, err = os.Lstat(folder) // a run may just have made it
		}
		switch {
		case full && errors.Is(err, fs.ErrNotExist):
			return nil, notACache(dir, "it has no "+layout)
		case err != nil:
			return nil, err
		case !info.IsDir():
			return nil, notACache(dir, filepath.Base(folder)+" is no directory")
		}
		if err := owned(folder, info); err != nil {
			return nil, err
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, attributesFile)); err == nil {
		return nil, notACache(dir, "it is a copy, as krmflow vendor makes it")
	}
	list, err := os.ReadDir(c.folder())
	for _, e := range list {
		if !slices.Contains([]string{"blobs", "entries", "kept", "tmp", ledgerFile}, e.Name()) {
			return nil, notACache(dir, fmt.Sprintf("no cache has %q", layout+"/"+e.Name()))
		}
	}
	return c, err
}

func notACache(dir, why string) error {
	return diag.CacheFolder.Errorf("%q is no cache of krmflow: %s", dir, why)
}

// isEmpty reports whether a folder has nothing, or nothing but what tells that it is a cache.
func isEmpty(dir string) bool {
	list, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() != tagFile })
}

// A file is something at a place where files of the cache are.
type file struct {
	name string // below the folder, with slashes
	info fs.FileInfo
}

// parts returns the names of the folders that the file is in, and its own.
func (f file) parts() []string { return strings.Split(f.name, "/") }

// kind returns what Usage calls the kind of the file, as far as its name tells.
func (f file) kind() string {
	parts := f.parts()
	if parts[0] == "kept" {
		return strings.Join(parts[:min(2, len(parts))], "/")
	}
	return parts[0]
}

// used returns when the file was used. A time that is still to come is from a clock that was wrong.
func (f file) used(now time.Time) time.Time {
	if t := f.info.ModTime(); t.Before(now) {
		return t
	}
	return now
}

// size returns how many bytes of a disk the file takes.
func (f file) size() int64 { return onDisk(f.info.Size()) }

// block is the size of what file systems give to files.
const block = 4096

func onDisk(size int64) int64 { return (size + block - 1) / block * block }

// tops are the folders of content. The names of files have two more parts: the first digits or the kind, and the rest.
var tops = []string{"blobs", "entries", "kept"}

// each calls visit with everything that is at the place of a file, whatever it is. What another process removes meanwhile is left out. It
// goes on after what cannot be read.
func (c *Cache) each(visit func(file) error) error {
	var errs []error
	for _, top := range tops {
		err := filepath.WalkDir(filepath.Join(c.folder(), top), func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				errs = append(errs, err)
				return nil
			}
			name, _ := filepath.Rel(c.folder(), path) // it is below
			f := file{name: filepath.ToSlash(name)}
			if e.IsDir() && len(f.parts()) < 3 {
				return nil
			}
			if f.info, err = e.Info(); err == nil {
				err = visit(f)
			}
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			if err == nil && e.IsDir() {
				err = fs.SkipDir
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// path returns where a file is.
func (c *Cache) path(f file) string { return filepath.Join(c.folder(), filepath.FromSlash(f.name)) }

// digest returns the one that the last parts of a name are, if they are one.
func digestIn(parts ...string) (d krm.Digest, ok bool) {
	raw, err := hex.DecodeString(strings.Join(parts, ""))
	return d, copy(d[:], raw) == len(d) && len(raw) == len(d) && err == nil
}

// A Usage is what there is of one kind: "blobs", "trees" (with the blobs that they are), "entries", or "kept/" and the kind.
type Usage struct {
	Kind  string `json:"kind"`
	Files int    `json:"files"`
	// Bytes are those of a disk, in blocks of 4 KiB.
	Bytes int64 `json:"bytes"`
	// Oldest and Latest are when the file that was not used for longest was used, and the one that was used last, give or take an hour.
	Oldest time.Time `json:"oldestUse"`
	Latest time.Time `json:"lastUse"`
}

func (u *Usage) add(bytes int64, used time.Time) {
	if u.Files == 0 || used.Before(u.Oldest) {
		u.Oldest = used
	}
	if u.Files == 0 || used.After(u.Latest) {
		u.Latest = used
	}
	u.Files++
	u.Bytes += bytes
}

// Usage returns what is in the cache by kind, sorted. Kinds without a file are left out.
func (c *Cache) Usage() ([]Usage, error) {
	now := time.Now()
	kinds, blobs, trees := map[string]*Usage{}, map[krm.Digest]file{}, map[krm.Digest]bool{}
	count := func(kind string, f file) {
		if kinds[kind] == nil {
			kinds[kind] = &Usage{Kind: kind}
		}
		kinds[kind].add(f.size(), f.used(now))
	}
	err := c.each(func(f file) error {
		parts := f.parts()
		d, ok := digestIn(parts[1:]...)
		if parts[0] != "blobs" || !ok {
			count(f.kind(), f)
			return nil
		}
		blobs[d] = f
		if data, ok := c.treeData(f); ok {
			trees[d], trees[data] = true, true
		}
		return nil
	})
	for d, f := range blobs {
		kind := f.kind()
		if trees[d] {
			kind = "trees"
		}
		count(kind, f)
	}
	list := make([]Usage, 0, len(kinds))
	for _, u := range kinds {
		list = append(list, *u)
	}
	slices.SortFunc(list, func(a, b Usage) int { return strings.Compare(a.Kind, b.Kind) })
	return list, err
}

// treeData returns the digest of the blob that has the files of a tree, if f is the index of one.
func (c *Cache) treeData(f file) (d krm.Digest, ok bool) {
	r, _, err := openRegular(c.path(f))
	if err != nil {
		return d, false
	}
	defer r.Close()
	head := make([]byte, len(magic)+hex.EncodedLen(len(d)))
	if n, _ := r.Read(head); n < len(head) {
		return d, false
	}
	sum, ok := strings.CutPrefix(string(head), magic)
	return d, ok && decodeDigest(&d, sum)
}
