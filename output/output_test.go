package output

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output/manifest"
)

// object returns a resource. data distinguishes versions of it.
func object(apiVersion, kind, ns, name, data string) *krm.Resource {
	meta := []yaml.Field{{Key: "name", Value: yaml.Str(name)}}
	if ns != "" {
		meta = append(meta, yaml.Field{Key: "namespace", Value: yaml.Str(ns)})
	}
	return krm.NewResource(yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str(apiVersion)},
		yaml.Field{Key: "kind", Value: yaml.Str(kind)},
		yaml.Field{Key: "metadata", Value: yaml.MapOf(meta...)},
		yaml.Field{Key: "data", Value: yaml.MapOf(yaml.Field{Key: "v", Value: yaml.Str("is-" + data)})}), nil)
}

func configMap(name, data string) *krm.Resource { return object("v1", "ConfigMap", "", name, data) }

// writeOut puts one list per root and commits.
func writeOut(t *testing.T, dir string, opts Options, roots map[string]*krm.List) Changes {
	t.Helper()
	c, err := tryWriteOut(dir, opts, roots)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tryWriteOut(dir string, opts Options, roots map[string]*krm.List) (Changes, error) {
	opts.Prune = opts.Prune || !opts.OnlyThese
	o, err := Open(dir, opts)
	if err != nil {
		return Changes{}, err
	}
	defer o.Abort()
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		if roots[root] == nil {
			err = o.Keep(root)
		} else {
			err = o.Put(root, roots[root])
		}
		if err != nil {
			return Changes{}, err
		}
	}
	return o.Commit()
}

// tree returns the content of every file below dir, including symlinks and folders, without the
// manifests.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		switch {
		case filepath.Base(rel) == manifest.Name:
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			files[rel] = "-> " + target
		case d.IsDir():
			files[rel+"/"] = ""
		default:
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			files[rel] = string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(tree(t, dir))); !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", filepath.Base(dir), got, want)
	}
}

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The files of a long list are written on several cores, with the same result.
func TestPutLongList(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	l := krm.NewList()
	for i := range 1500 {
		l.Append(configMap(fmt.Sprint("c", i), fmt.Sprint(i)))
	}
	four, one := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "out")
	if c := writeOut(t, four, Options{}, map[string]*krm.List{"a": l}); len(c.Added) != l.Len() {
		t.Errorf("first run: %d files added", len(c.Added))
	}
	l.Set(700, configMap("c700", "changed"))
	c := writeOut(t, four, Options{}, map[string]*krm.List{"a": l})
	if len(c.Added)+len(c.Removed) > 0 || len(c.Changed) != 1 || c.Unchanged != l.Len()-1 {
		t.Errorf("second run: %d files added, %d removed, %d changed, %d unchanged", len(c.Added), len(c.Removed), len(c.Changed),
			c.Unchanged)
	}
	runtime.GOMAXPROCS(1)
	writeOut(t, one, Options{}, map[string]*krm.List{"a": l})
	if !maps.Equal(tree(t, one), tree(t, four)) {
		t.Error("on one core the files are others")
	}
	text, err := os.ReadFile(filepath.Join(one, "a", manifest.Name))
	other, otherErr := os.ReadFile(filepath.Join(four, "a", manifest.Name))
	if err != nil || otherErr != nil || string(text) != string(other) || strings.Count(string(text), "\n") != 1+2*1500 {
		t.Error("on one core the manifest is another one", err, otherErr)
	}
}

func TestOutputLifecycle(t *testing.T) {
	top := t.TempDir()
	out := filepath.Join(top, "deep", "out")
	c := writeOut(t, out, Options{}, map[string]*krm.List{
		".":   krm.NewList(configMap("top", "1")),
		"a":   krm.NewList(configMap("x", "1"), configMap("y", "1")),
		"a/b": krm.NewList(configMap("x", "1")),
	})
	if !c.Created || len(c.Added) != 4 || c.Unchanged != 0 {
		t.Errorf("first run: %+v", c)
	}
	wantNames(t, out, "a/", "a/b/", "a/b/v1_configmap_x.yaml", "a/v1_configmap_x.yaml", "a/v1_configmap_y.yaml", "v1_configmap_top.yaml")

	c = writeOut(t, out, Options{}, map[string]*krm.List{
		"a":   krm.NewList(configMap("x", "2"), configMap("z", "1")),
		"a/b": krm.NewList(configMap("x", "1")),
	})
	want := Changes{Added: []string{"a/v1_configmap_z.yaml"}, Changed: []string{"a/v1_configmap_x.yaml"},
		Removed: []string{"a/v1_configmap_y.yaml", "v1_configmap_top.yaml"}, Unchanged: 1}
	if fmt.Sprint(c) != fmt.Sprint(want) {
		t.Errorf("second run: %+v, want %+v", c, want)
	}
	wantNames(t, out, "a/", "a/b/", "a/b/v1_configmap_x.yaml", "a/v1_configmap_x.yaml", "a/v1_configmap_z.yaml")
	wantNames(t, filepath.Dir(out), append([]string{"out/"}, prefixed("out/", slices.Sorted(maps.Keys(tree(t, out))))...)...)
}

