//go:build linux && !amd64 && !arm64

package sandbox

import "golang.org/x/sys/unix"

// Seccomp says whether system calls can be refused on this architecture: the lists were not made for it.
const Seccomp = false

func restrictCalls(*Spec) error { return unix.ENOSYS }
