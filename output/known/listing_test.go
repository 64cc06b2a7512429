package known

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/krmflow/krmflow/internal/sys/filestat"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// settle waits until the file system's clock has advanced.
func settle() { time.Sleep(50 * time.Millisecond) }

// age makes a file or folder look as if it was changed an hour ago, or in an hour, a time that
// proves nothing. Then it settles.
func age(t *testing.T, file string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(by)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
	settle()
}

// skipUnlessStat skips a test about avoided reads on systems where everything is read again.
func skipUnlessStat(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("nothing is known of files here")
	}
}

// A folder is read again when an entry was added or removed, and when its time cannot prove that
// nothing changed.
func TestListingIsReadAgainAfterChange(t *testing.T) {
	skipUnlessStat(t)
	top := t.TempDir()
	ls := NewListings(top)
	if ls.Top() != top {
		t.Errorf("the output is %s", ls.Top())
	}
	sub := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	reads := 0
	list := func() *Listing {
		t.Helper()
		l, err := ls.Of("a/b", func() ([]fs.DirEntry, error) {
			reads++
			return os.ReadDir(sub)
		})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	expect := func(read bool, files int) {
		t.Helper()
		before := reads
		if l := list(); len(l.Entries) != files || (reads > before) != read {
			t.Errorf("%d files, read: %t; want %d, %t", len(l.Entries), reads > before, files, read)
		}
	}
	age(t, sub, time.Hour)
	expect(true, 0)
	expect(true, 0)
	write(t, filepath.Join(sub, "x"), "1")
	settle()
	expect(true, 1)
	expect(false, 1)
	list().Writable = true
	if !list().Writable {
		t.Error("what was found of the folder is not kept")
	}
	write(t, filepath.Join(sub, "x"), "22") // the folder's metadata does not show that
	expect(false, 1)
	if err := os.Remove(filepath.Join(sub, "x")); err != nil {
		t.Fatal(err)
	}
	expect(true, 0)
	if list().Writable {
		t.Error("what was found of the folder is kept after a change")
	}
	settle()
	list()
	if err := os.Rename(sub, sub+"2"); err != nil {
		t.Fatal(err)
	}
	if _, err := ls.Of("a/b", func() ([]fs.DirEntry, error) { return os.ReadDir(sub) }); err == nil {
		t.Error("a folder that has gone is known")
	}
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	expect(true, 0)
}

// Without a process that writes the output repeatedly, everything is read each time and nothing is
// kept.
func TestNilListingsReadEverything(t *testing.T) {
	var ls *Listings
	dir := t.TempDir()
	for want := range 3 {
		l, err := ls.Of(".", func() ([]fs.DirEntry, error) { return os.ReadDir(dir) })
		if err != nil || len(l.Entries) != want {
			t.Errorf("%d files, %v; want %d", len(l.Entries), err, want)
		}
		write(t, filepath.Join(dir, string(rune('a'+want))), "")
	}
}

// A manifest is read again when its file was replaced, and when its time cannot prove that nothing
// changed.
func TestManifestIsReadAgainAfterChange(t *testing.T) {
	skipUnlessStat(t)
	file := filepath.Join(t.TempDir(), "manifest")
	reads := 0
	l := &Listing{}
	expect := func(read bool, want string) {
		t.Helper()
		before := reads
		text, err := l.Manifest(func() (filestat.Stat, error) {
			info, err := os.Lstat(file)
			return filestat.Of(info), err
		}, func() ([]byte, error) {
			reads++
			return os.ReadFile(file)
		})
		if err != nil && want != "" || text != want || (reads > before) != read {
			t.Errorf("%q, %v, read: %t; want %q, %t", text, err, reads > before, want, read)
		}
	}
	expect(true, "")
	write(t, file, "one")
	age(t, file, time.Hour)
	expect(true, "one")
	expect(true, "one")
	age(t, file, -time.Hour)
	expect(true, "one")
	expect(false, "one")
	write(t, file, "three")
	expect(true, "three")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	expect(true, "")
}
