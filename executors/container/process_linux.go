package container

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

// detached starts a process in a new session, so that Ctrl-C does not reach it. The process may
// outlive this one: an engine can complete its work, and the reaper runs only after this process
// has ended.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// killAll kills a [detached] process and its process group.
func killAll(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// machineName returns a name that is equal for processes that can see each other's process ids.
var machineName = sync.OnceValue(func() string {
	space, _ := os.Readlink("/proc/self/ns/pid")
	return machineID() + strings.Map(plainRune, space)
})

func machineID() string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil || len(id) < 12 {
		host, _ := os.Hostname()
		return "h-" + strings.Map(plainRune, host)
	}
	return strings.TrimSpace(string(id))[:12]
}

// processName returns machine_pid_boot_start, which is unique: a process id is not reused with
// the same start time in the same boot. It returns "" if the process does not exist.
func processName(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return fmt.Sprintf("%s_%d_%.8s_%s", machineName(), pid, boot, fields[19])
}

// endings are the signals that the reaper ignores.
var endings = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
