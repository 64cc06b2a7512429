package box

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter is a program for the kernel's packet filter that looks at the number and the arguments of a system call.
type filter []unix.SockFilter

const (
	loadWord  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jumpEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpGE    = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	answer    = unix.BPF_RET | unix.BPF_K

	// Offsets in struct seccomp_data; the low half of the first argument on a little-endian machine.
	offsetNr, offsetArch, offsetArg0 = 0, 4, 16
)

func (f *filter) add(code uint16, k uint32, jt, jf uint8) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

// refuse answers call nr with errno.
func (f *filter) refuse(nr uint32, errno unix.Errno) {
	f.add(jumpEqual, nr, 0, 1)
	f.add(answer, unix.SECCOMP_RET_ERRNO|uint32(errno), 0, 0)
}

// restrictCalls takes from this thread and its future children the system calls that reach what neither landlock nor a
// namespace covers. Sockets are among them: landlock does not know UDP, and a Unix socket in the file system belongs to no
// network. With net only Unix sockets are refused.
func restrictCalls(net bool) error {
	var f filter
	f.add(loadWord, offsetArch, 0, 0)
	f.add(jumpEqual, auditArch, 1, 0)
	f.add(answer, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS), 0, 0) // a 32-bit call
	f.add(loadWord, offsetNr, 0, 0)
	f.add(jumpGE, 1<<30, 0, 1) // the x32 calls
	f.add(answer, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS), 0, 0)
	f.refuse(unix.SYS_IO_URING_SETUP, unix.ENOSYS) // opens sockets, too
	for _, nr := range []uint32{
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_MOUNT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	} {
		f.refuse(nr, unix.EPERM)
	}
	if net {
		f.add(jumpEqual, unix.SYS_SOCKET, 0, 3)
		f.add(loadWord, offsetArg0, 0, 0)
		f.add(jumpEqual, unix.AF_UNIX, 0, 1)
		f.add(answer, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM), 0, 0)
	} else {
		f.refuse(unix.SYS_SOCKET, unix.EPERM)
	}
	f.add(answer, unix.SECCOMP_RET_ALLOW, 0, 0)
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	return os.NewSyscallError("seccomp", unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0))
}
