package exec

import (
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/executors/internal/box"
	"golang.org/x/sys/unix"
)

// allowed collects what a call may do with files.
type allowed []box.Rule

func (a *allowed) add(access uint64, paths ...string) {
	for _, path := range paths {
		*a = append(*a, box.Rule{Path: path, Access: access})
	}
}

// rules returns the files that a call may use: what programs of the machine consist of, the devices without a device behind
// them, the call's own directories and what was granted. The tree that is rendered is not among them.
func (c *call) rules() []box.Rule {
	var a allowed
	a.add(box.ReadExec,
		"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
		"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/share",
		"/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/libexec", "/usr/local/share",
		"/nix/store", "/gnu/store")
	a.add(box.ReadOnly,
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives", "/etc/localtime",
		"/etc/locale.alias", "/etc/ssl/openssl.cnf",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/proc/sys/vm/overcommit_memory",
		"/proc/sys/kernel/osrelease", "/proc/sys/kernel/cap_last_cap", "/sys/devices/system/cpu",
		"/dev/random", "/dev/urandom")
	a.add(box.ReadWrite, "/dev/null", "/dev/zero", "/dev/full")
	a.add(box.All, filepath.Join(c.dir, "home"), filepath.Join(c.dir, "tmp"))
	if c.path != "" {
		a.add(box.ReadExec, c.path)
	}
	for _, path := range c.p.needs {
		a.interpreter(path)
	}
	if c.f.Network != "" {
		a.add(box.ReadOnly,
			"/etc/resolv.conf", "/run/systemd/resolve", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf",
			"/etc/services", "/etc/protocols", "/etc/ssl", "/etc/pki", "/etc/ca-certificates")
	}
	for i, m := range c.f.Mounts {
		var st unix.Stat_t
		if c.sources[i] == nil || unix.Fstat(int(c.sources[i].Fd()), &st) != nil {
			continue
		}
		r := box.Rule{Path: m.Source, Access: box.ReadOnly, Dev: st.Dev, Ino: st.Ino}
		if m.Writable {
			r.Access |= box.All &^ box.ReadExec
		}
		a = append(a, r)
	}
	return a
}

// interpreter allows what a program cannot start without and, if that is outside the usual places, what it consists of.
func (a *allowed) interpreter(path string) {
	a.add(box.ReadExec, path)
	bin := filepath.Dir(path)
	prefix := filepath.Dir(bin)
	if filepath.Base(bin) == "bin" && prefix != "/" && !strings.HasPrefix(path, "/usr/") {
		a.add(box.ReadExec, bin, filepath.Join(prefix, "lib"), filepath.Join(prefix, "lib64"))
		a.add(box.ReadOnly, filepath.Join(prefix, "pyvenv.cfg"))
	}
}
