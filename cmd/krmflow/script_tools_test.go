package main

import (
	"crypto/sha256"
	"flag"
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

// generate implements repeat FILE N TEXT. It appends a text to a file many times. The text has the
// syntax of a Go string, and %d becomes the number of the repetition.
func generate(ts *testscript.TestScript, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[2], `"`, `\"`) + `"`)
	ts.Check(err)
	file := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o777))
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	ts.Check(err)
	defer f.Close()
	if !strings.Contains(text, "%d") {
		text, n = strings.Repeat(text, n), 1
	}
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "%d", strconv.Itoa(i)))
	}
	_, err = f.WriteString(b.String())
	ts.Check(err)
}

// patience is the extra time for a busy machine. It is shorter than the functions that hang in
// scripts.
const patience = 20 * time.Second

// bounded implements the program bounded [-cpu 5s] [-mb 500] PROGRAM [ARG...]. It runs a program
// and fails with 99 if that takes more than 2 s of CPU time or 300 MB of memory, or does not end.
// Children that the program waited for are included. Otherwise it exits with the code of the
// program.
func bounded() {
	flags := flag.NewFlagSet("bounded", flag.ExitOnError)
	maxCPU, maxMB := flags.Duration("cpu", 2*time.Second, ""), flags.Int64("mb", 300, "")
	flags.Parse(os.Args[1:])
	cmd := child(flags.Args())
	timeout := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	cmd.Wait()
	if !timeout.Stop() {
		fatal("it did not end in 2 min")
	}
	state := cmd.ProcessState
	if cpu := state.UserTime() + state.SystemTime(); cpu > *maxCPU {
		fatal("it took %s of CPU time", cpu)
	}
	if mb := peakMB(state); mb > *maxMB {
		fatal("it took %d MB of memory", mb)
	}
	os.Exit(state.ExitCode())
}

// endsWithin implements the program within DURATION PROGRAM [ARG...]. It runs PROGRAM and exits
// with its code, or with 99 after DURATION and [patience].
func endsWithin() {
	limit, err := time.ParseDuration(os.Args[1])
	if err != nil {
		fatal("%v", err)
	}
	limit += patience
	cmd := child(os.Args[2:])
	late := time.AfterFunc(limit, func() {
		cmd.Process.Kill()
		fatal("it did not end in %v", limit)
	})
	cmd.Wait()
	late.Stop()
	os.Exit(cmd.ProcessState.ExitCode())
}

// signalled implements the program signalled INT WHEN PROGRAM [ARG...]. It runs a program, sends it
// a signal, and fails with 99 if it runs for longer than [patience] after that. WHEN is a duration,
// cpu: with a duration of processor time after the start of the program, or a pattern, which sends
// the signal as soon as a file matches it. Otherwise it exits with the code of the program.
func signalled() {
	sig := map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[os.Args[1]]
	if sig == nil || len(os.Args) < 4 {
		fatal("usage: signalled INT|TERM|KILL DURATION|FILE PROGRAM [ARG...]")
	}
	cmd := child(os.Args[3:])
	if delay, err := time.ParseDuration(os.Args[2]); err == nil {
		time.Sleep(delay)
	} else if text, ok := strings.CutPrefix(os.Args[2], "cpu:"); ok {
		awaitCPU(cmd.Process.Pid, text, startTime(os.Args[3]))
	} else {
		awaitFile(os.Args[2])
	}
	cmd.Process.Signal(sig)
	timeout := time.AfterFunc(patience, func() {
		cmd.Process.Kill()
		fatal("it did not end in %v", patience)
	})
	cmd.Wait()
	timeout.Stop()
	os.Exit(cmd.ProcessState.ExitCode())
}

// startTime measures the processor time that a program needs to start. A program built with the
// race detector needs 200 ms, in which it does not yet listen to signals.
func startTime(program string) time.Duration {
	cmd := exec.Command(program, "version")
	if err := cmd.Run(); err != nil {
		fatal("%v", err)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// awaitCPU waits until a process has used some processor time after its start, which measures its
// progress even on a busy machine. It returns when the process has ended.
func awaitCPU(pid int, text string, start time.Duration) {
	limit, err := time.ParseDuration(text)
	if err != nil {
		fatal("%v", err)
	}
	const ticks = 100 // per second, on Linux
	for ; ; time.Sleep(2 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if err != nil || len(fields) < 13 || fields[0] == "Z" {
			return
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		if time.Duration(user+system)*time.Second/ticks >= start+limit {
			return
		}
	}
}

// awaitFile waits until a file exists whose name matches a pattern.
func awaitFile(pattern string) {
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return
		}
		if time.Since(begin) > 3*patience {
			fatal("%s does not come", pattern)
		}
	}
}

func child(args []string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fatal("%v", err)
	}
	return cmd
}

func fatal(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(99)
}

// writeCatalog implements catalog PROGRAM CATALOG. It writes a catalog that lists a program, with
// its digest, as example.com/v1 Stamp.
func writeCatalog(ts *testscript.TestScript, args []string) {
	sum := sha256.Sum256([]byte(ts.ReadFile(args[0])))
	text := fmt.Sprintf(`apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
spec:
  krmFunctions:
  - group: example.com
    names: {kind: Stamp}
    versions:
    - name: v1
      runtime:
        exec:
          platforms:
          - {bin: %[1]s, os: linux, arch: amd64, uri: %[1]s, sha256: %[2]x}
          - {bin: %[1]s, os: linux, arch: arm64, uri: %[1]s, sha256: %[2]x}
`, filepath.Base(args[0]), sum)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// makeKrmflow implements makekrmflow PROGRAM VARIABLE=VALUE... It builds a custom krmflow.
func makeKrmflow(ts *testscript.TestScript, args []string) {
	cmd := exec.Command("make", append([]string{"-C", "../..", "krmflow", "GOBUILD=go build", "OUT=" + ts.MkAbs(args[0])}, args[1:]...)...)
	cmd.Env = os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
}

// goBuild implements gobuild PACKAGE PROGRAM VARIABLE [OVERLAY]. It builds a program of this
// repository and sets a variable to its digest. OVERLAY is the file for the flag -overlay.
func goBuild(ts *testscript.TestScript, args []string) {
	program := ts.MkAbs(args[1])
	cmd := exec.Command("go", "build", "-o", program, "./"+args[0])
	if len(args) == 4 {
		cmd.Args = slices.Insert(cmd.Args, 2, "-overlay", ts.MkAbs(args[3]))
	}
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(program)
	ts.Check(err)
	ts.Setenv(args[2], fmt.Sprintf("sha256:%x", sha256.Sum256(data)))
}
