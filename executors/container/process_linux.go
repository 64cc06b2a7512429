package container

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

// detached puts a process into a session of its own, so that Ctrl-C does not reach it. It outlives this one: what an engine
// has begun it should end, and the reaper has work when nobody else is there.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// killAll kills a process that is [detached] and what it has started.
func killAll(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// machineName is the same for processes that see each other by their numbers.
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

// processName returns machine_pid_boot_start: a number is used for a process again, but not at the same time of the same
// boot. It is "" for a process that does not exist.
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

// endings are the signals that must not end the reaper.
var endings = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
