package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/krmflow/krmflow/krm"
)

// Verify checks every file: the digests of blobs, including those of trees, and the seals of
// entries and kept values. It calls damaged for each damaged file, with its path relative to the
// cache directory and the reason, and removes the file unless dryRun is set. It returns the
// number of files checked. If ctx is done, it returns the cause.
func (c *Cache) Verify(ctx context.Context, dryRun bool, damaged func(path string, why error)) (n int, err error) {
	err = c.each(func(f file) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n++
		why := c.check(f)
		if why != nil && f.info.Mode().IsRegular() && time.Since(f.info.ModTime()) < time.Minute {
			time.Sleep(100 * time.Millisecond) // the file may still have been incomplete
			why = c.check(f)
		}
		if why == nil || errors.Is(why, os.ErrNotExist) && !exists(c.path(f)) {
			return nil
		}
		damaged(filepath.Join(layout, filepath.FromSlash(f.name)), why)
		if dryRun {
			return nil
		}
		return os.RemoveAll(c.path(f))
	})
	return n, err
}

// AllKept yields the key and data of all kept values of one kind. It does not mark them as used
// for [Cache.Trim].
func (c *Cache) AllKept(kind string) iter.Seq2[krm.Digest, []byte] {
	return func(yield func(krm.Digest, []byte) bool) {
		list, _ := os.ReadDir(filepath.Join(c.folder(), "kept", kind)) // a missing directory is empty
		for _, e := range list {
			key, ok := digestIn(e.Name())
			if !ok || e.Type() != 0 {
				continue
			}
			text, err := os.ReadFile(c.kept(kind, key))
			if err != nil {
				continue // removed by another process
			}
			if data, _, ok := unwrap(kind, key, text); ok && !yield(key, data) {
				return
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

var (
	errName = errors.New("not a name of a cache file")
	errSeal = errors.New("its seal is wrong")
)

// check returns the reason why a file is invalid, or nil.
func (c *Cache) check(f file) error {
	if !f.info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	r, info, err := openRegular(c.path(f))
	if err != nil {
		return unplaced(err)
	}
	defer r.Close()
	parts := f.parts()
	if len(parts) < 3 {
		return errName
	}
	if parts[0] == "blobs" {
		d, ok := digestIn(parts[1:]...)
		if !ok || c.blob(d) != c.path(f) {
			return errName
		}
		hash := sha256.New()
		if _, err := io.Copy(hash, r); err != nil {
			return unplaced(err)
		}
		if got := krm.Digest(hash.Sum(nil)); got != d {
			return fmt.Errorf("its digest is %s", got)
		}
		return nil
	}
	key, ok := digestIn(parts[2:]...)
	if !ok || parts[0] == "kept" && c.kept(parts[1], key) != c.path(f) {
		return errName
	}
	if info.Size() > largest {
		return errLarge
	}
	text := make([]byte, info.Size())
	if _, err := io.ReadFull(r, text); err != nil {
		return unplaced(err)
	}
	if parts[0] == "entries" {
		_, ok = parseEntry(parts[1], parts[2], text)
	} else {
		_, _, ok = unwrap(parts[1], key, text)
		ok = ok || bytes.HasPrefix(text, []byte(partHeader)) // may still be being written; readers ignore it
	}
	if !ok {
		return errSeal
	}
	return nil
}

// unplaced returns err without its path.
func unplaced(err error) error {
	if pe := (*os.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// parseEntry returns the digest in an entry. It fails if the entry is incomplete or was moved
// from another place.
func parseEntry(kind, name string, text []byte) (krm.Digest, bool) {
	digest, check, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), " ")
	d, err := krm.ParseDigest(digest)
	return d, err == nil && check == seal(kind, name, d)
}
