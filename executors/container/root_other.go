//go:build !linux

package container

import (
	"errors"
	"os"
)

// openIn fails: containers run in a virtual machine.
func openIn(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
