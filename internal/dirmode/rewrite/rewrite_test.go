package rewrite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/krmflow/krmflow/internal/dirmode/rewrite"
	"github.com/krmflow/krmflow/output"
)

// write writes files to a directory that holds those of the first version.
func write(t *testing.T, dir string, files ...rewrite.File) error {
	t.Helper()
	d, err := rewrite.Open(dir, ".memory.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := rewrite.Open(dir, ".memory.yaml"); !isLocked(err) {
		t.Errorf("a second run: %v", err)
	}
	return d.Write(files)
}

func isLocked(err error) bool {
	var locked *output.LockedError
	return errors.As(err, &locked)
}

// TestOthersStay writes two files: others keep their times, and what is written keeps its mode.
func TestOthersStay(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir)
	before := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	same := filepath.Join(dir, "same.yaml")
	if err := os.Chtimes(same, before, before); err != nil {
		t.Fatal(err)
	}
	if err := write(t, dir, changes()...); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(same)
	if err != nil || !info.ModTime().Equal(before) {
		t.Errorf("%v, %v", info.ModTime(), err)
	}
	if info, err = os.Stat(filepath.Join(dir, "a.yaml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 4 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestRefused has files that are not written to. None of the others changes either.
func TestRefused(t *testing.T) {
	for name, bad := range map[string]func(dir string) rewrite.File{
		"outside": func(string) rewrite.File { return rewrite.File{Path: "../x.yaml", New: []byte("x")} },
		"hidden":  func(string) rewrite.File { return rewrite.File{Path: ".git/hooks/post-commit", New: []byte("x")} },
		"changed": func(string) rewrite.File {
			return rewrite.File{Path: "same.yaml", Old: []byte("other"), New: []byte("x")}
		},
		"appeared": func(string) rewrite.File { return rewrite.File{Path: "same.yaml", New: []byte("x")} },
		"link": func(dir string) rewrite.File {
			if err := os.Symlink("same.yaml", filepath.Join(dir, "link.yaml")); err != nil {
				t.Fatal(err)
			}
			return rewrite.File{Path: "link.yaml", Old: []byte("same\n"), New: []byte("x")}
		},
		"through a link": func(dir string) rewrite.File {
			if err := os.Symlink("sub", filepath.Join(dir, "other")); err != nil {
				t.Fatal(err)
			}
			return rewrite.File{Path: "other/new.yaml", New: []byte("x")}
		},
		"a folder": func(string) rewrite.File { return rewrite.File{Path: "sub", New: []byte("x")} },
	} {
		dir := t.TempDir()
		fill(t, dir)
		file := bad(dir)
		before := content(t, dir)
		if err := write(t, dir, append(changes(), file)...); err == nil {
			t.Errorf("%s: no error", name)
		}
		after := content(t, dir)
		if len(after) != len(before) {
			t.Errorf("%s: %v, was %v", name, after, before)
		}
		for file, text := range before {
			if after[file] != text {
				t.Errorf("%s: %s has changed", name, file)
			}
		}
	}
}
