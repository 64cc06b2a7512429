//go:build !unix

package detach

import "os/exec"

// Command does nothing: this system has neither sessions nor process groups.
func Command(*exec.Cmd) {}
