package exec

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/internal/sandbox"
	"golang.org/x/sys/unix"
)

const (
	userFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
	mntFlags  = unix.CLONE_NEWNS
	netFlags  = unix.CLONE_NEWNET
)

// Probe finds out what this machine can isolate: it starts a sandbox without a function in it, which tries what it should not be
// able to do, with files that are made for that and removed again. It takes some milliseconds. Where the kernel has a means that
// the machine's policy does not let a user have, it tries again with less.
func Probe() Isolation {
	i := Isolation{
		Landlock: sandbox.Landlock(),
		UserNS:   canClone(userFlags),
		NetNS:    canClone(userFlags | netFlags),
		MountNS:  canClone(userFlags | mntFlags),
		Seccomp:  sandbox.Seccomp && unix.Prctl(unix.PR_GET_SECCOMP, 0, 0, 0, 0) == nil,
	}
	tried := Try(i)
	if !tried.Enough() && i.MountNS {
		// Some machines let a user have namespaces, but nothing be mounted in them.
		i.MountNS = false
		tried = Try(i)
	}
	return tried
}

// canClone reports whether a process may be started with these namespaces: the new process finds no program to execute.
func canClone(flags uintptr) bool {
	pid, err := syscall.ForkExec("/proc/self/no such program", nil, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{Cloneflags: flags},
	})
	if err == nil {
		var ws syscall.WaitStatus
		syscall.Wait4(pid, &ws, 0, nil)
	}
	return errors.Is(err, os.ErrNotExist)
}

// Try returns i with what a sandbox of that kind was refused on this machine. Where it cannot be tried, that is nothing.
func Try(i Isolation) Isolation {
	i.Refused, i.Missing, i.enough = "", "", false
	r, err := try(i)
	if err != nil {
		i.Missing = "it cannot be tried: " + err.Error()
		return i
	}
	refused, open := r.Words()
	i.Refused, i.enough = strings.Join(refused, " "), len(open) == 0
	if !i.enough {
		i.Missing = "a function could " + strings.Join(open, " ")
	}
	return i
}

func try(i Isolation) (sandbox.Refused, error) {
	dir, err := executors.NewRunDir()
	if err != nil {
		return sandbox.Refused{}, err
	}
	defer os.RemoveAll(dir)
	t, end, err := newTrial(dir)
	if err != nil {
		return sandbox.Refused{}, err
	}
	defer end()
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		return sandbox.Refused{}, err
	}
	spec := i.spec(own, 1<<20)
	spec.Try = t
	spec.Rules = []sandbox.Rule{{Path: t.Readable, Access: sandbox.ReadOnly}, {Path: own, Access: sandbox.All}}
	p, err := i.start(nil, nil, false, (*osexec.Cmd).Start)
	if err != nil {
		return sandbox.Refused{}, err
	}
	defer p.control.Close()
	defer p.cmd.Wait()
	p.control.SetDeadline(time.Now().Add(10 * time.Second)) // then it is killed
	defer p.cmd.Process.Kill()
	var report sandbox.Report
	if err := json.NewEncoder(p.control).Encode(spec); err != nil {
		return sandbox.Refused{}, err
	}
	if err := json.NewDecoder(p.control).Decode(&report); err != nil {
		return sandbox.Refused{}, err
	}
	if report.Error != "" {
		return sandbox.Refused{}, errors.New(report.Error)
	}
	// A file that is gone cannot be read, whatever the sandbox is worth.
	for _, path := range []string{t.Hidden, t.Readable, t.Stream, t.Datagram} {
		if _, err := os.Lstat(path); err != nil {
			return sandbox.Refused{}, err
		}
	}
	return report.Refused, nil
}

// newTrial puts what a trial takes into dir. Call end when it is over.
func newTrial(dir string) (t *sandbox.Trial, end func(), err error) {
	at := func(name string) string { return filepath.Join(dir, name) }
	t = &sandbox.Trial{
		Dir: dir, Hidden: at("hidden"), Readable: at("readable"), Stream: at("stream"), Datagram: at("datagram"), Pid: os.Getpid(),
	}
	for _, path := range []string{t.Hidden, t.Readable} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			return nil, nil, err
		}
	}
	stream, err := net.Listen("unix", t.Stream)
	if err != nil {
		return nil, nil, err
	}
	datagram, err := net.ListenPacket("unixgram", t.Datagram)
	if err != nil {
		stream.Close()
		return nil, nil, err
	}
	return t, func() { stream.Close(); datagram.Close() }, nil
}
