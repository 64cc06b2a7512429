//go:build unix

package executors

import "syscall"

// alive reports whether there is a process with this number.
func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
