//go:build !unix

package remote

import "os/exec"

// detach does nothing: there are neither sessions nor groups of processes here.
func detach(*exec.Cmd) {}