// prefixed returns names and more with a prefix, sorted.
func prefixed(prefix string, names []string, more ...string) []string {
	var all []string
	for _, n := range append(slices.Clone(names), more...) {
		all = append(all, prefix+n)
	}
	slices.Sort(all)
	return all
}

func TestOutputUnchangedWritesNothing(t *testing.T) {
	top := t.TempDir()
	out := filepath.Join(top, "out")
	roots := map[string]*krm.List{".": krm.NewList(configMap("a", "1"), object("v1", "Secret", "", "s", "1"))}
	writeOut(t, out, Options{}, roots)
	past := time.Now().Add(-time.Hour)
	for _, p := range []string{out, filepath.Join(out, manifest.Name), filepath.Join(out, "v1_configmap_a.yaml")} {
		if err := os.Chtimes(p, past, past); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := os.Stat(out)
	if c := writeOut(t, out, Options{}, roots); !c.None() || c.Unchanged != 2 {
		t.Errorf("changes: %+v", c)
	}
	after, _ := os.Stat(out)
	if !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Error("the folder was written")
	}
	// A removed file is written again.
	os.Remove(filepath.Join(out, "v1_configmap_a.yaml"))
	if c := writeOut(t, out, Options{}, roots); len(c.Changed) != 1 || c.Unchanged != 1 {
		t.Errorf("changes after a file was removed: %+v", c)
	}
	if got := tree(t, out)["v1_configmap_a.yaml"]; !strings.Contains(got, "v: is-1") {
		t.Errorf("the file is now %q", got)
	}
}

func TestOutputCheck(t *testing.T) {
	top := t.TempDir()
	out := filepath.Join(top, "out")
	roots := map[string]*krm.List{"a": krm.NewList(configMap("x", "1")), "b": krm.NewList(configMap("x", "1"))}
	if c := writeOut(t, out, Options{Check: true}, roots); c.None() {
		t.Error("a folder that does not exist would not change")
	}
	wantNames(t, top)
	writeOut(t, out, Options{}, roots)
	before := tree(t, top)
	if c := writeOut(t, out, Options{Check: true}, roots); !c.None() {
		t.Errorf("would change: %+v", c)
	}
	roots["a"] = krm.NewList(configMap("x", "2"), configMap("y", "1"))
	delete(roots, "b")
	c := writeOut(t, out, Options{Check: true}, roots)
	want := Changes{Added: []string{"a/v1_configmap_y.yaml"}, Changed: []string{"a/v1_configmap_x.yaml"},
		Removed: []string{"b/v1_configmap_x.yaml"}}
	if fmt.Sprint(c) != fmt.Sprint(want) {
		t.Errorf("would change %+v, want %+v", c, want)
	}
	if after := tree(t, top); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("check wrote: %v", slices.Sorted(maps.Keys(after)))
	}
}

func TestOutputKeep(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	writeOut(t, out, Options{}, map[string]*krm.List{
		"a": krm.NewList(configMap("x", "1")), "a/b": krm.NewList(configMap("x", "1"), configMap("y", "1")),
		"c": krm.NewList(configMap("x", "1"))})
	if err := os.Remove(filepath.Join(out, "a/b/v1_configmap_y.yaml")); err != nil {
		t.Fatal(err)
	}
	c := writeOut(t, out, Options{}, map[string]*krm.List{
		"a": krm.NewList(configMap("x", "2")), "a/b": nil, "c": nil, "new": nil})
	if len(c.Changed) != 1 || len(c.Added)+len(c.Removed) != 0 {
		t.Errorf("changes: %+v", c)
	}
	wantNames(t, out, "a/", "a/b/", "a/b/v1_configmap_x.yaml", "a/v1_configmap_x.yaml", "c/", "c/v1_configmap_x.yaml")
	// The next run knows the kept files as its own.
	writeOut(t, out, Options{}, map[string]*krm.List{"a": krm.NewList(configMap("x", "2"))})
	wantNames(t, out, "a/", "a/v1_configmap_x.yaml")
}

