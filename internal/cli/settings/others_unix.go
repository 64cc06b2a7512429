//go:build unix

package settings

import (
	"io/fs"
	"os"
	"syscall"
)

// others returns the reason why users other than the owner and root can change a file or
// folder, or "" if they cannot.
func others(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && int(s.Uid) != os.Geteuid() {
		return "belongs to another user"
	}
	if info.Mode().Perm()&0o022 != 0 {
		return "can be written by others"
	}
	return ""
}
