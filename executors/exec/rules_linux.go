package exec

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/executors/internal/sandbox"
	"golang.org/x/sys/unix"
)

// allowed collects the file access rules of a call.
type allowed []sandbox.Rule

func (a *allowed) add(access uint64, paths ...string) {
	for _, path := range paths {
		*a = append(*a, sandbox.Rule{Path: path, Access: access})
	}
}

// rules returns the file access rules of a call: the installed programs and libraries, some
// pseudo-devices, the call's own directories, and the granted mounts. The rendered tree is not
// accessible. counted is true if a control group accounts for memory that no process has mapped.
func (c *call) rules(counted bool) []sandbox.Rule {
	var a allowed
	a.add(sandbox.ReadExec,
		"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
		"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/share",
		"/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/libexec", "/usr/local/share",
		"/nix/store", "/gnu/store")
	a.add(sandbox.ReadOnly,
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives", "/etc/localtime",
		"/etc/locale.alias", "/etc/ssl/openssl.cnf",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/proc/sys/vm/overcommit_memory",
		"/proc/sys/kernel/osrelease", "/proc/sys/kernel/cap_last_cap", "/sys/devices/system/cpu",
		"/dev/random", "/dev/urandom")
	a.add(sandbox.ReadOnly, javaFiles()...)
	a.add(sandbox.ReadWrite, "/dev/null", "/dev/full")
	if counted {
		// Memory shared through /dev/zero can remain in use after it is unmapped.
		a.add(sandbox.ReadWrite, "/dev/zero")
	}
	a.add(sandbox.All, c.home(), c.tmp())
	if c.path != "" {
		a.add(sandbox.ReadExec, c.path)
	}
	if c.wrapper() != "" {
		a.add(sandbox.ReadExec, c.x.Wrapper)
	}
	for _, path := range c.p.needs {
		a.interpreter(path)
	}
	if c.f.Network != "" {
		a.add(sandbox.ReadOnly,
			"/etc/resolv.conf", "/run/systemd/resolve", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf",
			"/etc/services", "/etc/protocols", "/etc/ssl", "/etc/pki", "/etc/ca-certificates")
	}
	for i, m := range c.f.Mounts {
		var st unix.Stat_t
		if c.sources[i] == nil || unix.Fstat(int(c.sources[i].Fd()), &st) != nil {
			continue
		}
		r := sandbox.Rule{Path: m.Source, Access: sandbox.ReadOnly, Dev: st.Dev, Ino: st.Ino}
		if m.Writable {
			r.Access |= sandbox.All &^ sandbox.ReadExec
		}
		a = append(a, r)
	}
	return a
}

// javaFiles returns the files in /etc that Debian's Java virtual machines need to start.
var javaFiles = sync.OnceValue(func() []string {
	security, _ := filepath.Glob("/etc/java-*/security")
	machines, _ := filepath.Glob("/etc/java-*/*.cfg")
	return append(security, machines...)
})

// interpreter allows access to an interpreter or dynamic linker. If it is in an unusual place,
// such as a virtual environment, it also allows access to the libraries of its installation.
func (a *allowed) interpreter(path string) {
	a.add(sandbox.ReadExec, path)
	bin := filepath.Dir(path)
	prefix := filepath.Dir(bin)
	if filepath.Base(bin) == "bin" && prefix != "/" && !strings.HasPrefix(path, "/usr/") {
		a.add(sandbox.ReadExec, bin, filepath.Join(prefix, "lib"), filepath.Join(prefix, "lib64"))
		a.add(sandbox.ReadOnly, filepath.Join(prefix, "pyvenv.cfg"))
	}
}