func TestOutputRefuses(t *testing.T) {
	top := t.TempDir()
	in := filepath.Join(top, "in")
	write(t, filepath.Join(in, "base", "kustomization.yaml"), "")
	write(t, filepath.Join(top, "file"), "")
	write(t, filepath.Join(top, "full", "mine.txt"), "")
	write(t, filepath.Join(top, "full", "sub", "mine.txt"), "")
	write(t, filepath.Join(top, "bad", manifest.Name), "krmflow-manifest 1\nroot \"..\"\nfiles 0\n")
	if err := os.Symlink("in", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(top, "full"))
	for _, test := range []struct{ out, want string }{
		{"", "no name"},
		{"/", "root of the file system"},
		{"../file", "is a file"},
		{"../file/out", "not a directory"},
		{"../link", "symbolic link to in"},
		{"../in/base", "is the input folder"},
		{"../link/base", "is the input folder"},
		{"../in", "holds the input folder"},
		{".", "or contains the current folder"},
		{"..", "holds the input folder"},
		{"../bad", "bad manifest"},
	} {
		before := fmt.Sprint(tree(t, top))
		_, err := Open(test.out, Options{Inputs: []string{"../in/base"}})
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), test.out) {
			t.Errorf("OpenOutput(%q) = %v, want %q", test.out, err, test.want)
		}
		if after := fmt.Sprint(tree(t, top)); after != before {
			t.Errorf("OpenOutput(%q) left %s", test.out, after)
		}
	}
	t.Chdir(top)
	_, err := Open("full", Options{})
	if err == nil || !strings.Contains(err.Error(), "\n  mine.txt\n  sub/\n") {
		t.Errorf("foreign files: %v", err)
	}
}

