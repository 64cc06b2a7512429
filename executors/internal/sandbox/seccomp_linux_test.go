//go:build amd64 || arm64

package sandbox

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

const noAnswer = unix.Errno(0xfff) // the filter ended without an answer

// decide runs a filter as the kernel does and returns its answer. 0 means allowed.
func decide(f filter, arch, nr uint32, args ...uint32) unix.Errno {
	var a uint32
	for pc := 0; pc < len(f); pc++ {
		i := f[pc]
		jump := func(yes bool) {
			if yes {
				pc += int(i.Jt)
			} else {
				pc += int(i.Jf)
			}
		}
		switch i.Code {
		case loadWord:
			switch i.K {
			case offsetNr:
				a = nr
			case offsetArch:
				a = arch
			default:
				a = 0
				if n := int(i.K-offsetArg0) / 8; n < len(args) {
					a = args[n]
				}
			}
		case and:
			a &= i.K
		case jumpEqual:
			jump(a == i.K)
		case jumpGE:
			jump(a >= i.K)
		case answer:
			if i.K == unix.SECCOMP_RET_ALLOW {
				return 0
			}
			return unix.Errno(i.K &^ unix.SECCOMP_RET_ERRNO)
		}
	}
	return noAnswer
}

// Every unlisted call is refused, whatever its number, and every listed call is allowed, for every
// combination of the function's other permissions.
func TestFilterLists(t *testing.T) {
	for _, s := range []*Spec{{}, {Init: true}, {Landlock: 5}, {Landlock: 6}, {Counted: true}, {Mounts: &Mounts{}}, {Network: true},
		{Counted: true, Mounts: &Mounts{}, Network: true}} {
		f := newFilter(s)
		if len(f) > 4096 {
			t.Fatalf("%d instructions: the kernel takes 4096", len(f))
		}
		want := slices.Concat(allowed, allowedHere)
		if s.Mounts != nil {
			want = slices.Concat(want, metadata, metadataHere)
		}
		if s.Network {
			want = append(want, network...)
		}
		if s.Init || s.Landlock >= landlockSignals {
			want = append(want, signals...)
		}
		var decided []uint32 // depends on arguments or other permissions of the function
		for _, e := range exceptions {
			decided = append(decided, e.nr)
		}
		decided = append(decided, unix.SYS_KILL, unix.SYS_SOCKET, unix.SYS_MMAP, unix.SYS_MEMFD_CREATE, unix.SYS_OPENAT, unix.SYS_OPENAT2,
			openHere)
		for nr := range uint32(2048) {
			got := decide(f, auditArch, nr)
			switch {
			case slices.Contains(decided, nr):
			case nr > newest || slices.Contains(absent, nr):
				if got != unix.ENOSYS {
					t.Errorf("%+v: call %d: %v, want that it does not exist", s, nr, got)
				}
			case slices.Contains(want, nr) != (got == 0) || got != 0 && got != unix.EPERM:
				t.Errorf("%+v: call %d: %v", s, nr, got)
			}
		}
		if got := decide(f, auditArch, 1<<30|unix.SYS_READ); got != unix.ENOSYS {
			t.Errorf("x32: %v", got)
		}
		if got := decide(f, auditArch+1, unix.SYS_READ); got != unix.ENOSYS {
			t.Errorf("another architecture: %v", got)
		}
	}
}

