package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

func keyOf(i int) krm.Digest { return krm.DigestOf(fmt.Append(nil, i)) }

// age makes a file look as if it was last used d ago.
func age(t *testing.T, path string, d time.Duration) {
	t.Helper()
	at := time.Now().Add(-d)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// bytesIn returns the total size of the files below a folder.
func bytesIn(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += onDisk(info.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func everything(t *testing.T, c *Cache) (names []string) {
	t.Helper()
	if err := c.each(func(f file) error { names = append(names, f.name); return nil }); err != nil {
		t.Fatal(err)
	}
	return names
}

// K09: after 1,000 results, in one run or in many, the cache is within its limit and holds the most
// recently used ones.
func TestBoundKeepsRecentlyUsedResults(t *testing.T) {
	const most = 10 << 20
	for name, perRun := range map[string]int{"one run": 1000, "a run each": 1} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			var c *Cache
			for i := range 1000 {
				if i%perRun == 0 {
					var err error
					if c, err = Open(dir); err != nil {
						t.Fatal(err)
					}
					c.Bound(most)
				}
				if err := c.Keep("things", keyOf(i), make([]byte, 12<<10)); err != nil {
					t.Fatal(err)
				}
				age(t, c.kept("things", keyOf(i)), time.Duration(2000-i)*time.Second)
				if (i+1)%perRun == 0 {
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if (i+1)%max(perRun, 20) == 0 {
					if n := bytesIn(t, dir); n > most+16<<10 {
						t.Fatalf("%d bytes after %d results", n, i+1)
					}
				}
			}
			left := len(everything(t, c))
			if left < 200 {
				t.Errorf("only %d results are left", left)
			}
			for i := range 1000 {
				if _, ok := c.Kept("things", keyOf(i)); ok != (i >= 1000-left) {
					t.Errorf("result %d: %t, of which the last %d should be left", i, ok, left)
				}
			}
		})
	}
}

// The ledger adds up concurrent writes of processes. If it is lost or damaged, the cache is
// measured again.
func TestLedgerCountsConcurrentWrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	write := func(i int) {
		c, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		c.Bound(1 << 30)
		if err := c.Keep("things", keyOf(i), make([]byte, 5000)); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sum := func() int64 {
		c, err := Existing(dir)
		if err != nil {
			t.Fatal(err)
		}
		c.max = 1 << 30
		n, err := c.addToLedger(0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i := range 20 {
		write(i)
	}
	ledger := filepath.Join(dir, layout, ledgerFile)
	for name, damage := range map[string]func() error{
		"nothing":   func() error { return nil },
		"gone":      func() error { return os.Remove(ledger) },
		"cut":       func() error { return os.Truncate(ledger, 3) },
		"bit":       func() error { return os.WriteFile(ledger, []byte("-000000000000001\n"), 0o600) },
		"huge":      func() error { return os.WriteFile(ledger, []byte("7fffffffffffffff\n"), 0o600) },
		"text":      func() error { return os.WriteFile(ledger, []byte(strings.Repeat("x", 100)), 0o600) },
		"directory": func() error { return errors.Join(os.Remove(ledger), os.MkdirAll(ledger+"/x", 0o700)) },
		"link":      func() error { return errors.Join(os.Remove(ledger), os.Symlink("/dev/null", ledger)) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		write(0) // may count twice, but never too little
		if n := sum(); n < 20*8192 || n > 22*8192 {
			t.Errorf("%s: %d bytes, want %d", name, n, 20*8192)
		}
		if err := os.RemoveAll(ledger); err != nil {
			t.Fatal(err)
		}
		write(0)
	}
}

// Problems at the end of a run only affect the size limit. A run that wrote nothing does not
// measure the cache.
func TestBoundReadsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.Bound(1)
	c.Kept("things", keyOf(1))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, layout, ledgerFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a ledger: %v", err)
	}
}

// K08: a wrong clock never hides cache entries, and entries with a time in the future age as well.
func TestWrongClocksLoseNothing(t *testing.T) {
	c := open(t)
	d, err := c.Put([]byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Record("git", "key", d), c.Keep("things", keyOf(1), []byte("kept"))); err != nil {
		t.Fatal(err)
	}
	files := []string{c.blob(d), c.entry("git", "key"), c.kept("things", keyOf(1))}
	for _, year := range []int{1970, 2016, 2099} {
		at := time.Date(year, 1, 2, 0, 0, 0, 0, time.UTC)
		for _, trim := range []bool{true, false} {
			for _, f := range files {
				if err := os.Chtimes(f, at, at); err != nil {
					t.Fatal(err)
				}
			}
			if trim {
				if _, err := c.Trim(Trim{Max: 1 << 20}); err != nil {
					t.Fatal(err)
				}
			}
			_, ok := c.Lookup("git", "key")
			data, kept := c.Kept("things", keyOf(1))
			if !has(c, d) || !ok || !kept || string(data) != "kept" {
				t.Errorf("%d: %t, %t, %q", year, has(c, d), ok, data)
			}
			for _, f := range files {
				if info, err := os.Stat(f); err != nil || time.Since(info.ModTime()).Abs() > time.Minute {
					t.Errorf("%d: %s was used just now, not at %s, %v", year, f, info.ModTime(), err)
				}
			}
		}
	}
	future := time.Date(2099, 1, 2, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(files[2], future, future); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Trim(Trim{Max: -1}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(files[2]); err != nil || info.ModTime().After(time.Now()) {
		t.Errorf("it is still from %s, %v", info.ModTime(), err)
	}
}

// A use updates the time of a file older than an hour and leaves newer times unchanged.
func TestUseTimes(t *testing.T) {
	c := open(t)
	if err := c.Keep("things", keyOf(1), nil); err != nil {
		t.Fatal(err)
	}
	path := c.kept("things", keyOf(1))
	for was, want := range map[time.Duration]time.Duration{50 * time.Minute: 50 * time.Minute, 70 * time.Minute: 0, 1000 * time.Hour: 0} {
		age(t, path, was)
		if _, ok := c.Kept("things", keyOf(1)); !ok {
			t.Fatal("it is gone")
		}
		info, err := os.Stat(path)
		if got := time.Since(info.ModTime()); err != nil || (got-want).Abs() > time.Minute {
			t.Errorf("used %s ago: then %s, %v", was, got, err)
		}
	}
}

// Files that a run may be about to read stay. Results kept for a key can always be removed. A dry
// run removes nothing.
func TestTrimRemovesOldestEntries(t *testing.T) {
	c := open(t)
	fresh, _ := c.Put([]byte("fresh"))
	stale, _ := c.Put([]byte("stale"))
	if err := errors.Join(c.Record("git", "fresh", fresh), c.Record("git", "stale", stale), c.Keep("things", keyOf(1), nil),
		c.Keep("things", keyOf(2), nil)); err != nil {
		t.Fatal(err)
	}
	age(t, c.blob(stale), 3*time.Hour)
	age(t, c.entry("git", "stale"), 3*time.Hour)
	age(t, c.kept("things", keyOf(2)), 5*time.Hour)
	before := everything(t, c)

	for _, x := range []struct {
		Trim
		removed, left, inUse int
	}{
		{Trim{Max: -1}, 0, 6, 0},
		{Trim{Max: 1 << 20}, 0, 6, 0},
		{Trim{Max: 5 * block}, 1, 5, 0},
		{Trim{Max: -1, Older: 4 * time.Hour}, 1, 5, 0},
		{Trim{Max: -1, Older: time.Hour}, 3, 3, 0},
		{Trim{Max: -1, Older: time.Nanosecond}, 4, 2, 2},
		{Trim{Max: 0}, 4, 2, 2},
	} {
		x.DryRun = true
		done, err := c.Trim(x.Trim)
		if err != nil || done.Removed.Files != x.removed || done.Left.Files != x.left || done.InUse.Files != x.inUse {
			t.Errorf("%+v: %+v, %v", x.Trim, done, err)
		}
	}
	if got := everything(t, c); !slices.Equal(got, before) {
		t.Errorf("dry runs have left %q", got)
	}
	if _, err := c.Trim(Trim{Max: 5 * block}); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Kept("things", keyOf(2)); ok || !exists(c.blob(stale)) {
		t.Error("what was used first is not what went")
	}
	if _, err := c.Trim(Trim{Max: 0}); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Lookup("git", "fresh"); !ok || !has(c, fresh) || exists(c.blob(stale)) {
		t.Error("what is in use has gone, or what is not has stayed")
	}
}

// Clean removes everything except files that a running run may need. That run and later runs work
// as before.
func TestCleanKeepsFilesInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := run.Put([]byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Put(nil); err != nil { // an empty file is removed as well
		t.Fatal(err)
	}
	if err := run.Keep("things", keyOf(1), nil); err != nil {
		t.Fatal(err)
	}
	clean := func() Trimmed {
		t.Helper()
		c, err := Existing(dir)
		if err != nil {
			t.Fatal(err)
		}
		done, err := c.Clean(false)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	if done := clean(); done.Removed.Files != 1 || done.InUse.Files != 2 || !has(run, d) {
		t.Errorf("%+v", done)
	}
	if _, err := run.Put([]byte("second")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(run.Record("git", "key", d), run.Keep("things", keyOf(2), nil)); err != nil {
		t.Error(err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if done := clean(); done.InUse.Files != 0 || done.Left.Files != 0 {
		t.Errorf("%+v", done)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("%q is left, %v", list, err)
	}
	if _, err := Existing(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := run.Put([]byte("third")); err != nil {
		t.Errorf("a run goes on after that: %v", err)
	}
	run.Close()
}

// Files that a run adds stay until it ends, even if it started during a Clean.
func TestCleanDuringRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	first, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	stop, cleaned := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				cleaned <- nil
				return
			default:
			}
			c, err := Existing(dir)
			if err == nil {
				_, err = c.Clean(false)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				cleaned <- err
				return
			}
		}
	}()
	for i := range 60 {
		for k := range 50 { // takes a while to remove
			_ = first.Keep("things", keyOf(k), nil)
		}
		c, err := Open(dir)
		if errors.Is(err, fs.ErrNotExist) { // constant cleaning can interfere with this
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Put([]byte("the same in each run"))
		time.Sleep(time.Duration(i%10) * 100 * time.Microsecond)
		if err == nil && !has(c, d) {
			t.Errorf("run %d misses what it has added", i)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-cleaned; err != nil {
		t.Error(err)
	}
}

func TestExistingRefusesOtherFolders(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"has no v1":          func(dir string) error { return os.WriteFile(filepath.Join(dir, "letter"), nil, 0o600) },
		"not a directory":    func(dir string) error { return os.WriteFile(filepath.Join(dir, layout), nil, 0o600) },
		`has no "v1/photos"`: func(dir string) error { return os.MkdirAll(filepath.Join(dir, layout, "photos"), 0o700) },
		"is a copy": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, layout), 0o700), os.WriteFile(filepath.Join(dir, attributesFile), nil, 0o600))
		},
		"by other users": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, layout), 0o700), os.Chmod(dir, 0o777))
		},
	} {
		dir := filepath.Join(t.TempDir(), "d")
		if err := errors.Join(os.Mkdir(dir, 0o700), prepare(dir)); err != nil {
			t.Fatal(err)
		}
		_, err := Existing(dir)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if name != "by other users" && diag.CodeOf(err) != diag.CacheFolder {
			t.Errorf("%s: the code is %q", name, diag.CodeOf(err))
		}
	}
	empty := t.TempDir()
	for _, dir := range []string{filepath.Join(empty, "none"), empty} {
		if _, err := Existing(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestDryCleanKeepsLeftoversOfKilledRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(c.folder(), "tmp")
	killed, unlocked := filepath.Join(tmp, "1"), filepath.Join(tmp, "2")
	for _, d := range []string{killed, unlocked} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(killed+lockSuffix, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if done, err := c.Clean(true); err != nil || done.Removed.Files != 1 {
		t.Errorf("%+v, %v: no run is in progress", done, err)
	}
	for _, path := range []string{killed, killed + lockSuffix, unlocked} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("a dry run removed something: %v", err)
		}
	}
	if _, err := c.Clean(false); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("%q is left, %v", list, err)
	}
}
