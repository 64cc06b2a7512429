//go:build !linux

package exec

import "github.com/krmflow/krmflow/krm"

// Probe returns the zero Isolation: only Linux has a sandbox for functions.
func Probe() Isolation { return Isolation{} }

func (c *call) start() (process, error) { return c.startPlain() }
func noNewPrivileges()                  {}
func limit(pid int, l krm.Limits)       {}
