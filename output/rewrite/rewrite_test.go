package rewrite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/rewrite"
)

// versions are the files of a directory before and after.
var versions = [2]map[string]string{
	{"a.yaml": "a 0\n", "sub/b.yaml": "b 0\n", "gone.yaml": "gone\n", "same.yaml": "same\n"},
	{"a.yaml": "a 1\n", "sub/b.yaml": "b 1\n", "new/c.yaml": "c 1\n", "same.yaml": "same\n"},
}

func changes() (files []rewrite.File) {
	for _, name := range []string{"a.yaml", "gone.yaml", "new/c.yaml", "sub/b.yaml"} {
		f := rewrite.File{Path: name, Mode: 0o600}
		if text, ok := versions[0][name]; ok {
			f.Old = []byte(text)
		}
		if text, ok := versions[1][name]; ok {
			f.New = []byte(text)
		}
		files = append(files, f)
	}
	return files
}

// write writes files to a directory that contains the first version.
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

// TestOthersStay writes two files. Other files keep their times, and the written files keep their
// modes.
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

// TestRefusedFileLeavesAllUnchanged has files that cannot be written. No other file changes either.
func TestRefusedFileLeavesAllUnchanged(t *testing.T) {
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
		"a file and a folder": func(string) rewrite.File { return rewrite.File{Path: "new/c.yaml/d.yaml", New: []byte("x")} },
		"a folder":            func(string) rewrite.File { return rewrite.File{Path: "sub", New: []byte("x")} },
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

func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() || d.Name() == ".krmflow-run-lock" {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		data, err := os.ReadFile(path)
		all[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func fill(t *testing.T, dir string) {
	t.Helper()
	for name, text := range versions[0] {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
