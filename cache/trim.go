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

// DefaultMax is how many bytes the cache of a user may have, unless the user says otherwise.
const DefaultMax = 5 << 30

// inUse is how long a blob or an entry stays after its use, however large the cache is. A run looks one up and reads it, or what it
// stands for, later. The time of a file may be an hour older than its use, so that runs of up to an hour miss nothing. What is kept for a key
// is read at once, and can go at any time.
const inUse = 2 * time.Hour

// A Trim says what goes. What was not used for longest goes first.
type Trim struct {
	// Max is how many bytes may stay; there is no such bound if it is negative.
	Max int64
	// Older is how long ago what goes was used, however small the cache is; zero for no such bound.
	Older time.Duration
	// DryRun only counts.
	DryRun bool

	all   bool  // everything goes, also what was just used if no run is under way
	slack int64 // how much more goes if anything does because of Max
}

// A Trimmed cache is what came of a [Trim].
type Trimmed struct {
	// Removed and Left are what went and what stayed; InUse is what stayed although it should have gone, because runs may need it that are not
	// done.
	Removed, Left, InUse Usage
}

// Trim removes what [Trim] says, and what runs have left that were killed. What other processes remove meanwhile is no error.
func (c *Cache) Trim(t Trim) (Trimmed, error) {
	var files []file
	var total int64
	err := c.each(func(f file) error {
		files, total = append(files, f), total+f.size()
		return nil
	})
	idle := false
	if t.all || !t.DryRun { // after the list was made: it has no file of a run that begins later
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
			_ = os.Chtimes(c.path(f), now, now) // it grows old from now on
		}
	}
	if !t.DryRun {
		c.writeLedger(total)
	}
	return done, err
}

// usedSince reports whether a file was used or written anew after it was listed.
func (c *Cache) usedSince(f file) bool {
	info, err := os.Lstat(c.path(f))
	return err == nil && !info.ModTime().Equal(f.info.ModTime())
}

// Clean removes everything. If runs use the cache at the moment, what was fetched or used in the last two hours stays, so that they can go
// on.
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
		os.Remove(dir) // fails for those that are in use
	}
	os.Remove(filepath.Join(c.folder(), ledgerFile))
	if os.Remove(c.folder()) == nil {
		os.Remove(filepath.Join(c.Path(), tagFile))
	}
	return done, err
}

// Bound makes [Cache.Close] trim a cache that may have grown beyond that many bytes, to nine tenths of them, so that it does not do so each
// time. It costs nothing if nothing was written.
func (c *Cache) Bound(bytes int64) { c.max = bytes }

// The ledger says how many bytes the cache may have: a line with what a trim has counted, and a byte for each block that was written later. Several
// processes can add to it at a time, and its size is enough to know the sum.
const ledgerFile, ledgerLine, ledgerByte = "size", "%016x\n", "+"

// writeLedger begins a ledger. If that fails, the next run that writes something counts again.
func (c *Cache) writeLedger(total int64) {
	_ = writeNew(filepath.Join(c.folder(), ledgerFile), fmt.Appendf(nil, ledgerLine, total))
}

// bound adds to the ledger, and trims the cache if that says so, or is not there. Nobody's run fails because that fails.
func (c *Cache) bound(added int64) {
	if total, err := c.addToLedger(added); err == nil && total <= c.max {
		return
	}
	_, _ = c.Trim(Trim{Max: c.max, slack: c.max / 10})
}

// addToLedger returns how many bytes the cache may have now.
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
		return 0, fmt.Errorf("%q is no number", line)
	}
	if total += (info.Size()-int64(len(line)))*block + added; total < 0 {
		return 0, errors.New("it says more than there can be") // and is damaged
	}
	if total > c.max {
		return total, nil // it is written anew
	}
	_, err = f.Write(bytes.Repeat([]byte(ledgerByte), int(added/block)))
	return total, err
}
