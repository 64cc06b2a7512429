package dirs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestRemoveAll removes a tree that the standard library's function cannot: a chain of directories
// that is deeper than the limit of open files, with an unreadable directory at its end.
func TestRemoveAll(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	if err := os.Mkdir(top, 0o700); err != nil {
		t.Fatal(err)
	}
	back, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	defer os.Chdir(back)
	must := func(err error) {
		if err != nil {
			os.Chdir(back)
			t.Fatal(err)
		}
	}
	outside := filepath.Join(filepath.Dir(top), "outside")
	must(os.WriteFile(outside, nil, 0o600))
	must(os.Chdir(top))
	must(os.Mkdir("removed-1", 0o700)) // a name that RemoveAll itself uses
	restore := fewFiles(t, 64)
	for range 500 {
		must(os.Mkdir("d", 0o700))
		must(os.Chdir("d"))
	}
	must(os.WriteFile("file", []byte("x"), 0o400))
	must(os.Symlink(outside, "link"))
	must(os.Chmod(".", 0))
	must(os.Chdir(back))
	if os.RemoveAll(top) == nil {
		t.Fatal("the tree is too easy")
	}
	err = RemoveAll(top)
	restore()
	if _, gone := os.Lstat(top); err != nil || !os.IsNotExist(gone) {
		t.Errorf("RemoveAll: %v, %v", err, gone)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("what a link leads to: %v", err)
	}
	if err := RemoveAll(top); err != nil {
		t.Errorf("what is not there: %v", err)
	}
}

// fewFiles limits this process to n open files and returns a function that restores the limit.
func fewFiles(t *testing.T, n uint64) (restore func()) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	return func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) }
}
