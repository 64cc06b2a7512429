//go:build !linux

// Package proc ends processes with everything that they have started, as far as the machine allows: here that is the
// process group.
package proc

// Adopt does nothing: orphans go to the first process of the machine.
func Adopt() {}

// CloseOnExec does nothing: descriptors are not inherited unless they were made to be.
func CloseOnExec() {}

// Adopted returns nothing.
func Adopted() []int { return nil }

// Session returns 0.
func Session(int) int { return 0 }

// Zombie returns false.
func Zombie(int) bool { return false }

// KillTree does nothing.
func KillTree(int) {}

// KillAll does nothing.
func KillAll(func(pid int) bool) {}

// KillBelow does nothing.
func KillBelow(int) {}

// A Load is what processes use at a moment.
type Load struct {
	Threads int
	Memory  int64
}

// Measure returns nothing: the machine's own limits have to do.
func Measure(int, bool, int64) Load { return Load{} }
