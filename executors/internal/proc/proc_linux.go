// Package proc kills processes with all their descendants.
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

// Adopt makes this process the parent of orphans among its descendants, so that [Adopted] finds
// them. It also calls [CloseOnExec], so that children do not inherit open file descriptors. Only
// the first call has an effect.
var Adopt = sync.OnceFunc(func() {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	CloseOnExec()
})

// CloseOnExec marks all file descriptors except the standard ones as close-on-exec. The parent
// process may have left some open.
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

// Detached starts a child in a new session without a terminal. The kernel sends the signal death
// to the child when the thread that started it ends, so the caller must lock its goroutine to
// the thread until the child has ended.
func Detached(death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: death}
}

// Signal sends a signal to the process group of pid.
func Signal(pid int, sig syscall.Signal) { syscall.Kill(-pid, sig) }

// Adopted returns the children of this process. Most kernels list them without a scan of all
// processes.
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

// Session returns the session id of a process, 0 if the process does not exist.
func Session(pid int) int {
	sid, _ := unix.Getsid(pid)
	return sid
}

// Zombie reports whether a process has ended, even if its parent has not waited for it yet.
func Zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	return strings.HasPrefix(state, "Z")
}

// KillTree kills pid and its descendants in all sessions and waits for pid. It must be called in
// the process that adopts them.
func KillTree(pid int) {
	for _, p := range append(descendants(pid), pid) {
		syscall.Kill(p, syscall.SIGKILL)
	}
	collect(pid)
}

// KillBelow kills the current descendants of pid.
func KillBelow(pid int) {
	for _, p := range descendants(pid) {
		syscall.Kill(p, syscall.SIGKILL)
	}
}

// KillAll kills all descendants of this process, except the children for which keep returns true
// and their descendants.
func KillAll(keep func(pid int) bool) {
	for deadline := time.Now().Add(time.Second); ; {
		found := false
		for _, pid := range parents()[os.Getpid()] {
			if !keep(pid) {
				found = true
				KillTree(pid)
			}
		}
		// Processes started in the meantime have become children of this process when their parents
		// died. The next iteration finds them.
		if !found || time.Now().After(deadline) {
			return
		}
	}
}

// collect waits briefly for a killed child. A process in a system call may take some time to
// end.
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

// parents returns the children of every process, by parent.
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
		// pid (name) state ppid ...; the name may contain any characters.
		rest := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(rest) > 1 {
			ppid, _ := strconv.Atoi(rest[1])
			children[ppid] = append(children[ppid], pid)
		}
	}
	return children
}
