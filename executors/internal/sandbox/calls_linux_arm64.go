package sandbox

import "golang.org/x/sys/unix"

const (
	// Seccomp says whether system calls can be refused on this architecture.
	Seccomp   = true
	auditArch = unix.AUDIT_ARCH_AARCH64

	openHere = unix.SYS_OPENAT // there is no open
)

// allowedHere are calls that other architectures do not have.
var allowedHere, metadataHere []uint32
