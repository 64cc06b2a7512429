package loaders

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/krmflow/krmflow/krm/yaml"
)

// Layers of an [fs.FS] may read the same files as layers on this machine.
func TestFSObeysRootRestrictions(t *testing.T) {
	files := fstest.MapFS{
		"root/a.yaml":       {Data: []byte("a")},
		"root/in.yaml":      {Data: []byte("sub/../a.yaml"), Mode: fs.ModeSymlink},
		"root/sub/up.yaml":  {Data: []byte("../a.yaml"), Mode: fs.ModeSymlink},
		"root/dir":          {Data: []byte("sub"), Mode: fs.ModeSymlink},
		"root/out.yaml":     {Data: []byte("../outside.yaml"), Mode: fs.ModeSymlink},
		"root/loop.yaml":    {Data: []byte("loop.yaml"), Mode: fs.ModeSymlink},
		"root/machine.yaml": {Data: []byte("/etc/hostname"), Mode: fs.ModeSymlink},
		"root/above.yaml":   {Data: []byte("../../x"), Mode: fs.ModeSymlink},
		"root/device":       {Mode: fs.ModeDevice},
		"outside.yaml":      {Data: []byte("o")},
	}
	for _, c := range []struct {
		path, want, err string
		free            string // without restriction
	}{
		{path: "a.yaml", want: "a"},
		{path: "./sub/../a.yaml", want: "a"},
		{path: "in.yaml", want: "a"},
		{path: "dir/up.yaml", want: "a"},
		{path: "/root/a.yaml", want: "a"},
		{path: "../outside.yaml", err: `"../outside.yaml" is outside the directory "root"`, free: "o"},
		{path: "/outside.yaml", err: `is outside the directory "root"`, free: "o"},
		{path: "out.yaml", err: `"out.yaml" is a symbolic link to "outside.yaml", which is outside the directory "root"`, free: "o"},
		{path: "../../../outside.yaml", err: "is outside the file system being rendered"},
		{path: "machine.yaml", err: `the symbolic link "/etc/hostname" leads out of the file system being rendered`},
		{path: "above.yaml", err: "leads out of the file system being rendered"},
		{path: "loop.yaml", err: "too many links"},
		{path: "sub", err: `"sub" is a directory, not a file`},
		{path: "device", err: "is not a regular file"},
		{path: "b.yaml", err: `"b.yaml" does not exist`},
		{path: "a.yaml/x", err: `"a.yaml/x" does not exist`},
	} {
		for _, unrestricted := range []bool{false, true} {
			l := NewLocal(t.Context(), Config{FS: files, Roots: []string{"root"}, Unrestricted: unrestricted})
			dir, err := l.Root("root")
			if err != nil || dir.Name != "root" {
				t.Fatal(dir, err)
			}
			want, wantErr := c.want, c.err
			if unrestricted && c.free != "" {
				want, wantErr = c.free, ""
			}
			src, err := l.Read(dir, c.path)
			switch {
			case wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)):
				t.Errorf("%s (unrestricted %v): error %v, want %s", c.path, unrestricted, err, wantErr)
			case wantErr == "" && (err != nil || string(src.Data) != want || strings.Contains(src.File, "\x00")):
				t.Errorf("%s (unrestricted %v): %v, %+v", c.path, unrestricted, err, src)
			}
		}
	}
}

func TestGivenDirs(t *testing.T) {
	files := fstest.MapFS{
		"base/kustomization.yaml": {}, "link": {Data: []byte("base"), Mode: fs.ModeSymlink}, "file": {}, "large": {Data: make([]byte, 11)},
	}
	l := NewLocal(t.Context(), Config{FS: files, Cwd: "/", Roots: []string{"base"}})
	dir, err := l.Root("link")
	if err != nil || dir.Name != "base" || dir.IsFetched() || !dir.IsVirtual() {
		t.Errorf("link: %+v, %v", dir, err)
	}
	up, err := l.Sub(dir, "..")
	if err != nil || up.Name != "." || !up.Contains(dir) {
		t.Errorf("the root: %+v, %v", up, err)
	}
	if dir, err := NewLocal(t.Context(), Config{FS: files, Roots: []string{"/base"}}).Root("/base"); err != nil || dir.Name != "/base" {
		t.Errorf("an absolute path is shown as %+v, %v", dir, err)
	}
	if _, err := l.Sub(dir, "../.."); err == nil {
		t.Error("above the root there is something")
	}
	var missing *NotFoundError
	if _, err := l.Root("bass"); !errors.As(err, &missing) || len(missing.Hints()) != 1 || missing.Hints()[0] != `did you mean "base"?` {
		t.Errorf("no near name for a misspelled directory: %v", err)
	}
	if _, err := l.ReadUpTo(10, up, "large"); err == nil || !strings.Contains(err.Error(), "is larger than") {
		t.Errorf("%v, want that it is too large", err)
	}
	if !l.IsDir(up, "base") || l.IsDir(up, "file") || l.IsDir(up, "none") {
		t.Error("what is a directory?")
	}
	if _, err := l.Program(givenRoot+"/file", givenRoot); err == nil ||
		!strings.Contains(err.Error(), `"file" is in the file system being rendered`) {
		t.Errorf("a program in it: %v", err)
	}
}

// grown is a file that has more content than its size says.
type grown struct {
	fs.File
	left int
}

func (g *grown) Read(p []byte) (int, error) {
	n := min(len(p), g.left)
	g.left -= n
	if n == 0 {
		return g.File.Read(p)
	}
	return n, nil
}

type grownFS struct{ fstest.MapFS }

func (f grownFS) Open(name string) (fs.File, error) {
	file, err := f.MapFS.Open(name)
	return &grown{file, yaml.MaxFile + 100}, err
}

// The size limit applies to the content that is actually read.
func TestGivenGrows(t *testing.T) {
	g := &given{FS: grownFS{fstest.MapFS{"a": {Data: []byte("a")}}}}
	if data, err := g.ReadFile("a"); err != nil || len(data) != yaml.MaxFile+1 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// Symlinks of a real directory are followed, but never to other files of this machine.
func TestGivenDirFS(t *testing.T) {
	cwd := tree(t, map[string]string{"k/link.yaml": "-> real/a.yaml", "k/real/a.yaml": "a", "k/out.yaml": "-> ../../x",
		"k/abs.yaml": "-> /etc/hostname"})
	l := NewLocal(t.Context(), Config{FS: os.DirFS(cwd), Roots: []string{"k"}, Unrestricted: true})
	dir, err := l.Root("k")
	if err != nil {
		t.Fatal(err)
	}
	if src, err := l.Read(dir, "link.yaml"); err != nil || string(src.Data) != "a" || src.File != "k/link.yaml" {
		t.Errorf("%+v, %v", src, err)
	}
	for _, name := range []string{"out.yaml", "abs.yaml"} {
		if _, err := l.Read(dir, name); err == nil || !strings.Contains(err.Error(), "leads out of") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// After its context has ended, nothing more is read.
func TestCancelledLoaderReadsNothing(t *testing.T) {
	why := errors.New("enough")
	for _, c := range []Config{{FS: fstest.MapFS{"k/a": {}}}, {Cwd: tree(t, map[string]string{"k/a": ""})}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		l := NewLocal(ctx, c)
		dir, err := l.Root(".")
		if err != nil {
			t.Fatal(err)
		}
		cancel(why)
		if _, err := l.Sub(dir, "k"); !errors.Is(err, why) {
			t.Error(err)
		}
		if _, err := l.Read(dir, "k/a"); !errors.Is(err, why) {
			t.Error(err)
		}
		dir.Close()
	}
}
