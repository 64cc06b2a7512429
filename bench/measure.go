package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A Sample is the cost of one or more processes.
type Sample struct {
	// CPU is the user and system time of all threads and of child processes that were waited
	// for.
	CPU time.Duration
	// Wall is the elapsed time.
	Wall time.Duration
	// Peak is the maximum resident set size in bytes, or 0 if the system does not report it. On
	// Linux a process inherits the peak of its parent, so a value up to SelfPeak is only an
	// upper bound of the true value.
	Peak int64
}

// Run runs a program and returns its cost. Its standard output goes to stdout, which should be
// an *os.File, because copying to other writers takes time on the same machine. If the program
// fails, the error contains the end of its standard error. The cost is valid even then, as long
// as the program ran to its end.
func Run(ctx context.Context, stdout io.Writer, program string, args ...string) (Sample, error) {
	var stderr tail
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	// A program that is killed could not remove its temporary files.
	cmd.Cancel = func() error { return terminate(cmd.Process) }
	cmd.WaitDelay = 3 * time.Second // child processes may keep the pipe open
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		err = fmt.Errorf("%s: %w%s", strings.Join(cmd.Args[:min(3, len(cmd.Args))], " "), err, stderr.lines())
	}
	state := cmd.ProcessState
	if state == nil {
		return Sample{}, err
	}
	return Sample{CPU: state.UserTime() + state.SystemTime(), Wall: wall, Peak: peak(state)}, err
}

// version returns the output of the program's version command on one line, or "" if it fails.
func version(ctx context.Context, program string) string {
	if program == "" {
		return ""
	}
	out, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return ""
	}
	return strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), ", ")
}

// plus returns the cost of s followed by t.
func (s Sample) plus(t Sample) Sample {
	return Sample{CPU: s.CPU + t.CPU, Wall: s.Wall + t.Wall, Peak: max(s.Peak, t.Peak)}
}

// Median returns the median of each figure separately. For an even number of samples it is the
// mean of the middle two. Without samples it is the zero Sample.
func Median(samples []Sample) Sample {
	if len(samples) == 0 {
		return Sample{}
	}
	middle := func(figure func(Sample) int64) int64 {
		v := make([]int64, len(samples))
		for i, s := range samples {
			v[i] = figure(s)
		}
		slices.Sort(v)
		return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	}
	return Sample{
		CPU:  time.Duration(middle(func(s Sample) int64 { return int64(s.CPU) })),
		Wall: time.Duration(middle(func(s Sample) int64 { return int64(s.Wall) })),
		Peak: middle(func(s Sample) int64 { return s.Peak }),
	}
}

// A tail keeps the last [tailSize] bytes written to it, so that endless error output does not
// use up memory.
type tail struct{ buf []byte }

const tailSize = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b[max(0, len(b)-tailSize):]...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

// lines returns the text as indented lines for the end of a message.
func (t *tail) lines() string {
	var b strings.Builder
	for line := range strings.Lines(string(bytes.TrimSpace(t.buf))) {
		b.WriteString("\n  " + strings.TrimRight(line, "\r\n"))
	}
	return b.String()
}
