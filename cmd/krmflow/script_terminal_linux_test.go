package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a new pseudo terminal. Output to terminal can be read from
// control.
func openTerminal() (control, terminal *os.File) {
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		fatal("%v", err)
	}
	n, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		fatal("%v", err)
	}
	terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		fatal("%v", err)
	}
	return control, terminal
}

// onTerminal implements the program onterminal PROGRAM [ARG...]. It runs a program in a session
// with its own controlling terminal and leaves the standard streams unchanged.
func onTerminal() {
	_, terminal := openTerminal()
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
	control, terminal := openTerminal()
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, size); err != nil {
		fatal("%v", err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if os.Getenv("TERM") == "" {
		cmd.Env = append(os.Environ(), "TERM=xterm")
	}
	if err := cmd.Start(); err != nil {
		fatal("%v", err)
	}
	terminal.Close()
	late := time.AfterFunc(patience, func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		fatal("it did not end in %v", patience)
	})
	var shown, unseen []byte
	for {
		b := make([]byte, 4096)
		n, err := control.Read(b) // fails when all have closed the terminal
		shown, unseen = append(shown, b[:n]...), append(unseen, b[:n]...)
		for len(types) > 0 && types[0].when.Match(unseen) {
			control.WriteString(types[0].keys)
			types, unseen = types[1:], nil
		}
		if err != nil {
			break
		}
	}
	cmd.Wait()
	late.Stop()
	os.Stdout.Write(bytes.ReplaceAll(shown, []byte("\r\n"), []byte("\n")))
	if len(types) > 0 {
		fatal("%q did not appear", types[0].when)
	}
	exitAs(cmd.ProcessState)
}
