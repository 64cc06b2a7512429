// Package proc ends processes with everything that they have started.
package proc

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of all orphans among its descendants, so that [Adopted] finds them, and lets no
// descriptor that is open by now reach a child.
var Adopt = sync.OnceFunc(func() {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	CloseOnExec()
})

// CloseOnExec marks every descriptor but the standard ones: whoever started this process may have left some open.
func CloseOnExec() {
	if unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// Detached puts a child into a session of its own, without a terminal, and has it signalled when the thread that starts it
// ends: lock the goroutine to its thread until the child has ended.
func Detached(death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: death}
}

// Signal sends a signal to the process group of pid.
func Signal(pid int, sig syscall.Signal) { syscall.Kill(-pid, sig) }

// Adopted returns this process's children. Most kernels list them without a look at every process.
func Adopted() []int {
	self := strconv.Itoa(os.Getpid())
	if data, err := os.ReadFile("/proc/self/task/" + self + "/children"); err == nil {
		var pids []int
		for _, f := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	return parents()[os.Getpid()]
}

// Session returns the session that a process is in, 0 if it is gone.
func Session(pid int) int {
	sid, _ := unix.Getsid(pid)
	return sid
}

// Zombie reports whether a process has ended and waits for its parent to notice.
func Zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	return strings.HasPrefix(state, "Z")
}

// KillTree kills pid and its descendants, whatever session they are in, and collects those that end up as children of this
// process. It must be called in the process that adopts them.
func KillTree(pid int) {
	for _, p := range append(descendants(pid), pid) {
		syscall.Kill(p, syscall.SIGKILL)
	}
	collect(pid)
}

// KillBelow kills the descendants of pid that there are at this moment.
func KillBelow(pid int) {
	for _, p := range descendants(pid) {
		syscall.Kill(p, syscall.SIGKILL)
	}
}

// KillAll kills all descendants of this process except the children that keep names and theirs.
func KillAll(keep func(pid int) bool) {
	for deadline := time.Now().Add(time.Second); ; {
		found := false
		for _, pid := range parents()[os.Getpid()] {
			if !keep(pid) {
				found = true
				KillTree(pid)
			}
		}
		// Those that were born meanwhile became children of this process when their parents died.
		if !found || time.Now().After(deadline) {
			return
		}
	}
}

// collect waits for a killed child, for a moment: a process in the middle of a system call may take its time.
func collect(pid int) {
	for range 100 {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if got == pid || (err != nil && err != syscall.EINTR) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func descendants(pid int) []int {
	children := parents()
	all := children[pid]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// parents returns the children of every process.
func parents() map[int][]int {
	children := map[int][]int{}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state ppid ...; the name may contain anything.
		rest := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(rest) > 1 {
			ppid, _ := strconv.Atoi(rest[1])
			children[ppid] = append(children[ppid], pid)
		}
	}
	return children
}
