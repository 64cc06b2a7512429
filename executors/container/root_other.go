//go:build !linux

package container

import (
	"errors"
	"os"
)

// openIn fails: containers run on another machine, which is a virtual one.
func openIn(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
