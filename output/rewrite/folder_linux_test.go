package rewrite_test

import (
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/rewrite"
)

// TestFolderTakesNothing has a folder that is not writable. No other file changes either (IM-17).
// Root could write, so the test becomes a different user.
func TestFolderTakesNothing(t *testing.T) {
	if dir := os.Getenv("KRMFLOW_TEST_CLOSED"); dir != "" {
		d, err := rewrite.Open(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		var refused *output.RefusedError
		if err := d.Write(changes()); !errors.As(err, &refused) ||
			!strings.Contains(err.Error(), "sub: cannot move files there: permission denied") {
			t.Errorf("%v", err)
		}
		return
	}
	dir, err := os.MkdirTemp("", "closed")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	fill(t, dir)
	sub := filepath.Join(dir, "sub")
	defer os.Chmod(sub, 0o700)
	test := filepath.Join(dir, "test")
	data, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(test, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(test, "-test.run=^TestFolderTakesNothing$")
	cmd.Env, cmd.Dir = append(os.Environ(), "KRMFLOW_TEST_CLOSED="+dir), dir
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		for _, name := range []string{".", "sub", "a.yaml", "sub/b.yaml", "gone.yaml", "same.yaml"} {
			if err := os.Chown(filepath.Join(dir, name), 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(sub, 0o500); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	after := content(t, dir)
	delete(after, "test")
	for name, text := range versions[0] {
		if after[name] != text {
			t.Errorf("%s has changed", name)
		}
		delete(after, name)
	}
	if len(after) > 0 {
		t.Errorf("it leaves %v", after)
	}
}
