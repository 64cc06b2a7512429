package exec

import (
	"strconv"
	"strings"
)

// An Isolation says what this machine keeps a function from, and by which means of the kernel. The zero value is nothing.
type Isolation struct {
	Landlock int  // version of the kernel's landlock: files, from 3 on their length, from 4 on TCP, from 6 on signals
	UserNS   bool // user, process and IPC namespaces without privileges: no orphans, no signals to others
	MountNS  bool // a mount namespace in which all but the function's own files is read-only; takes UserNS
	NetNS    bool // a network of its own, without any interface that is up; takes UserNS
	Seccomp  bool // only the system calls that programs need
	// Refused is what was refused when a sandbox of this kind tried it on this machine, for instance "read write metadata
	// truncate connect signal".
	Refused string
	// Missing says what else functions could do, or why it could not be tried.
	Missing string
	enough  bool
}

// Enough reports whether functions may run here without a special permission: all that a function must not do was tried and
// refused.
func (i Isolation) Enough() bool { return i.enough }

// String returns the form that plans show, for instance "landlock7+userns+pidns+mntns+netns+seccomp (refuses read write metadata
// truncate connect signal)", or "none" and why.
func (i Isolation) String() string {
	if !i.enough {
		return "none (" + i.Missing + ")"
	}
	return i.means() + " (refuses " + i.Refused + ")"
}

// means returns the names of what isolates, joined by "+".
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
