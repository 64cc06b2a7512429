package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestWriteFileAtomic(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out.yaml")
	for _, data := range []string{"one", "two"} {
		if err := WriteFileAtomic(file, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(file); string(got) != data {
			t.Errorf("file is %q", got)
		}
	}
	os.Chmod(file, 0o600)
	if err := WriteFileAtomic(file, []byte("three"), 0o666); err != nil {
		t.Fatal(err)
	}
	wantMode(t, file, 0o600)
	os.Chmod(file, 0o644)
	if err := WriteFileAtomic(file, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantMode(t, file, 0o600)

	// A leftover of a killed run is replaced, and a symlink is never followed.
	link := filepath.Join(dir, "link.yaml")
	if err := os.Symlink("out.yaml", link); err != nil {
		t.Fatal(err)
	}
	if err := WriteFileAtomic(link, []byte("five"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "four" {
		t.Errorf("the link was followed: %q", got)
	}
	wantNames(t, dir, "link.yaml", "out.yaml")

	var refused *RefusedError
	for _, path := range []string{dir, dir + "/", filepath.Join(dir, "new") + "/"} {
		if err := WriteFileAtomic(path, nil, 0o666); !errors.As(err, &refused) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	var failed *WriteError
	missing := filepath.Join(dir, "no", "out.yaml")
	if err := WriteFileAtomic(missing, nil, 0o666); !errors.As(err, &failed) || err.Error() != missing+": no such file or directory" {
		t.Errorf("%v", err)
	}
}

func TestWriteFileAtomicLeftover(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := replaceFile(root, "x", text("long enough to show"), 0o666, nil); err != nil {
		t.Fatal(err)
	}
	// A killed run leaves its temporary file, without a lock.
	write(t, filepath.Join(dir, tempNameOf("x")), "leftover that is longer than the new content")
	if err := replaceFile(root, "x", text("new"), 0o666, nil); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, dir); len(got) != 1 || got["x"] != "new" {
		t.Errorf("%q", got)
	}
}

func TestWriteFileAtomicStreams(t *testing.T) {
	if err := WriteFileAtomic("/dev/null", []byte("x"), 0o666); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode().IsRegular() {
		t.Fatal("/dev/null was replaced")
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	var failed *WriteError
	if err := WriteFileAtomic("/dev/full", []byte("x"), 0o666); !errors.As(err, &failed) ||
		err.Error() != "/dev/full: no space left on device" {
		t.Errorf("%v", err)
	}
}

// TestWriteFileAtomicLinks puts symlinks in the place of the file and of its temporary file. They
// are not followed, and their targets are neither written nor truncated.
func TestWriteFileAtomicLinks(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out.yaml")
	for _, target := range []string{"/dev/null", "/dev/full", "nowhere"} {
		if err := os.Symlink(target, file); err != nil {
			t.Skip(err)
		}
		if err := WriteFileAtomic(file, []byte("new"), 0o666); err != nil {
			t.Errorf("link to %s: %v", target, err)
		}
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			t.Errorf("the link to %s was not replaced: %v %v", target, info, err)
		}
		os.Remove(file)
	}
	victim, temp := filepath.Join(dir, "victim"), filepath.Join(dir, tempNameOf("out.yaml"))
	write(t, victim, "keep")
	var refused *RefusedError
	if err := os.Link(victim, temp); err != nil {
		t.Skip(err)
	}
	if err := WriteFileAtomic(file, []byte("new"), 0o666); !errors.As(err, &refused) || refused.Path != temp {
		t.Errorf("a second name of a file: %v", err)
	}
	os.Remove(temp)
	if err := os.Symlink("victim", temp); err != nil {
		t.Fatal(err)
	}
	if err := WriteFileAtomic(file, []byte("new"), 0o666); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a link: %v", err)
	}
	if got := tree(t, dir); got["victim"] != "keep" || len(got) != 2 {
		t.Errorf("%q", got)
	}
}

func TestWriteFileAtomicConcurrent(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 5 {
				if err := WriteFileAtomic(file, []byte(strings.Repeat(string(rune('a'+i)), 1000)), 0o666); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, _ := os.ReadFile(file)
	if len(got) != 1000 || strings.Trim(string(got), string(got[:1])) != "" {
		t.Errorf("mixed: %d bytes", len(got))
	}
	wantNames(t, dir, "x")
}

// text returns fixed content.
func text(s string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(s), nil }
}

// Concurrent edits of a file lose no change.
func TestEditFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			err := EditFile(path, 0o600, func(old []byte) ([]byte, error) { return append(old, 'x'), nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if data, err := os.ReadFile(path); err != nil || string(data) != strings.Repeat("x", 20) {
		t.Errorf("%q, %v", data, err)
	}
	before, _ := os.Stat(path)
	wrong := errors.New("wrong")
	if err := EditFile(path, 0o600, func([]byte) ([]byte, error) { return nil, wrong }); err != wrong {
		t.Errorf("%v", err)
	}
	if err := EditFile(path, 0o600, func(old []byte) ([]byte, error) { return old, nil }); err != nil {
		t.Errorf("%v", err)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was replaced, %v", err)
	}
}
