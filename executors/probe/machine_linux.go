package probe

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"github.com/krmflow/krmflow/krm"
)

// Machine returns a digest of everything that determines the result of [Isolation]: the running
// kernel with its settings, the user and its privileges, the namespaces of this process, and
// this program. It starts no process. It returns false if the digest cannot be determined.
func Machine() (d krm.Digest, ok bool) {
	h := sha256.New()
	for _, name := range []string{"/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/version",
		"/proc/self/attr/current",
		"/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		"/proc/sys/kernel/seccomp/actions_avail",
		"/proc/sys/user/max_user_namespaces", "/proc/sys/user/max_mnt_namespaces", "/proc/sys/user/max_net_namespaces",
		"/proc/sys/user/max_pid_namespaces"} {
		data, err := os.ReadFile(name)
		if err != nil && name == "/proc/sys/kernel/random/boot_id" {
			return d, false
		}
		fmt.Fprintf(h, "%s %q\n", name, data)
	}
	for _, name := range []string{"user", "mnt", "pid", "net", "ipc"} {
		link, _ := os.Readlink("/proc/self/ns/" + name)
		fmt.Fprintf(h, "%s\n", link)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return d, false
	}
	writeRights(h, status)
	exe, err := os.Stat("/proc/self/exe")
	if err != nil {
		return d, false
	}
	fmt.Fprintf(h, "%d %d %s\n", exe.Size(), exe.ModTime().UnixNano(), os.TempDir())
	return krm.Digest(h.Sum(nil)), true
}

// writeRights writes the ids and privileges of a process from its /proc status.
func writeRights(w io.Writer, status []byte) {
	for line := range bytes.Lines(status) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters":
			w.Write(line)
		}
	}
}
