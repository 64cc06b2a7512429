package lockfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/lock"
)

func entry(name, content string) lock.Entry {
	return lock.Entry{Name: name, Kind: lock.Content, Digest: krm.DigestOf([]byte(content))}
}

// Concurrent writers of one file each add their entry and never move an entry of another writer.
func TestWriteAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), lock.Name)
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			var seen Seen
			seen.Add(entry("https://example.com/"+string(rune('a'+i)), "x"))
			seen.Add(entry("https://example.com/shared", string(rune('a'+i))))
			if _, _, err := (Update{}).Write(path, &seen); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	file, err := Read(path, true)
	if err != nil || len(file.Entries()) != 11 {
		t.Fatalf("%v, %v", file, err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var seen Seen
	seen.Add(entry("https://example.com/shared", "other"))
	file, changes, err := Update{}.Write(path, &seen)
	if after, _ := os.ReadFile(path); err != nil || len(changes) > 0 || string(after) != string(before) {
		t.Errorf("%v, %v\n%s", changes, err, after)
	}
	want := path + ": 11 locked, 0 changed, 10 not used by these directories (--prune removes them)\n"
	if got := seen.Report(file, changes); got != want {
		t.Errorf("%q", got)
	}
}

// A file that is not a lock file is not overwritten, and no lock file is created without entries.
func TestNotWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, lock.Name)
	var seen Seen
	if _, _, err := (Update{}).Write(path, &seen); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("an empty lock was made")
	}
	seen.Add(entry("https://example.com/a", "x"))
	if err := os.WriteFile(path, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (Update{}).Write(path, &seen); err == nil {
		t.Error("a file of somebody else is written over")
	}
	if data, _ := os.ReadFile(path); string(data) != "mine\n" {
		t.Errorf("%s", data)
	}
	if _, _, err := (Update{}).Write(filepath.Join(dir, "none", lock.Name), &seen); err == nil ||
		!strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
}

func TestNamesSelectLockEntries(t *testing.T) {
	file := &lock.File{}
	file.Set(entry("https://example.com/r?ref=v1", "x"))
	file.Set(entry("https://example.com/r2", "x"))
	file.Set(entry("https://example.com/g.git?ref=main", "x"))
	file.Set(entry("https://example.com/g.git//c.yaml?ref=main", "x"))
	for name, want := range map[string]int{"https://example.com/r": 1, "https://example.com/r?ref=v1": 1, "https": 0, "https://example.com": 0, "https://example.com/r2": 1,
		"https://example.com/g.git": 2, "https://example.com/g.git?ref=main": 2, "https://example.com/g.git//c.yaml?ref=main": 1, "https://example.com/g.git//c.yaml": 1} {
		u, n := Update{Names: []string{name}}, 0
		for _, e := range file.Entries() {
			if u.Moves(e) {
				n++
			}
		}
		if err := u.Check(file); n != want || (err == nil) != (want > 0) {
			t.Errorf("%s is %d entries, %v", name, n, err)
		}
	}
	t.Chdir(t.TempDir())
	if dir := Outside([]string{".", "a/../b", "https://example.com/org/repo//a"}); dir != "" {
		t.Error(dir)
	}
	for _, dir := range []string{"..", "../x", "/"} {
		if got := Outside([]string{".", dir}); got != dir {
			t.Errorf("%s: %q", dir, got)
		}
	}
}
