package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// attackers are programs that interfere with krmflow while it runs.
var attackers = map[string]func(){"struck": struck, "onterminal": onTerminal, "screen": screen, "flipflop": flipFlop}

// private gives the script its own TMPDIR, with a name short enough for the socket of an executor.
// Every process and file of krmflow carries the name, and [nothingLeft] looks for it.
func private(ts *testscript.TestScript, args []string) {
	dir, err := os.MkdirTemp("/tmp", "kf-")
	ts.Check(err)
	ts.Setenv("TMPDIR", dir)
	ts.Defer(func() { os.RemoveAll(dir) })
}

// nothingLeft implements nothingleft [WORD...]. It fails if, after [patience], there is still a
// temporary file, or a process that krmflow started or that has one of the words.
func nothingLeft(ts *testscript.TestScript, words []string) {
	dir := ts.Getenv("TMPDIR")
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		left := processesWith(append(words, dir)...)
		files, err := filepath.Glob(dir + "/*")
		ts.Check(err)
		left = append(left, files...)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("left behind:\n%s", strings.Join(left, "\n"))
		}
	}
}

// processesWith lists the processes with one of the words in their arguments or environment.
func processesWith(words ...string) (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		args, _ := os.ReadFile(file)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		text := string(bytes.ReplaceAll(args, []byte{0}, []byte(" ")))
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text+"\n"+string(env), w) }) {
			list = append(list, filepath.Base(filepath.Dir(file))+" "+text)
		}
	}
	return list
}

// struck implements the program struck INT|TERM|KILL|EXECUTOR krmflow [ARG...]. It runs krmflow
// until a function has started "sleep 71.09", then sends a signal. It fails with 99 if krmflow runs
// for longer than [patience] after that. INT goes to the process group, as from a terminal.
// EXECUTOR kills the executor. Otherwise it exits with the code of krmflow, or with 128 plus the
// signal that ended it.
func struck() {
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fatal("%v", err)
	}
	victim, sig := cmd.Process.Pid, syscall.SIGKILL
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if len(processesWith("sleep 71.09")) > 0 {
			break
		}
		if time.Since(begin) > 2*patience {
			cmd.Process.Kill()
			fatal("the function does not start")
		}
	}
	switch os.Args[1] {
	case "INT":
		victim, sig = -victim, syscall.SIGINT
	case "TERM":
		sig = syscall.SIGTERM
	case "EXECUTOR":
		victim = executorOf(victim)
	}
	if err := syscall.Kill(victim, sig); err != nil {
		fatal("%v", err)
	}
	late := time.AfterFunc(patience, func() {
		cmd.Process.Kill()
		fatal("it did not end in %v", patience)
	})
	cmd.Wait()
	late.Stop()
	exitAs(cmd.ProcessState)
}

// executorOf returns the executor process started by the krmflow with process id parent.
func executorOf(parent int) int {
	for _, line := range processesWith("krmflow executor ") {
		number, args, _ := strings.Cut(line, " ")
		stat, _ := os.ReadFile("/proc/" + number + "/stat")
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) && strings.HasPrefix(args, "krmflow executor exec") {
			pid, _ := strconv.Atoi(number)
			return pid
		}
	}
	fatal("there is no executor")
	return 0
}

func exitAs(state *os.ProcessState) {
	if ws := state.Sys().(syscall.WaitStatus); ws.Signaled() {
		os.Exit(128 + int(ws.Signal()))
	}
	os.Exit(state.ExitCode())
}

// flipFlop implements the program flipflop FILE OTHER N krmflow [ARG...]. It runs krmflow many
// times and constantly replaces a file with another one and back. It fails unless each run exits
// with 0 or 4 and both codes occur.
func flipFlop() {
	file, times := os.Args[1], 0
	fmt.Sscan(os.Args[3], &times)
	var texts [2][]byte
	for i, name := range []string{os.Args[2], file} {
		data, err := os.ReadFile(name)
		if err != nil {
			fatal("%v", err)
		}
		texts[i] = data
	}
	go func() {
		for i := 0; ; i++ {
			os.WriteFile(file+".next", texts[i%2], 0o755)
			os.Rename(file+".next", file)
		}
	}()
	codes := map[int]int{}
	for range times {
		cmd := exec.Command(os.Args[4], os.Args[5:]...)
		cmd.Stdout = os.Stdout
		cmd.Run()
		codes[cmd.ProcessState.ExitCode()]++
	}
	if codes[0] == 0 || codes[4] == 0 || codes[0]+codes[4] < times {
		fatal("exit codes and how often: %v", codes)
	}
	os.Exit(0)
}
