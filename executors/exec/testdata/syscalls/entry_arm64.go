package main

import "golang.org/x/sys/unix"

// bare makes a system call on another stack.
func bare(nr, stack uintptr) uintptr

// A 64-bit program has no second way into the kernel here.
func int80(nr, a, b, c uintptr) (r, errno uintptr) { return 0, uintptr(unix.ENOSYS) }

func (s *sweep) compat() {}
