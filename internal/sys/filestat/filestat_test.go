package filestat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRecentFilesAreNotSettled(t *testing.T) {
	now := time.Unix(1000, 500_000_000)
	at := func(age time.Duration) Stat {
		n := now.Add(-age).UnixNano()
		return Stat{Ino: 1, Mtime: n, Ctime: n}
	}
	old := at(time.Hour + time.Millisecond)
	for _, c := range []struct {
		stat Stat
		want bool
	}{
		{Stat{}, false}, {at(0), false}, {at(time.Millisecond), false}, {at(50 * time.Millisecond), true}, {old, true},
		{at(-time.Hour), false},              // in the future
		{at(1500 * time.Millisecond), false}, // whole seconds only
		{at(3500 * time.Millisecond), true},
		{Stat{Ino: 1, Mtime: old.Mtime, Ctime: at(time.Millisecond).Ctime}, false}, // the time was set explicitly
		{Stat{Ino: 1, Mtime: at(-time.Hour).Mtime, Ctime: old.Ctime}, false},
	} {
		if got := c.stat.Settled(now); got != c.want {
			t.Errorf("%+v: %t, want %t", c.stat, got, c.want)
		}
	}
}

// Every change to a settled file is visible.
func TestStatShowsEveryChange(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("nothing is known of files here")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	stat := func() Stat {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return Of(info)
	}
	for !stat().Settled(time.Now()) {
		time.Sleep(time.Millisecond)
	}
	before := stat()
	mtime := time.Unix(0, before.Mtime)
	if err := os.WriteFile(file, []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, mtime, mtime); err != nil {
		t.Fatal(err)
	}
	if after := stat(); after == before || after.Mtime != before.Mtime || after.Size != before.Size {
		t.Errorf("%+v, before %+v", after, before)
	}
	info, err := os.Stat(filepath.Dir(file))
	if err != nil || Of(info) != (Stat{}) {
		t.Errorf("a directory has %+v, %v", Of(info), err)
	}
}

func TestDirsResolvesSymlinks(t *testing.T) {
	top := t.TempDir()
	top, err := filepath.EvalSymlinks(top)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(top, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(top, "link")); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(filepath.Join(top, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var d Dirs
	for path, want := range map[string]string{"a/b": "a/b", "link": "a", "link/b": "a/b", "file": "", "none": "", "file/x": "",
		"link/none": ""} {
		if want != "" {
			want = filepath.Join(top, want)
		}
		for range 2 {
			if got := d.Real(filepath.Join(top, path)); got != want {
				t.Errorf("%s is %q, want %q", path, got, want)
			}
		}
	}
}

// A Looker returns the same as os.Lstat, whatever it looked at before.
func TestLookerMatchesLstat(t *testing.T) {
	top := t.TempDir()
	var paths []string
	for _, dir := range []string{"a", "b", "a/sub"} {
		if err := os.Mkdir(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 25 {
			file := filepath.Join(top, dir, fmt.Sprint(i))
			if err := os.WriteFile(file, make([]byte, i), 0o600+fs.FileMode(i)); err != nil {
				t.Fatal(err)
			}
			_ = os.Symlink(file, file+"-link") // not every system lets every user make one
			paths = append(paths, file, file+"-link", file+"-none", filepath.Join(file, "below"))
		}
		paths = append(paths, filepath.Join(top, dir), filepath.Join(top, "none", dir), os.DevNull, string(filepath.Separator))
	}
	var keeps Looker
	defer keeps.Close()
	for _, l := range []*Looker{&keeps, nil, &keeps} {
		for _, path := range paths {
			mode, stat, err := l.Lstat(path)
			info, want := os.Lstat(path)
			if want != nil {
				if !errors.Is(err, fs.ErrNotExist) && !strings.Contains(fmt.Sprint(err), "not a directory") {
					t.Errorf("%s: %v instead of %v", path, err, want)
				}
				continue
			}
			if err != nil || mode != info.Mode().Type() || stat != Of(info) {
				t.Errorf("%s: %v %+v %v instead of %v", path, mode, stat, err, info)
			}
		}
		slices.Reverse(paths)
	}
}
