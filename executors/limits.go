package executors

import (
	"time"

	"github.com/krmflow/krmflow/krm/function"
)

// The default limits of a function.
const (
	DefaultTimeout = 5 * time.Minute
	DefaultOutput  = 256 << 20
	DefaultMemory  = 2 << 30
	DefaultProcs   = 256
)

// Bounded returns l with zero or negative limits replaced by the defaults.
func Bounded(l function.Limits) function.Limits {
	if l.Timeout <= 0 {
		l.Timeout = DefaultTimeout
	}
	if l.Output <= 0 {
		l.Output = DefaultOutput
	}
	if l.Memory <= 0 {
		l.Memory = DefaultMemory
	}
	if l.Procs <= 0 {
		l.Procs = DefaultProcs
	}
	return l
}
