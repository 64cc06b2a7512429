package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Mounts describes the mount namespace of a function: all mounts of the machine, read-only, and
// a temporary file system for the function.
type Mounts struct {
	Own      string   // empty directory where the temporary file system is mounted
	Size     int64    // its size in bytes
	Dirs     []string // directories to create in it
	Writable []string // files and directories of the machine that remain writable
}

// maxFiles is the maximum number of files in the temporary file system. Each needs about a
// kilobyte that is not part of a file's size.
const maxFiles = 100_000

// make creates the mounts in the mount namespace of this process, which must be a separate one.
func (m *Mounts) make() error {
	// Each writable path needs its own mount, because read-only is a property of a mount.
	for _, path := range m.Writable {
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return &os.PathError{Op: "mount", Path: path, Err: err}
		}
	}
	// With private propagation, later mounts of the machine do not appear here.
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
