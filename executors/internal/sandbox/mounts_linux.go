package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Mounts say what the mount namespace of a function looks like: all that the machine has mounted, read-only, and a file system
// of the function's own, which ends with it.
type Mounts struct {
	Own      string   // an empty directory, where the function's file system is mounted
	Size     int64    // what that holds, in bytes
	Dirs     []string // directories to make in it
	Writable []string // files and directories of the machine that stay writable
}

// maxFiles is how many files the function's own file system holds: each takes a kilobyte that is in no file's size.
const maxFiles = 100_000

// make makes the mounts in the mount namespace of this process, which must be its own.
func (m *Mounts) make() error {
	// A mount of its own for each of these: read-only is said per mount.
	for _, path := range m.Writable {
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return &os.PathError{Op: "mount", Path: path, Err: err}
		}
	}
	// Private, so that nothing which the machine mounts later gets in.
	all := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(-1, "/", unix.AT_RECURSIVE, &all); err != nil {
		return os.NewSyscallError("mount_setattr", err)
	}
	for _, path := range m.Writable {
		if err := unix.MountSetattr(-1, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return &os.PathError{Op: "mount_setattr", Path: path, Err: err}
		}
	}
	options := fmt.Sprintf("mode=0700,size=%d,nr_inodes=%d", m.Size, maxFiles)
	if err := unix.Mount("krmflow", m.Own, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return &os.PathError{Op: "mount", Path: m.Own, Err: err}
	}
	for _, dir := range m.Dirs {
		if err := os.Mkdir(filepath.Join(m.Own, dir), 0o700); err != nil {
			return err
		}
	}
	return nil
}