// Some calls depend on their arguments or on the function's other isolation.
func TestFilterArguments(t *testing.T) {
	plain, mounts := &Spec{}, &Spec{Mounts: &Mounts{}}
	counted, online := &Spec{Counted: true}, &Spec{Network: true}
	for _, tc := range []struct {
		s    *Spec
		want unix.Errno
		nr   uint32
		args []uint32
	}{
		{plain, 0, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}},
		{plain, unix.EPERM, unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER | 17}},
		{plain, unix.EPERM, unix.SYS_CLONE, []uint32{unix.CLONE_NEWNS}},
		{plain, 0, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}},
		{plain, 0, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_SEQPACKET}},
		{plain, unix.EPERM, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK}},
		{online, unix.EPERM, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM}},
		{online, unix.EPERM, unix.SYS_SOCKETPAIR, []uint32{unix.AF_INET, unix.SOCK_STREAM}},
		{plain, unix.EPERM, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM}},
		{plain, unix.EPERM, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_STREAM}},
		{online, 0, unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP}},
		{online, 0, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}},
		{online, unix.EPERM, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}},
		{online, unix.EPERM, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_STREAM}},
		{online, unix.EPERM, unix.SYS_SOCKET, []uint32{unix.AF_VSOCK, unix.SOCK_STREAM}},
		{plain, 0, unix.SYS_FCNTL, []uint32{1, unix.F_SETFL}},
		{plain, unix.EPERM, unix.SYS_FCNTL, []uint32{1, unix.F_SETLEASE}},
		{plain, unix.EPERM, unix.SYS_FCNTL, []uint32{1, unix.F_SETOWN}},
		{plain, 0, unix.SYS_IOCTL, []uint32{0, unix.TCGETS}},
		{mounts, unix.ENOTTY, unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}},
		{mounts, unix.ENOTTY, unix.SYS_IOCTL, []uint32{0, unix.FS_IOC_SETFLAGS}},
		{plain, 0, unix.SYS_SETPRIORITY, []uint32{unix.PRIO_PROCESS, 0, 5}},
		{plain, unix.EPERM, unix.SYS_SETPRIORITY, []uint32{unix.PRIO_USER, 0, 5}},
		{plain, unix.EPERM, unix.SYS_SETPRIORITY, []uint32{unix.PRIO_PROCESS, 1, 5}},
		{plain, unix.EPERM, unix.SYS_IOPRIO_SET, []uint32{ioprioProcess, 7}},
		{plain, 0, unix.SYS_PRLIMIT64, []uint32{0, unix.RLIMIT_NOFILE}},
		{plain, unix.EPERM, unix.SYS_PRLIMIT64, []uint32{1, unix.RLIMIT_NOFILE}},
		{plain, unix.EPERM, unix.SYS_SCHED_SETAFFINITY, []uint32{1}},
		{plain, unix.EPERM, unix.SYS_FCHMODAT, nil},
		{mounts, 0, unix.SYS_FCHMODAT, nil},
		{plain, unix.EPERM, unix.SYS_TRUNCATE, nil},
		{plain, unix.ENOSYS, unix.SYS_OPENAT2, nil},
		{mounts, 0, unix.SYS_OPENAT2, nil},
		{plain, 0, unix.SYS_OPENAT, []uint32{0, 0, unix.O_RDONLY | unix.O_CLOEXEC}},
		{plain, 0, unix.SYS_OPENAT, []uint32{0, 0, unix.O_WRONLY | unix.O_TRUNC | unix.O_CREAT}},
		{plain, unix.EPERM, unix.SYS_OPENAT, []uint32{0, 0, unix.O_RDONLY | unix.O_TRUNC}},
		{mounts, 0, unix.SYS_OPENAT, []uint32{0, 0, unix.O_RDONLY | unix.O_TRUNC}},
		{plain, 0, unix.SYS_MMAP, []uint32{0, 4096, 3, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE}},
		{plain, 0, unix.SYS_MMAP, []uint32{0, 4096, 1, unix.MAP_SHARED}},
		{plain, unix.EPERM, unix.SYS_MMAP, []uint32{0, 4096, 3, unix.MAP_SHARED | unix.MAP_ANONYMOUS}},
		{counted, 0, unix.SYS_MMAP, []uint32{0, 4096, 3, unix.MAP_SHARED | unix.MAP_ANONYMOUS}},
		{plain, unix.EPERM, unix.SYS_MEMFD_CREATE, nil},
		{counted, 0, unix.SYS_MEMFD_CREATE, nil},
		{counted, unix.EPERM, unix.SYS_MEMFD_SECRET, nil},
		{counted, unix.EPERM, unix.SYS_SHMGET, nil},
		{plain, 0, unix.SYS_KILL, []uint32{0, 9}},
		{plain, unix.EPERM, unix.SYS_KILL, []uint32{1, 9}},
		{&Spec{Init: true}, 0, unix.SYS_KILL, []uint32{1, 9}},
		{plain, unix.ENOSYS, unix.SYS_CLONE3, nil},
		{plain, unix.ENOSYS, unix.SYS_IO_URING_SETUP, nil},
	} {
		if got := decide(newFilter(tc.s), auditArch, tc.nr, tc.args...); got != tc.want {
			t.Errorf("call %d with %v, %+v: %v, want %v", tc.nr, tc.args, tc.s, got, tc.want)
		}
	}
}
