//go:build unix

package exec

import (
	"os"
	"syscall"
)

// openFlags keep a program that is a pipe or a device from blocking.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK
