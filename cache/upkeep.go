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

// Existing returns the cache in dir for inspection and removal with [Cache.Usage],
// [Cache.Verify], [Cache.Trim] and [Cache.Clean]. It creates nothing; the error wraps
// fs.ErrNotExist if dir does not exist. It refuses every directory that is not a cache, such as a
// copy of one, and every directory that [Open] refuses.
func Existing(dir string) (*Cache, error) {
	c := in(dir)
	for _, folder := range []string{dir, c.folder()} {
		info, err := os.Lstat(folder)
		full := folder != dir && errors.Is(err, fs.ErrNotExist) && !isEmpty(dir)
		if full {
			info, err = os.Lstat(folder) // another run may have created it just now
		}
		switch {
		case full && errors.Is(err, fs.ErrNotExist):
			return nil, notACache(dir, "it has no "+layout)
		case err != nil:
			return nil, err
		case !info.IsDir():
			return nil, notACache(dir, filepath.Base(folder)+" is not a directory")
		}
		if err := owned(folder, info); err != nil {
			return nil, err
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, attributesFile)); err == nil {
		return nil, notACache(dir, "it is a copy made by krmflow vendor")
	}
	list, err := os.ReadDir(c.folder())
	for _, e := range list {
		if !slices.Contains([]string{"blobs", "entries", "kept", "tmp", ledgerFile}, e.Name()) {
			return nil, notACache(dir, fmt.Sprintf("a cache has no %q", layout+"/"+e.Name()))
		}
	}
	return c, err
}

func notACache(dir, why string) error {
	return diag.CacheFolder.Errorf("%q is not a krmflow cache: %s", dir, why)
}

// isEmpty reports whether a directory is empty except for the cache tag.
func isEmpty(dir string) bool {
	list, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() != tagFile })
}

// A file is a directory entry where the cache stores files. It need not be a valid cache file.
type file struct {
	name string // relative to the cache folder, slash-separated
	info fs.FileInfo
}

// parts returns the elements of the file's path.
func (f file) parts() []string { return strings.Split(f.name, "/") }

// kind returns the kind for Usage, as far as the name determines it.
func (f file) kind() string {
	parts := f.parts()
	if parts[0] == "kept" {
		return strings.Join(parts[:min(2, len(parts))], "/")
	}
	return parts[0]
}

// used returns the time of the last use. A time in the future comes from a wrong clock; now is
// returned instead.
func (f file) used(now time.Time) time.Time {
	if t := f.info.ModTime(); t.Before(now) {
		return t
	}
	return now
}

// size returns the disk space of the file, in bytes.
func (f file) size() int64 { return onDisk(f.info.Size()) }

// block is the allocation unit of common file systems, in bytes.
const block = 4096

func onDisk(size int64) int64 { return (size + block - 1) / block * block }

// tops are the directories with content. A file's path has two more elements: its kind, or the
// first digits of its digest, and the rest.
var tops = []string{"blobs", "entries", "kept"}

// each calls visit for everything in the place of a cache file, whatever its type. It skips files
// that other processes remove at the same time, and continues after read errors, which it returns
// joined.
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
			name, _ := filepath.Rel(c.folder(), path) // cannot fail: path is below the folder
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

// path returns the absolute path of f.
func (c *Cache) path(f file) string { return filepath.Join(c.folder(), filepath.FromSlash(f.name)) }

// digestIn returns the digest whose hexadecimal digits are the concatenated parts.
func digestIn(parts ...string) (d krm.Digest, ok bool) {
	raw, err := hex.DecodeString(strings.Join(parts, ""))
	return d, copy(d[:], raw) == len(d) && len(raw) == len(d) && err == nil
}

// A Usage is the disk usage of one kind of content: "blobs", "trees" (including the blobs with
// their files), "entries", or "kept/" followed by a kind.
type Usage struct {
	Kind  string `json:"kind"`
	Files int    `json:"files"`
	// Bytes is the disk usage, in whole blocks of 4 KiB.
	Bytes int64 `json:"bytes"`
	// Oldest and Latest are the last use of the least and of the most recently used file,
	// accurate to an hour.
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

// Usage returns the disk usage by kind, sorted by kind. Kinds without files are omitted.
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

// treeData returns the digest of the blob with a tree's files, if f is the index of a tree.
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
