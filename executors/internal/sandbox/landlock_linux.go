package sandbox

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The access of a [Rule] to its path and everything below it.
const (
	ReadOnly  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	ReadExec  = ReadOnly | unix.LANDLOCK_ACCESS_FS_EXECUTE
	ReadWrite = ReadOnly | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	All       = 1<<16 - 1

	// onlyFiles are the rights that a rule for a file may contain.
	onlyFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlockSignals is the first Landlock version that can restrict signals.
const landlockSignals = 6

// A Rule allows access to a file or to everything below a directory. A rule for a missing path
// has no effect.
type Rule struct {
	Path   string
	Access uint64
	// Dev and Ino identify the expected file, 0 for any file.
	Dev, Ino uint64
}

// Landlock returns the kernel's Landlock version, 0 if it has none.
func Landlock() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// restrictFiles gives up all access to files that rules do not allow and, unless net is true, to
// TCP. It applies to this thread and its future children. Older kernels restrict only the rights
// that they know.
func restrictFiles(version int, rules []Rule, net bool) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: All}
	switch {
	case version < 2:
		attr.Handled_access_fs = unix.LANDLOCK_ACCESS_FS_REFER - 1
	case version < 3:
		attr.Handled_access_fs = unix.LANDLOCK_ACCESS_FS_TRUNCATE - 1
	case version < 5:
		attr.Handled_access_fs = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV - 1
	}
	length := unsafe.Sizeof(attr.Handled_access_fs)
	if version >= 4 {
		length += unsafe.Sizeof(attr.Handled_access_net)
		if !net {
			attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if version >= landlockSignals {
		length += unsafe.Sizeof(attr.Scoped)
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), length, 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	defer unix.Close(int(set))
	for _, r := range rules {
		if err := allow(set, r, attr.Handled_access_fs); err != nil {
			return fmt.Errorf("landlock: %s: %w", r.Path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

// allow adds a rule to a rule set that handles the rights in handled.
func allow(set uintptr, r Rule, handled uint64) error {
	fd, err := unix.Open(r.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // missing or inaccessible: no rule is needed
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if r.Ino != 0 && (r.Dev != st.Dev || r.Ino != st.Ino) {
		return errors.New("it was replaced after it was checked")
	}
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: r.Access & handled, Parent_fd: int32(fd)}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		beneath.Allowed_access &= onlyFiles
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, set, unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
