//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package output

import (
	"io/fs"
	"os"
)

// tryLock does nothing: these systems have no lock that dies with its process, and a stale one would be worse.
func tryLock(*os.File) error { return nil }

// oursAlone would report whether a file is this user's and has one name.
func oursAlone(fs.FileInfo) bool { return true }
