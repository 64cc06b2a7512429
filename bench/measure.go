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

// A Sample is what processes cost from start to end.
type Sample struct {
	// CPU is user and system time of all threads, and of children that were waited for.
	CPU time.Duration
	// Wall is the time that passed.
	Wall time.Duration
	// Peak is the largest resident memory in bytes, or 0 where the system does not tell. On Linux a process starts with the
	// peak of the process that started it, so a figure not above SelfPeak says only that the true one is not larger.
	Peak int64
}

// Run runs a program to its end and returns what it cost. The standard output goes to stdout: give an *os.File, because
// copying to any other writer takes time on the same machine. A program that fails is an error with the end of its error output; if it
// has run to its end, there is the cost, too.
func Run(ctx context.Context, stdout io.Writer, program string, args ...string) (Sample, error) {
	var stderr tail
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	cmd.WaitDelay = time.Second // what it has started may live on, and hold its error output
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

// version returns what a program says it is, in its own words; empty if it says nothing.
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

// plus is the cost of s followed by t.
func (s Sample) plus(t Sample) Sample {
	return Sample{CPU: s.CPU + t.CPU, Wall: s.Wall + t.Wall, Peak: max(s.Peak, t.Peak)}
}

// Median is the median of each figure by itself; with an even number it is the mean of the middle two. No sample gives the zero Sample.
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

// A tail keeps the last bytes written to it, so that a program that complains without end costs no memory here.
type tail struct{ buf []byte }

const tailSize = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b[max(0, len(b)-tailSize):]...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

// lines returns the text as indented lines that go below a message.
func (t *tail) lines() string {
	var b strings.Builder
	for line := range strings.Lines(string(bytes.TrimSpace(t.buf))) {
		b.WriteString("\n  " + strings.TrimRight(line, "\r\n"))
	}
	return b.String()
}
