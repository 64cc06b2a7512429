package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/krmflow/krmflow/executors/executortest"
	"golang.org/x/sys/unix"
)

// A rule for an opened file applies to that file alone, even if its path is replaced.
func TestReplacedRule(t *testing.T) {
	if Landlock() == 0 {
		executortest.Missing(t, "this kernel has no landlock")
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: ReadOnly}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr.Handled_access_fs),
		0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer unix.Close(int(set))
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	os.WriteFile(path, nil, 0o600)
	os.WriteFile(other, nil, 0o600)
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	r := Rule{Path: path, Access: ReadOnly, Dev: st.Dev, Ino: st.Ino}
	if err := allow(set, r, ReadOnly); err != nil {
		t.Error(err)
	}
	os.Rename(other, path)
	if err := allow(set, r, ReadOnly); err == nil {
		t.Error("a rule for another file is accepted")
	}
	r.Dev, r.Ino = 0, 0
	if err := allow(set, r, ReadOnly); err != nil {
		t.Error(err)
	}
}
