//go:build !linux

// Package proc kills processes with all their descendants, as far as the system allows: here
// only the process group.
package proc

// Adopt does nothing. Orphans become children of the system's first process.
func Adopt() {}

// CloseOnExec does nothing. File descriptors are not inherited by default.
func CloseOnExec() {}

// Adopted returns nil.
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

// A Load is the current resource usage of processes.
type Load struct {
	Threads int
	Memory  int64
}

// Measure returns a zero Load. Only the limits of the system apply.
func Measure(int, bool, int64) Load { return Load{} }
