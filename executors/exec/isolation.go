package exec

import (
	"strconv"
	"strings"
)

// An Isolation says what this machine can keep a function from. The zero value is nothing.
type Isolation struct {
	Landlock int  // version of the kernel's landlock: files, and from 4 on TCP
	UserNS   bool // user, process and IPC namespaces without privileges: no orphans, no signals to others
	NetNS    bool // a network of its own, without any interface that is up
	Seccomp  bool // no sockets at all
}

// Enough reports whether functions may run here without a special permission: something must keep them from the user's files
// or from the user's processes and network.
func (i Isolation) Enough() bool { return i.Landlock > 0 || i.UserNS }

// String returns the form that plans show, for instance "landlock7+userns+pidns+netns+seccomp", or "none".
func (i Isolation) String() string {
	var parts []string
	if i.Landlock > 0 {
		parts = append(parts, "landlock"+strconv.Itoa(i.Landlock))
	}
	if i.UserNS {
		parts = append(parts, "userns", "pidns")
	}
	if i.NetNS {
		parts = append(parts, "netns")
	}
	if i.Seccomp {
		parts = append(parts, "seccomp")
	}
	if len(parts) == 0 || !i.Enough() {
		return "none"
	}
	return strings.Join(parts, "+")
}