func TestOutputRefusesForeignFiles(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	roots := map[string]*krm.List{"a": krm.NewList(configMap("x", "1"))}
	writeOut(t, out, Options{}, roots)
	for _, name := range []string{"notes.txt", "a/notes.txt", "a/.hidden", ".svn/config"} {
		path := filepath.Join(out, name)
		write(t, path, "mine")
		_, err := tryWriteOut(out, Options{}, roots)
		if shown := strings.TrimSuffix(name, "config"); err == nil || !strings.Contains(err.Error(), "\n  "+shown+"\n") {
			t.Errorf("with %s: %v", name, err)
		}
		if tree(t, out)[name] != "mine" {
			t.Errorf("%s was touched", name)
		}
		os.Remove(path)
		os.Remove(filepath.Dir(path))
	}
	// Also if they appear while the run is rendering.
	o, err := Open(out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Put("a", krm.NewList(configMap("x", "2"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(out, "a", "late.txt"), "mine")
	if _, err := o.Commit(); err == nil || !strings.Contains(err.Error(), "late.txt") {
		t.Errorf("commit: %v", err)
	}
	wantNames(t, filepath.Dir(out), "out/", "out/a/", "out/a/late.txt", "out/a/v1_configmap_x.yaml")
	os.Remove(filepath.Join(out, "a", "late.txt"))
	// Files that appear beside the exchanged part stay, and the next run refuses them.
	if o, err = Open(out, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := o.Put("a", krm.NewList(configMap("x", "2"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(out, "late.txt"), "mine")
	if _, err := o.Commit(); err != nil {
		t.Errorf("commit: %v", err)
	}
	if files := tree(t, out); files["late.txt"] != "mine" || !strings.Contains(files["a/v1_configmap_x.yaml"], "2") {
		t.Errorf("after the commit there is %v", files)
	}
	if _, err := Open(out, Options{}); err == nil || !strings.Contains(err.Error(), "late.txt") {
		t.Errorf("the next run: %v", err)
	}
}

func TestOutputForce(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	write(t, filepath.Join(out, "mine.txt"), "mine")
	write(t, filepath.Join(out, "sub", "mine.txt"), "mine")
	roots := map[string]*krm.List{".": krm.NewList(configMap("x", "1"), configMap("y", "1")), "sub": krm.NewList(configMap("x", "1"))}
	writeOut(t, out, Options{Force: true}, roots)
	writeOut(t, out, Options{Force: true}, map[string]*krm.List{".": krm.NewList(configMap("x", "1"))})
	wantNames(t, out, "mine.txt", "sub/", "sub/mine.txt", "v1_configmap_x.yaml")

	// Foreign files with the name of a resource, or in the place of a folder, are left untouched as
	// well.
	for _, name := range []string{"v1_configmap_y.yaml", "v1_configmap_y.yaml/mine.txt", "new"} {
		write(t, filepath.Join(out, name), "mine")
		roots["new"] = roots["sub"]
		before := fmt.Sprint(tree(t, out))
		_, err := tryWriteOut(out, Options{Force: true}, roots)
		var refused *RefusedError
		first, _, _ := strings.Cut(name, "/")
		if !errors.As(err, &refused) || fmt.Sprint(refused.Names) != "["+first+"]" {
			t.Errorf("with %s: %v", name, err)
		}
		if after := fmt.Sprint(tree(t, out)); after != before {
			t.Errorf("with %s: %s", name, after)
		}
		os.RemoveAll(filepath.Join(out, first))
	}
	// A folder of krmflow that contains a foreign file cannot become a file.
	nested := map[string]*krm.List{"v1_configmap_x.yaml": krm.NewList(configMap("x", "1"))}
	writeOut(t, out, Options{Force: true}, nested)
	write(t, filepath.Join(out, "v1_configmap_x.yaml", "mine.txt"), "mine")
	if _, err := tryWriteOut(out, Options{Force: true}, roots); err == nil ||
		!strings.Contains(err.Error(), "\n  v1_configmap_x.yaml/mine.txt\n") {
		t.Errorf("file in the place of a folder: %v", err)
	}

	os.RemoveAll(filepath.Join(out, "sub"))
	if err := os.Symlink(t.TempDir(), filepath.Join(out, "sub")); err != nil {
		t.Fatal(err)
	}
	_, err := tryWriteOut(out, Options{Force: true}, map[string]*krm.List{"sub": krm.NewList(configMap("x", "1"))})
	if err == nil || !strings.Contains(err.Error(), "\n  sub\n") {
		t.Errorf("root at a planted link: %v", err)
	}
}

// TestOutputLosesNothing changes files that krmflow wrote. They are neither replaced nor removed,
// unless they match the render. With Force, files that the render writes are replaced.
func TestOutputLosesNothing(t *testing.T) {
	edited, gone := "a/v1_configmap_x.yaml", "b/v1_configmap_y.yaml"
	for _, force := range []bool{false, true} {
		for _, name := range []string{edited, gone, "a/v1_secret_s.yaml"} {
			out := filepath.Join(t.TempDir(), "out")
			if force {
				write(t, filepath.Join(out, "mine.txt"), "mine")
			}
			opts := Options{Force: force}
			secret := object("v1", "Secret", "", "s", "1")
			writeOut(t, out, opts, map[string]*krm.List{"a": krm.NewList(configMap("x", "1"), secret),
				"b": krm.NewList(configMap("x", "1"), configMap("y", "1"))})
			write(t, filepath.Join(out, name), "edited")
			roots := map[string]*krm.List{"a": krm.NewList(configMap("x", "2"))}
			before := fmt.Sprint(tree(t, out))
			if name != edited || !force {
				_, err := tryWriteOut(out, opts, roots)
				var refused *RefusedError
				if !errors.As(err, &refused) || fmt.Sprint(refused.Names) != fmt.Sprint([]string{name}) {
					t.Errorf("%s: %v", name, err)
				}
				if after := fmt.Sprint(tree(t, out)); after != before {
					t.Errorf("%s: %s", name, after)
				}
			}
			opts.Check = true
			if c := writeOut(t, out, opts, roots); c.None() {
				t.Errorf("%s: check sees no change", name)
			}
			opts.Check = false
			switch {
			case name == edited && force:
			case name == edited:
				write(t, filepath.Join(out, name), string(yaml.AppendFile(nil, configMap("x", "2").Value())))
			default:
				os.Remove(filepath.Join(out, name))
			}
			writeOut(t, out, opts, roots)
			if got := tree(t, out)[edited]; got != string(yaml.AppendFile(nil, configMap("x", "2").Value())) {
				t.Errorf("%s: the new file is %q", name, got)
			}
		}
	}
}

// TestOutputForeignManifest has manifests that krmflow did not write. The files that they list
// stay.
func TestOutputForeignManifest(t *testing.T) {
	roots := map[string]*krm.List{".": krm.NewList(configMap("x", "1"))}
	for _, digest := range []string{krm.DigestOf([]byte("mine")).String()[len("sha256:"):], "secret " + strings.Repeat("0", 64)} {
		for _, force := range []bool{false, true} {
			top := t.TempDir()
			out := filepath.Join(top, "out")
			write(t, filepath.Join(out, "notes.yaml"), "my notes")
			write(t, filepath.Join(out, "real", "linked.yaml"), "mine")
			if err := os.Symlink("real", filepath.Join(out, "link")); err != nil {
				t.Skip(err)
			}
			write(t, filepath.Join(out, manifest.Name), "krmflow-manifest 1\nroot \".\"\n"+digest+" \"notes.yaml\"\nroot \"link\"\n"+
				digest+" \"linked.yaml\"\nfiles 2\n")
			before := fmt.Sprint(tree(t, top))
			_, err := tryWriteOut(out, Options{Force: force}, roots)
			var refused *RefusedError
			if !errors.As(err, &refused) {
				t.Errorf("digest %s, force %v: %v", digest, force, err)
			}
			if after := fmt.Sprint(tree(t, top)); after != before {
				t.Errorf("digest %s, force %v: %s", digest, force, after)
			}
			os.Remove(filepath.Join(out, "notes.yaml"))
			if force {
				writeOut(t, out, Options{Force: true}, roots)
				wantNames(t, out, "link", "real/", "real/linked.yaml", "v1_configmap_x.yaml")
			}
		}
	}
}

// TestOutputBadManifest removes the data that distinguishes krmflow's files from others. Nothing is
// written, and nothing stale goes unnoticed.
func TestOutputBadManifest(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	opts := Options{Force: true}
	writeOut(t, out, opts, map[string]*krm.List{".": krm.NewList(configMap("x", "1"))})
	file := filepath.Join(out, manifest.Name)
	for name, damage := range map[string]func() error{
		"cut":   func() error { return os.Truncate(file, 40) },
		"huge":  func() error { return os.Truncate(file, 8<<30) },
		"empty": func() error { return os.Truncate(file, 0) },
		"link": func() error {
			return errors.Join(os.Rename(file, file+"2"), os.Symlink(file+"2", file))
		},
	} {
		good, err := os.ReadFile(file)
		if err := errors.Join(err, damage()); err != nil {
			t.Fatal(err)
		}
		_, err = tryWriteOut(out, opts, map[string]*krm.List{".": krm.NewList(configMap("y", "1"))})
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Path != file {
			t.Errorf("%s: %v", name, err)
		}
		os.Remove(file + "2")
		os.Remove(file)
		write(t, file, string(good))
		wantNames(t, out, "v1_configmap_x.yaml")
	}
}

func TestOutputSymlinks(t *testing.T) {
	top := t.TempDir()
	out := filepath.Join(top, "out")
	roots := map[string]*krm.List{".": krm.NewList(configMap("x", "1"), configMap("y", "1"))}
	writeOut(t, out, Options{}, roots)
	// The victim already has the content that the file should have, so that only the file type
	// differs.
	content, err := os.ReadFile(filepath.Join(out, "v1_configmap_x.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(out, "..", "victim")
	write(t, victim, string(content))
	owned := filepath.Join(out, "v1_configmap_x.yaml")
	os.Remove(owned)
	if err := os.Symlink("../victim", owned); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"1", "2"} {
		roots["."] = krm.NewList(configMap("x", data), configMap("y", "1"))
		writeOut(t, out, Options{}, roots)
		if info, err := os.Lstat(owned); err != nil || !info.Mode().IsRegular() {
			t.Errorf("the link was not replaced: %v %v", info, err)
		}
	}
	if got, _ := os.ReadFile(victim); string(got) != string(content) {
		t.Errorf("victim is now %q", got)
	}
	if err := os.Symlink("../victim", filepath.Join(out, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := tryWriteOut(out, Options{}, roots); err == nil || !strings.Contains(err.Error(), "\n  link\n") {
		t.Errorf("foreign link: %v", err)
	}
	os.Remove(filepath.Join(out, "link"))
	// A symlink in the place of the lock.
	if err := os.Symlink("victim", out+lockSuffix); err != nil {
		t.Fatal(err)
	}
	if _, err := tryWriteOut(out, Options{}, roots); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("planted lock: %v", err)
	}
	os.Remove(out + lockSuffix)
	if err := os.Link(victim, out+lockSuffix); err != nil {
		t.Fatal(err)
	}
	for _, check := range []bool{false, true} {
		if _, err := tryWriteOut(out, Options{Check: check}, roots); err == nil ||
			!strings.Contains(err.Error(), "out.krmflow-lock: was not created by krmflow") {
			t.Errorf("lock with a second name: %v", err)
		}
	}
	if got, _ := os.ReadFile(victim); string(got) != string(content) {
		t.Errorf("victim is now %q", got)
	}
}

func TestOutputModes(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	roots := map[string]*krm.List{".": krm.NewList(configMap("x", "1"), object("v1", "Secret", "", "s", "1"))}
	o, err := Open(out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Put(".", roots["."]); err != nil {
		t.Fatal(err)
	}
	stages, _ := filepath.Glob(out + ".krmflow-????????????????")
	if len(stages) != 1 {
		t.Fatalf("staging folders: %q", stages)
	}
	wantMode(t, stages[0], 0o700)
	if _, err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	if err := os.Mkdir(fresh, 0o777); err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(fresh)
	wantMode(t, out, info.Mode().Perm())
	wantMode(t, filepath.Join(out, "v1_secret_s.yaml"), 0o600)
	wantMode(t, filepath.Join(out, "v1_configmap_x.yaml"), info.Mode().Perm()&0o666)
	// The data that allows checking a guess of their content is private as well. It does not
	// contain the plain digest.
	wantMode(t, filepath.Join(out, manifest.Name), 0o600)
	files := tree(t, out)
	listed, _ := os.ReadFile(filepath.Join(out, manifest.Name))
	for name, secret := range map[string]bool{"v1_secret_s.yaml": true, "v1_configmap_x.yaml": false} {
		sum := krm.DigestOf([]byte(files[name])).String()[len("sha256:"):]
		if strings.Contains(string(listed), sum) == secret {
			t.Errorf("%s: %s", name, listed)
		}
	}

	// A folder keeps its mode. A Secret that other users can read is written again.
	os.Chmod(out, 0o710)
	os.Chmod(filepath.Join(out, "v1_secret_s.yaml"), 0o644)
	writeOut(t, out, Options{}, roots)
	wantMode(t, out, 0o710)
	wantMode(t, filepath.Join(out, "v1_secret_s.yaml"), 0o600)
	roots["."] = krm.NewList(configMap("x", "1"))
	writeOut(t, out, Options{}, roots)
	wantMode(t, filepath.Join(out, manifest.Name), info.Mode().Perm()&0o666)
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
		t.Errorf("%s: %v %v, want %v", filepath.Base(path), info.Mode(), err, want)
	}
}

func TestOutputPathClashes(t *testing.T) {
	top := t.TempDir()
	_, err := tryWriteOut(filepath.Join(top, "out"), Options{}, map[string]*krm.List{
		".": krm.NewList(configMap("x", "1")), "v1_configmap_x.yaml": krm.NewList(configMap("x", "1"))})
	if err == nil {
		t.Error("a file and a folder of one name were both written")
	}
	for _, root := range []string{"../x", "/x", "a//b", "a/../b", "a/.krmflow-x", "a\x00b", ".krmflow-manifest"} {
		if _, err := tryWriteOut(filepath.Join(top, "out"), Options{}, map[string]*krm.List{root: krm.NewList()}); err == nil {
			t.Errorf("root %q accepted", root)
		}
	}
	wantNames(t, top)

	// A name changes from file to folder and back.
	out := filepath.Join(top, "out")
	for range 2 {
		writeOut(t, out, Options{}, map[string]*krm.List{".": krm.NewList(configMap("x", "1"))})
		writeOut(t, out, Options{}, map[string]*krm.List{"v1_configmap_x.yaml": krm.NewList(configMap("x", "1"))})
	}
	wantNames(t, out, "v1_configmap_x.yaml/", "v1_configmap_x.yaml/v1_configmap_x.yaml")
}
