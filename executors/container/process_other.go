//go:build !linux

package container

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

func detached() *syscall.SysProcAttr { return nil }

func killAll(p *os.Process) error { return p.Kill() }

var machineName = sync.OnceValue(func() string {
	host, _ := os.Hostname()
	return "h-" + strings.Map(plainRune, host)
})

// processName returns machine_pid, or "" if the process does not exist.
func processName(pid int) string {
	p, err := os.FindProcess(pid)
	if err != nil {
		return ""
	}
	defer p.Release()
	if err := p.Signal(syscall.Signal(0)); err != nil && !os.IsPermission(err) {
		return ""
	}
	return fmt.Sprintf("%s_%d", machineName(), pid)
}

// endings are the signals that the reaper ignores.
var endings = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
