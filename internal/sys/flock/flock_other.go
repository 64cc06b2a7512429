//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package flock

import (
	"io/fs"
	"os"
)

// Try does nothing. These systems have no locks that end with the process, and a stale lock
// would be worse than none.
func Try(*os.File) error { return nil }

// canBeOurs always returns true on this system: ownership is not checked.
func canBeOurs(fs.FileInfo) bool { return true }
