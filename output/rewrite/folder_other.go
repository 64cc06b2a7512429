//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package rewrite

import "os"

// canRename would check whether files can be renamed from home to to. This system has no such
// check.
func canRename(home, to *os.File) error { return nil }
