package edit_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

const nobody = 65534

// A file keeps its mode, and also its owner when root edits it.
func TestEditKeepsModeAndOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	file := filepath.Join(t.TempDir(), "kustomization.yaml")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, nobody, nobody); err != nil {
		t.Skip(err) // fails in some containers
	}
	mode := 0o664 | os.ModeSetgid
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	if err := runEdit(filepath.Dir(file), []string{"set", "namespace", "x"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != nobody || st.Gid != nobody || info.Mode() != mode {
		t.Errorf("now it is %v of %d:%d", info.Mode(), st.Uid, st.Gid)
	}
}

// A file that the user may not write is not replaced, even if the directory would allow it.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "kustomization.yaml")
	if err := os.WriteFile(file, []byte("namespace: a\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	err := asNobody(func() error { return runEdit(dir, []string{"set", "namespace", "b"}) })
	if want := file + ": cannot be written: permission denied"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if text, err := os.ReadFile(file); string(text) != "namespace: a\n" {
		t.Errorf("it holds %q, %v", text, err)
	}
}

// asNobody runs a function with the file permissions of a user other than root.
func asNobody(do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if me := os.Geteuid(); me == 0 {
		if err := syscall.Setfsuid(nobody); err != nil {
			return err
		}
		defer syscall.Setfsuid(me)
	}
	return do()
}

// If one of several files cannot be written, none is.
func TestReadOnlyOther(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"kustomization.yaml": "transformers: [fn.yaml]\n",
		"fn.yaml":            "apiVersion: a/v1\nkind: Fn\nmetadata:\n  name: x\n  configFn: {exec: {path: ./fn}}\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o777, dir: 0o777, filepath.Join(dir, "kustomization.yaml"): 0o666,
		filepath.Join(dir, "fn.yaml"): 0o444} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	err := asNobody(func() error { return runEdit(dir, []string{"fix", "--functions"}) })
	if want := filepath.Join(dir, "fn.yaml") + ": cannot be written: permission denied"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for name, text := range files {
		if is, err := os.ReadFile(filepath.Join(dir, name)); string(is) != text {
			t.Errorf("%s holds %q, %v", name, is, err)
		}
	}
}
