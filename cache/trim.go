package cache

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultMax is the default size limit of the user's cache, in bytes.
const DefaultMax = 5 << 30

// inUse is the time after its last use during which a blob or entry is never removed, however
// large the cache is. A run looks up an entry first and reads its content later, so both must
// exist for the length of the run. Recorded times can be an hour old, which leaves an hour for a
// run. Kept values are read in one step and may be removed at any time.
const inUse = 2 * time.Hour

// A Trim selects files to remove. The least recently used files are removed first.
type Trim struct {
	// Max is the size limit in bytes; negative means unlimited.
	Max int64
	// Older selects files that were not used for longer than this, whatever the cache size. Zero
	// disables it.
	Older time.Duration
	// DryRun computes the result without removing files.
	DryRun bool

	all   bool  // select everything; also recently used files if no run is in progress
	slack int64 // additional bytes to remove once Max is exceeded
}

// A Trimmed is the result of a [Trim].
type Trimmed struct {
	// Removed is the removed part and Left the remaining part. InUse is the part of Left that was
	// selected but not removed, because a run in progress may need it.
	Removed, Left, InUse Usage
}

// Trim removes the files selected by t, and the leftovers of killed runs. It is not an error if
// another process removes a file at the same time.
func (c *Cache) Trim(t Trim) (Trimmed, error) {
	var files []file
	var total int64
	err := c.each(func(f file) error {
		files, total = append(files, f), total+f.size()
		return nil
	})
	idle := false
	if t.all || !t.DryRun { // after listing: a later run's files are not in the list
		idle = sweep(filepath.Join(c.folder(), "tmp")) == 0 && t.all
	}
	now := time.Now()
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(a.used(now).Compare(b.used(now)), a.info.ModTime().Compare(b.info.ModTime()), strings.Compare(a.name, b.name))
	})
	if t.Max >= 0 && total > t.Max {
		t.Max -= t.slack
	}
	var done Trimmed
	for _, f := range files {
		used, size := f.used(now), f.size()
		wanted := t.all || t.Max >= 0 && total > t.Max || t.Older > 0 && now.Sub(used) > t.Older
		held := !idle && now.Sub(used) < inUse && f.parts()[0] != "kept"
		switch {
		case wanted && (held || c.usedSince(f)):
			done.InUse.add(size, used)
		case wanted:
			if !t.DryRun {
				if failed := os.RemoveAll(c.path(f)); failed != nil {
					err = errors.Join(err, failed)
					break
				}
			}
			total -= size
			done.Removed.add(size, used)
			continue
		}
		done.Left.add(size, used)
		if used.Before(f.info.ModTime()) && !t.DryRun {
			_ = os.Chtimes(c.path(f), now, now) // a time in the future is reset, so that the file can age
		}
	}
	if !t.DryRun {
		c.writeLedger(total)
	}
	return done, err
}

// usedSince reports whether a file was used or rewritten after it was listed.
func (c *Cache) usedSince(f file) bool {
	info, err := os.Lstat(c.path(f))
	return err == nil && !info.ModTime().Equal(f.info.ModTime())
}

// Clean removes the whole cache. If other runs are in progress, blobs and entries used in the
// last two hours stay, so that these runs can continue. With dryRun it only reports, but still
// removes the leftovers of killed runs, in order to find out whether other runs are in progress.
func (c *Cache) Clean(dryRun bool) (Trimmed, error) {
	done, err := c.Trim(Trim{all: true, DryRun: dryRun})
	if dryRun {
		return done, err
	}
	dirs := []string{filepath.Join(c.folder(), "tmp")}
	for _, top := range tops {
		_ = filepath.WalkDir(filepath.Join(c.folder(), top), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
	}
	for _, dir := range slices.Backward(dirs) {
		os.Remove(dir) // fails for non-empty directories
	}
	os.Remove(filepath.Join(c.folder(), ledgerFile))
	if os.Remove(c.folder()) == nil {
		os.Remove(filepath.Join(c.Path(), tagFile))
	}
	return done, err
}

// Bound sets the size limit of the cache. If it may be exceeded, [Cache.Close] trims the cache to
// nine tenths of it, so that not every run has to trim. A run that wrote nothing does no work.
func (c *Cache) Bound(bytes int64) { c.max = bytes }

// The ledger estimates the cache size. It has one line with the size after the last
// trim, followed by one byte for each block written since. Appending is atomic, so concurrent
// processes can all record their writes, and the size of the file is sufficient to compute the
// sum.
const ledgerFile, ledgerLine, ledgerByte = "size", "%016x\n", "+"

// writeLedger starts a new ledger. If that fails, the next run that writes something recounts the
// cache.
func (c *Cache) writeLedger(total int64) {
	_ = writeNew(filepath.Join(c.folder(), ledgerFile), fmt.Appendf(nil, ledgerLine, total))
}

// bound records added bytes in the ledger. It trims the cache if the limit is exceeded or the
// ledger is unusable. Errors are ignored, because a run must not fail over cache maintenance.
func (c *Cache) bound(added int64) {
	if total, err := c.addToLedger(added); err == nil && total <= c.max {
		return
	}
	_, _ = c.Trim(Trim{Max: c.max, slack: c.max / 10})
}

// addToLedger adds to the ledger and returns the estimated cache size.
func (c *Cache) addToLedger(added int64) (int64, error) {
	f, err := openPlain(filepath.Join(c.folder(), ledgerFile), os.O_RDWR|os.O_APPEND)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	line := make([]byte, len(fmt.Sprintf(ledgerLine, 0)))
	if _, err := f.ReadAt(line, 0); err != nil {
		return 0, err
	}
	total, err := strconv.ParseInt(strings.TrimSuffix(string(line), "\n"), 16, 64)
	if err != nil || total < 0 {
		return 0, fmt.Errorf("%q is not a number", line)
	}
	if total += (info.Size()-int64(len(line)))*block + added; total < 0 {
		return 0, errors.New("it contains an impossible size") // the ledger is damaged
	}
	if total > c.max {
		return total, nil // not recorded: trimming rewrites the ledger
	}
	_, err = f.Write(bytes.Repeat([]byte(ledgerByte), int(added/block)))
	return total, err
}
