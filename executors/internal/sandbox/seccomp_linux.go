//go:build amd64 || arm64

package sandbox

import (
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter is a BPF program that examines the number and arguments of a system call.
type filter []unix.SockFilter

const (
	loadWord  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	and       = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	jumpEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpGE    = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	answer    = unix.BPF_RET | unix.BPF_K

	// Offsets in struct seccomp_data. offsetArg0 is the low half of the first argument, on a
	// little-endian machine.
	offsetNr, offsetArch, offsetArg0 = 0, 4, 16
)

func (f *filter) add(code uint16, k uint32, jt, jf uint8) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (f *filter) answer(errno unix.Errno) { f.add(answer, unix.SECCOMP_RET_ERRNO|uint32(errno), 0, 0) }

func (f *filter) allow() { f.add(answer, unix.SECCOMP_RET_ALLOW, 0, 0) }

// refuse makes call nr fail with errno.
func (f *filter) refuse(nr uint32, errno unix.Errno) {
	f.add(jumpEqual, nr, 0, 1)
	f.answer(errno)
}

// A test is true if the low half of an argument, masked with mask, equals one of values.
type test struct {
	arg    int
	mask   uint32
	values []uint32
}

// An exception allows a call if all tests are true. Otherwise the call fails with errno.
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
			body.add(jumpEqual, v, uint8(len(t.values)-i), 0) // skip the remaining values and the answer
		}
		body.answer(e.errno)
	}
	body.allow()
	f.add(jumpEqual, e.nr, 0, uint8(len(body)))
	*f = append(*f, body...)
}

// only allows calls. It merges their numbers into a few ranges. For calls that are allowed with
// all arguments, the kernel caches the result.
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

// restrictCalls limits this thread and its future children to the system calls that programs
// need. Calls that could affect other processes, sockets or files of others are allowed only in
// harmless forms.
func restrictCalls(s *Spec) error {
	f := newFilter(s)
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	return os.NewSyscallError("seccomp", unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0))
}

// newFilter returns the filter. Landlock does not restrict changes of owner, mode, times and
// attributes and, in old versions, of the length. The filter allows these changes only if all
// files except the function's own are mounted read-only.
func newFilter(s *Spec) filter {
	var f filter
	f.add(loadWord, offsetArch, 0, 0)
	f.add(jumpEqual, auditArch, 1, 0)
	f.answer(unix.ENOSYS) // a 32-bit call
	f.add(loadWord, offsetNr, 0, 0)
	// Programs that use calls newer than this list work without them. The calls of the x32 ABI have
	// such numbers as well.
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
		// openat2 takes its flags by pointer, which a filter cannot follow. Opening a file for
		// reading with O_TRUNC empties it, which the first Landlock versions do not prevent.
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
