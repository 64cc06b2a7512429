package output

import "golang.org/x/sys/unix"

func mountTmpfs(dir, options string) error { return unix.Mount("tmpfs", dir, "tmpfs", 0, options) }
func unmount(dir string) error             { return unix.Unmount(dir, unix.MNT_DETACH) }
