package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/krm"
)

func has(c *Cache, d krm.Digest) bool {
	_, err := c.Get(d)
	return err == nil
}

func TestMain(m *testing.M) {
	if dir := os.Getenv("KRMFLOW_TEST_HAMMER"); dir != "" {
		hammer(dir)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func open(t *testing.T) *Cache {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestBlobsAndEntries(t *testing.T) {
	c := open(t)
	d, err := c.Put([]byte("hello"))
	if err != nil || d != krm.DigestOf([]byte("hello")) || !has(c, d) {
		t.Fatalf("digest %s, %v", d, err)
	}
	if data, err := c.Get(d); string(data) != "hello" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if _, ok := c.Lookup("git", "key"); ok {
		t.Error("an entry is there before it was recorded")
	}
	if err := c.Record("git", "key", d); err != nil {
		t.Fatal(err)
	}
	if got, ok := c.Lookup("git", "key"); got != d || !ok {
		t.Errorf("%s, %v", got, ok)
	}
	if _, ok := c.Lookup("oci", "key"); ok {
		t.Error("the entry of one kind counts for another")
	}
}

// Whatever happens to a file of the cache, a read returns the right content or nothing, and the
// content can be stored again.
func TestDamagedFilesAreNeverReturned(t *testing.T) {
	damages := map[string]func(path string) error{
		"bit":       func(path string) error { return flip(path) },
		"cut":       func(path string) error { return os.Truncate(path, 2) },
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"huge":      func(path string) error { return os.Truncate(path, 1<<42) },
		"gone":      os.Remove,
		"directory": func(path string) error { return errors.Join(os.Remove(path), os.MkdirAll(path+"/x", 0o700)) },
		"link":      func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/dev/zero", path)) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			c := open(t)
			d, _ := c.Put([]byte("hello"))
			if err := errors.Join(c.Record("git", "key", d), damage(c.blob(d)), damage(c.entry("git", "key"))); err != nil {
				t.Fatal(err)
			}
			if data, err := c.Get(d); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Get: %q, %v", data, err)
			}
			if got, ok := c.Lookup("git", "key"); ok {
				t.Errorf("Lookup: %s", got)
			}
			if _, err := c.Put([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			if err := c.Record("git", "key", d); err != nil {
				t.Fatal(err)
			}
			data, err := c.Get(d)
			if got, ok := c.Lookup("git", "key"); string(data) != "hello" || err != nil || !ok || got != d {
				t.Errorf("afterwards %q, %v, %s", data, err, got)
			}
		})
	}
}

// A blob that another run is still writing is not visible, and trimming does not remove it.
func TestUnfinishedBlobIsNotVisible(t *testing.T) {
	c := open(t)
	want := []byte("written in two steps")
	d := krm.DigestOf(want)
	if err := os.MkdirAll(filepath.Dir(c.blob(d)), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(c.blob(d), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, part := range [][]byte{want[:7], want[7:]} {
		if has(c, d) {
			t.Error("half a blob is there")
		}
		if _, err := f.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if !has(c, d) {
		t.Error("the blob has gone")
	}
}

func flip(path string) error {
	data, err := os.ReadFile(path)
	if err == nil {
		data[len(data)/2] ^= 1
		err = os.WriteFile(path, data, 0o600)
	}
	return err
}

func TestOpenRefusesUnsafeFolders(t *testing.T) {
	dir := t.TempDir()
	for name, prepare := range map[string]func(path string) error{
		"others may write": func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o777)) },
		"no directory":     func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"link":             func(path string) error { return os.Symlink(t.TempDir(), path) },
	} {
		path := filepath.Join(dir, name)
		if err := prepare(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil {
			t.Errorf("%s: it is used", name)
		}
	}
	c, err := Open(filepath.Join(dir, "a/b/c"))
	if err != nil {
		t.Fatal(err)
	}
	d, _ := c.Put([]byte("x"))
	c.Record("git", "key", d)
	err = filepath.WalkDir(filepath.Join(dir, "a"), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s, %v", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTemporaryCacheIsRemovedOnClose(t *testing.T) {
	c, err := Temporary()
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Put([]byte("x"))
	if err != nil || !has(c, d) {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil || has(c, d) {
		t.Errorf("it is still there, %v", err)
	}
}

// hammer stores and reads the same entries in an endless loop.
func hammer(dir string) {
	for round := 0; ; round++ {
		c, err := Open(dir)
		if err != nil {
			fail(err)
		}
		for i := range 20 {
			if err := once(c, i); err != nil {
				fail(err)
			}
		}
		c.Close()
		if round > 500 {
			return
		}
	}
}

func fail(err error) {
	fmt.Println(err)
	os.Exit(3)
}

func once(c *Cache, i int) error {
	text := strings.Repeat(fmt.Sprint(i), 1000)
	want := krm.DigestOf([]byte(text))
	if d, ok := c.Lookup("git", fmt.Sprint(i)); ok && d != want {
		return fmt.Errorf("entry %d is %s", i, d)
	}
	if _, err := c.Put([]byte(text)); err != nil {
		return err
	}
	if err := c.Record("git", fmt.Sprint(i), want); err != nil {
		return err
	}
	data, err := c.Get(want)
	if err == nil && string(data) != text {
		err = fmt.Errorf("blob %d has other bytes", i)
	}
	return err
}

// Processes share a cache. Killed ones leave nothing that others would read, and the next run
// removes their leftovers.
func TestKilledProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		var all []*exec.Cmd
		for range 4 {
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), "KRMFLOW_TEST_HAMMER="+dir)
			out := &strings.Builder{}
			cmd.Stdout = out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			all = append(all, cmd)
		}
		time.Sleep(50 * time.Millisecond)
		for _, cmd := range all {
			cmd.Process.Kill()
			cmd.Wait()
			if out := cmd.Stdout.(*strings.Builder); out.Len() > 0 {
				t.Error(out)
			}
		}
	}
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := once(c, i); err != nil {
			t.Error(err)
		}
	}
	c.Close()
	if left, _ := os.ReadDir(filepath.Join(c.folder(), "tmp")); len(left) > 0 {
		t.Errorf("%d files of killed processes are left", len(left))
	}
}
