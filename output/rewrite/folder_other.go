//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package rewrite

import "os"

// canRename would return an error if no file of one folder can be renamed to a name in the other: it is not known here before it is tried.
func canRename(home, to *os.File) error { return nil }
