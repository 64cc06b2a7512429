//go:build !linux

package exec

import (
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/krm/function"
)

// Probe returns no isolation: functions are sandboxed only on Linux.
func Probe() Isolation { return Isolation{Missing: "only Linux has a sandbox"} }

func (c *call) start() (process, error) { return c.startPlain() }
func noNewPrivileges()                  {}
func limit(pid int, l function.Limits)  {}

func (c *call) blameSandbox(e *executors.Error) *executors.Error { return e }
