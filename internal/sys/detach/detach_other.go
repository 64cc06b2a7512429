//go:build !unix

package detach

import "os/exec"

// Command does nothing: there are neither sessions nor groups of processes here.
func Command(*exec.Cmd) {}
