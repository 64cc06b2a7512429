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

// Probe determines the isolation that this machine supports. It starts a sandbox without a
// function, which attempts forbidden operations on temporary files. This takes some
// milliseconds. Testing is necessary because a machine's policy may forbid a feature that the
// kernel has; Probe then tries again without mount namespaces.
func Probe() Isolation {
	i := Isolation{
		Landlock: sandbox.Landlock(),
		UserNS:   canClone(userFlags),
		NetNS:    canClone(userFlags | netFlags),
		MountNS:  canClone(userFlags | mntFlags),
		Seccomp:  sandbox.Seccomp && unix.Prctl(unix.PR_GET_SECCOMP, 0, 0, 0, 0) == nil,
	}
	tried := Try(i)
	if !tried.Enough() && helper() != nil {
		// Some machines allow only installed files to be executed.
		i.whole = true
		tried = Try(i)
	}
	if !tried.Enough() && i.MountNS {
		// Some machines allow user namespaces, but no mounts in them.
		i.MountNS = false
		tried = Try(i)
	}
	return tried
}

// canClone reports whether a process can be started with these namespaces. The new process
// fails, because its program does not exist.
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

// Try returns i with the operations denied to such a sandbox on this machine. If the test cannot
// run, Refused is empty and Missing contains the reason.
func Try(i Isolation) Isolation {
	i.Refused, i.Missing, i.enough = "", "", false
	r, err := try(i)
	if err != nil {
		i.Missing = "the sandbox cannot be tested: " + err.Error()
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
	p.control.SetDeadline(time.Now().Add(10 * time.Second)) // then the deferred Kill ends it
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
	// If a file has disappeared, the failure to read it proves nothing about the sandbox.
	for _, path := range []string{t.Hidden, t.Readable, t.Stream, t.Datagram} {
		if _, err := os.Lstat(path); err != nil {
			return sandbox.Refused{}, err
		}
	}
	return report.Refused, nil
}

// newTrial creates the files and sockets for a test in dir. The caller must call end after the
// test.
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
