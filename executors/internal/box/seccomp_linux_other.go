//go:build linux && !amd64 && !arm64

package box

// The filter was not tried on these machines.
const (
	// Seccomp says whether sockets can be refused on this architecture.
	Seccomp   = false
	auditArch = 0
)
