package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a new pseudo terminal. Output to terminal can be read from
// control.
func openTerminal() (control, terminal *os.File, err error) {
	control, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		control.Close()
		return nil, nil, err
	}
	return control, terminal, nil
}

// onTerminal implements the program onterminal PROGRAM [ARG...]. It runs a program in a session
// with its own controlling terminal and leaves the standard streams unchanged.
func onTerminal() {
	_, terminal, err := openTerminal()
	if err != nil {
		fatal("%v", err)
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{terminal}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	if err := cmd.Run(); cmd.ProcessState == nil {
		fatal("%v", err)
	}
	exitAs(cmd.ProcessState)
}

// A typing is a text to type when a pattern has appeared on the terminal.
type typing struct {
	when *regexp.Regexp
	keys string
}

// screen implements the program screen COLUMNSxLINES [-type REGEXP KEYS]... PROGRAM [ARG...]. It
// runs a program on a terminal of that size and prints the output to the terminal. It fails with
// 99 if the program runs for longer than [patience].
func screen() {
	size, args := &unix.Winsize{}, os.Args[2:]
	if _, err := fmt.Sscanf(os.Args[1], "%dx%d", &size.Col, &size.Row); err != nil {
		fatal("%s is no size", os.Args[1])
	}
	var types []typing
	for len(args) > 3 && args[0] == "-type" {
		keys, err := strconv.Unquote(`"` + args[2] + `"`)
		if err != nil {
			fatal("%s: %v", args[2], err)
		}
		types = append(types, typing{regexp.MustCompile(args[1]), keys})
		args = args[3:]
	}
	cmd := exec.Command(args[0], args[1:]...)
	if os.Getenv("TERM") == "" {
		cmd.Env = append(os.Environ(), "TERM=xterm")
	}
	shown, err := runOnScreen(cmd, size, types, patience)
	os.Stdout.Write(shown)
	if err != nil {
		fatal("%v", err)
	}
	exitAs(cmd.ProcessState)
}

// runOnScreen runs a program on a new terminal and returns the output to the terminal. It
// kills a program that runs for longer than limit. The exit code of the program is in its state,
// not in the error. The error is a [noTerminal] if a terminal cannot be created.
func runOnScreen(cmd *exec.Cmd, size *unix.Winsize, types []typing, limit time.Duration) (shown []byte, err error) {
	control, terminal, err := openTerminal()
	if err != nil {
		return nil, noTerminal{err}
	}
	defer control.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, size)
	if err == nil {
		err = cmd.Start()
	}
	terminal.Close()
	if err != nil {
		return nil, err
	}
	var late atomic.Bool
	timeout := time.AfterFunc(limit, func() {
		late.Store(true)
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	var unseen []byte
	for b := make([]byte, 4096); err == nil; {
		var n int
		n, err = control.Read(b) // fails when all have closed the terminal
		shown, unseen = append(shown, b[:n]...), append(unseen, b[:n]...)
		for len(types) > 0 && types[0].when.Match(unseen) {
			control.WriteString(types[0].keys)
			types, unseen = types[1:], nil
		}
	}
	cmd.Wait()
	timeout.Stop()
	shown = bytes.ReplaceAll(shown, []byte("\r\n"), []byte("\n"))
	switch {
	case late.Load():
		return shown, fmt.Errorf("it did not end in %v", limit)
	case len(types) > 0:
		return shown, fmt.Errorf("%q did not appear", types[0].when)
	}
	return shown, nil
}

// noTerminal is the error of a machine without pseudo terminals.
type noTerminal struct{ error }
