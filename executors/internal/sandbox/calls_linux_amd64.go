package sandbox

import "golang.org/x/sys/unix"

const (
	// Seccomp reports whether system calls can be filtered on this architecture.
	Seccomp   = true
	auditArch = unix.AUDIT_ARCH_X86_64

	openHere = unix.SYS_OPEN
)

// allowedHere lists calls that other architectures lack.
var allowedHere = []uint32{
	unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_PIPE, unix.SYS_DUP2, unix.SYS_SELECT, unix.SYS_POLL, unix.SYS_CREAT,
	unix.SYS_RENAME, unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_LINK, unix.SYS_UNLINK, unix.SYS_SYMLINK, unix.SYS_READLINK,
	unix.SYS_MKNOD, unix.SYS_GETDENTS, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_EVENTFD, unix.SYS_SIGNALFD,
	unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_GETPGRP, unix.SYS_PAUSE, unix.SYS_ALARM, unix.SYS_TIME, unix.SYS_ARCH_PRCTL,
}

var metadataHere = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
