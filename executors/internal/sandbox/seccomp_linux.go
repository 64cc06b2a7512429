//go:build amd64 || arm64

package sandbox

import (
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter is a program for the kernel's packet filter that looks at the number and the arguments of a system call.
type filter []unix.SockFilter

const (
	loadWord  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	and       = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	jumpEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpGE    = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	answer    = unix.BPF_RET | unix.BPF_K

	// Offsets in struct seccomp_data; of the first argument the low half, on a little-endian machine.
	offsetNr, offsetArch, offsetArg0 = 0, 4, 16
)

func (f *filter) add(code uint16, k uint32, jt, jf uint8) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (f *filter) answer(errno unix.Errno) { f.add(answer, unix.SECCOMP_RET_ERRNO|uint32(errno), 0, 0) }

func (f *filter) allow() { f.add(answer, unix.SECCOMP_RET_ALLOW, 0, 0) }

// refuse answers call nr with errno.
func (f *filter) refuse(nr uint32, errno unix.Errno) {
	f.add(jumpEqual, nr, 0, 1)
	f.answer(errno)
}

// A test holds if an argument of a call, its low half, is one of some values in the bits of the mask.
type test struct {
	arg    int
	mask   uint32
	values []uint32
}

// An exception allows a call if all tests hold and otherwise answers it with errno.
type exception struct {
	nr    uint32
	errno unix.Errno
	tests []test
}

func (f *filter) exception(e exception) {
	var body filter
	for _, t := range e.tests {
		body.add(loadWord, uint32(offsetArg0+8*t.arg), 0, 0)
		body.add(and, t.mask, 0, 0)
		for i, v := range t.values {
			body.add(jumpEqual, v, uint8(len(t.values)-i), 0) // over the rest and the answer
		}
		body.answer(e.errno)
	}
	body.allow()
	f.add(jumpEqual, e.nr, 0, uint8(len(body)))
	*f = append(*f, body...)
}

// only allows calls. Their numbers are few ranges, and the kernel asks once for a call that no argument decides about.
func (f *filter) only(calls []uint32) {
	calls = slices.Compact(slices.Sorted(slices.Values(calls)))
	for first := 0; first < len(calls); {
		last := first
		for last+1 < len(calls) && calls[last+1] == calls[last]+1 {
			last++
		}
		f.add(jumpGE, calls[first], 0, 2)
		f.add(jumpGE, calls[last]+1, 1, 0)
		f.allow()
		first = last + 1
	}
}

// restrictCalls leaves this thread and its future children the system calls that programs need, and of those that reach other
// processes, sockets or the files of others only the harmless uses.
func restrictCalls(s *Spec) error {
	f := newFilter(s)
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	return os.NewSyscallError("seccomp", unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0))
}

// newFilter makes the filter. Files may be changed in what landlock does not cover, which is owner, mode, times, attributes and
// with old versions length, where all of the machine but the function's own files is read-only.
func newFilter(s *Spec) filter {
	var f filter
	f.add(loadWord, offsetArch, 0, 0)
	f.add(jumpEqual, auditArch, 1, 0)
	f.answer(unix.ENOSYS) // a 32-bit call
	f.add(loadWord, offsetNr, 0, 0)
	// Programs that know calls which are younger than this list can do without them. The calls of the x32 ABI are among these
	// numbers.
	f.add(jumpGE, newest+1, 0, 1)
	f.answer(unix.ENOSYS)
	for _, nr := range absent {
		f.refuse(nr, unix.ENOSYS)
	}
	for _, e := range exceptions {
		f.exception(e)
	}
	calls := slices.Concat(allowed, allowedHere)
	if s.Mounts != nil {
		calls = append(slices.Concat(calls, metadata, metadataHere), unix.SYS_OPENAT, unix.SYS_OPENAT2, openHere)
	} else {
		// Flags of openat2 are behind a pointer. Opening a file for reading may empty it: landlock's first versions do not
		// know that.
		f.refuse(unix.SYS_OPENAT2, unix.ENOSYS)
		f.exception(exception{unix.SYS_OPENAT, unix.EPERM, []test{{2, truncating, notEmptied}}})
		if openHere != unix.SYS_OPENAT {
			f.exception(exception{openHere, unix.EPERM, []test{{1, truncating, notEmptied}}})
		}
	}
	if s.Init || s.Landlock >= landlockSignals {
		calls = append(calls, signals...)
	} else {
		f.exception(ownSignals)
	}
	if s.Counted {
		calls = append(calls, unix.SYS_MMAP, unix.SYS_MEMFD_CREATE)
	} else {
		f.exception(exception{unix.SYS_MMAP, unix.EPERM, []test{{3, unix.MAP_TYPE | unix.MAP_ANONYMOUS, ownMemory}}})
	}
	if s.Network {
		calls = append(calls, network...)
		f.exception(internet)
	}
	f.only(calls)
	f.answer(unix.EPERM)
	return f
}
