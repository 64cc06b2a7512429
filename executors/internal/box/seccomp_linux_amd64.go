package box

import "golang.org/x/sys/unix"

const (
	// Seccomp says whether sockets can be refused on this architecture.
	Seccomp   = true
	auditArch = unix.AUDIT_ARCH_X86_64
)
