package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// interrupt makes a system call as 32-bit programs do, with numbers of their own.
func interrupt(nr, a, b, c uint32) uint32

// bare makes a system call on another stack.
func bare(nr, stack uintptr) uintptr

func int80(nr, a, b, c uintptr) (r, errno uintptr) {
	answer := int32(interrupt(uint32(nr), uint32(a), uint32(b), uint32(c)))
	if answer < 0 {
		return 0, uintptr(-answer)
	}
	return uintptr(answer), 0
}

// compat tries the two other tables that the kernel has for this processor: that of 32-bit programs and x32's.
func (s *sweep) compat() {
	// An address of 32 bits.
	text := append([]byte(s.tree+"/file"), 0)
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_32BIT)
	if err != nil {
		s.through = append(s.through, "mmap: "+err.Error())
		return
	}
	copy(page, text)
	path := int(uintptr(unsafe.Pointer(&page[0])))
	for _, c := range []struct {
		name string
		nr   int
		args []any
	}{
		{"open", 5, []any{path, unix.O_RDWR}}, {"creat", 8, []any{path, 0o600}}, {"unlink", 10, []any{path}},
		{"chmod", 15, []any{path, 0o4777}}, {"mount", 21, []any{path, path}}, {"ptrace", 26, []any{unix.PTRACE_SEIZE, s.victim}},
		{"utime", 30, []any{path, 0}}, {"kill", 37, []any{s.victim, int(unix.SIGUSR1)}}, {"rmdir", 40, []any{path}},
		{"truncate", 92, []any{path, 0}}, {"setpriority", 97, []any{unix.PRIO_PROCESS, s.victim, 5}},
		{"lchown", 198, []any{path, -1, -1}}, {"socket", 359, []any{unix.AF_UNIX, unix.SOCK_DGRAM, 0}},
	} {
		s.try(attempt{grade: fail, call: "i386 " + c.name, nr: uintptr(c.nr), args: c.args, compat: true})
		s.try(attempt{grade: fail, call: "x32 " + c.name, nr: s.nr[c.name] | 1<<30, args: c.args})
	}
	s.flush()
}
