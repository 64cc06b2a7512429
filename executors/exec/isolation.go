package exec

import (
	"strconv"
	"strings"
)

// An Isolation describes the isolation of functions on this machine and the kernel features it
// uses. The zero value is no isolation.
type Isolation struct {
	// Landlock is the ABI version of the kernel's Landlock, 0 for none. It restricts files, from
	// version 3 their truncation, from 4 TCP, and from 6 signals.
	Landlock int
	// UserNS is true for unprivileged user, process and IPC namespaces. No process survives the
	// function, and it cannot signal others.
	UserNS bool
	// MountNS is true for a mount namespace in which everything except the function's own files is
	// read-only. It requires UserNS.
	MountNS bool
	// NetNS is true for a separate network without an active interface. It requires UserNS.
	NetNS bool
	// Seccomp is true for a filter that allows only the system calls that programs need.
	Seccomp bool
	// Refused lists the operations denied to such a sandbox in a test on this machine, for instance
	// "read write metadata truncate connect signal".
	Refused string
	// Missing lists the operations that were not denied, or the reason why the test failed.
	Missing string
	enough  bool
	whole   bool // start this binary as the sandbox process, even if a smaller program is embedded
}

// Enough reports whether functions may run on this machine without special permission: a test
// was denied every operation forbidden to functions.
func (i Isolation) Enough() bool { return i.enough }

// String returns the form shown in plans, for instance
// "landlock7+userns+pidns+mntns+netns+seccomp (refuses read write metadata truncate connect
// signal)", or "none" with the reason.
func (i Isolation) String() string {
	if !i.enough {
		return "none (" + i.Missing + ")"
	}
	return i.means() + " (refuses " + i.Refused + ")"
}

// means returns the names of the kernel features, joined by "+".
func (i Isolation) means() string {
	var parts []string
	if i.Landlock > 0 {
		parts = append(parts, "landlock"+strconv.Itoa(i.Landlock))
	}
	for _, m := range []struct {
		have bool
		name string
	}{{i.UserNS, "userns+pidns"}, {i.MountNS, "mntns"}, {i.NetNS, "netns"}, {i.Seccomp, "seccomp"}} {
		if m.have {
			parts = append(parts, m.name)
		}
	}
	return strings.Join(parts, "+")
}
