package sandbox

import "golang.org/x/sys/unix"

const (
	// Seccomp reports whether system calls can be filtered on this architecture.
	Seccomp   = true
	auditArch = unix.AUDIT_ARCH_AARCH64

	openHere = unix.SYS_OPENAT // arm64 has no open
)

// allowedHere lists calls that other architectures lack.
var allowedHere, metadataHere []uint32
