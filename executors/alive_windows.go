package executors

import "os"

// alive reports whether a process with this id exists.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	p.Release()
	return true
}

// hold does nothing. Windows does not remove a directory that is in use.
func hold(string) *os.File { return nil }

// private returns true. The directory for temporary files belongs to the user.
func private(string) bool { return true }

// held returns false.
func held(string) bool { return false }
