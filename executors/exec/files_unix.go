//go:build unix

package exec

import (
	"os"
	"syscall"
)

// openFlags prevent the opening of a named pipe or a device from blocking.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK
