// Grow measures how the cost of krmflow grows with its input. Each shape is a tree that is written
// in three sizes and built several times in turn. Grow prints the CPU time of each size and the
// exponent of the growth between the two largest ones: 1 for linear growth, 2 for quadratic growth.
//
// Garbage collections are excluded. A small tree ends before the first collection, and a medium
// tree has few, so their time grows faster than the tree although the work of the program does
// not. A quadratic step still shows in the time of the program, even if all it does is allocate.
//
// The runs use one processor, so that goroutines do not spend time on waiting for each other.
// Linear work still has an exponent of up to 1.12, because a large tree needs more memory than the
// caches of a processor have. A shape fails if a quadratic step takes a third of the time of its
// largest tree.
//
//	make grow
//	go run ./internal/dev/grow -krmflow bin/krmflow -run 'images|replacements'
//
// It exits with status 1 if an exponent exceeds the limit.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	var m meter
	flag.StringVar(&m.krmflow, "krmflow", "bin/krmflow", "the krmflow to measure")
	flag.IntVar(&m.runs, "runs", 3, "runs of each size; the fastest counts")
	flag.Float64Var(&m.limit, "limit", 1.15, "the highest exponent that passes")
	flag.DurationVar(&m.patience, "timeout", time.Minute, "time limit of each run")
	flag.StringVar(&m.dir, "keep", "", "write the trees to this folder and keep them")
	run := flag.String("run", "", "measure only the shapes that match this regular expression")
	flag.Parse()
	passed, err := m.all(*run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "grow:", err)
		os.Exit(2)
	}
	if !passed {
		os.Exit(1)
	}
}

// all measures the shapes that match a pattern. It reports whether all shapes pass.
func (m *meter) all(pattern string) (passed bool, err error) {
	chosen, err := regexp.Compile(pattern)
	if err != nil {
		return false, err
	}
	if m.krmflow, err = filepath.Abs(m.krmflow); err != nil {
		return false, err
	}
	if m.dir == "" {
		if m.dir, err = os.MkdirTemp("", "grow-"); err != nil {
			return false, err
		}
		defer os.RemoveAll(m.dir)
	}
	if m.start, err = m.best(m.write(shape{name: "start", fill: one}, 1)); err != nil {
		return false, err
	}
	fmt.Printf("CPU time without the %v of a start and without garbage collections; exponents above %.2f fail\n\n",
		m.start.used().Round(time.Millisecond), m.limit)
	fmt.Printf("%-22s %-32s %-9s %s\n", "shape", "CPU time", "exponent", "collections")
	passed = true
	for _, s := range shapes {
		if chosen.MatchString(s.name) && !m.measure(os.Stdout, s) {
			passed = false
		}
	}
	return passed, nil
}

// A meter measures shapes.
type meter struct {
	krmflow  string
	dir      string
	runs     int
	limit    float64
	patience time.Duration
	start    usage // of a tree with one object
}

// A usage is the CPU time of a run.
type usage struct {
	total     time.Duration
	collected time.Duration // part of total for garbage collections
}

func (u usage) used() time.Duration { return max(0, u.total-u.collected) }

// faster reports whether u is the usage of a faster run than o, which is zero before the first run.
// The total decides: the runtime measures a collection by the clock, so on a busy machine it may
// report more than the collection took.
func (u usage) faster(o usage) bool { return o.total == 0 || u.total < o.total }

// least is the difference between two sizes below which their exponent says nothing: it is within
// the noise of a run.
const least = 20 * time.Millisecond

// measure prints the line of a shape. It reports whether the shape passes.
func (m *meter) measure(w io.Writer, s shape) bool {
	var trees []task
	for _, n := range s.sizes() {
		trees = append(trees, m.write(s, n))
	}
	fastest, best := make([]usage, len(trees)), make([]time.Duration, len(trees))
	exponent, known := 0.0, true
	for range series {
		for range m.runs {
			for i, t := range trees {
				took, err := m.once(t)
				if err != nil {
					fmt.Fprintf(w, "%-22s %d: %v\n", s.name, t.n, err)
					return false
				}
				if took.faster(fastest[i]) {
					fastest[i], best[i] = took, max(0, took.used()-m.start.used())
				}
			}
		}
		if exponent, known = exponentOf(trees, best); exponent <= m.limit {
			break
		}
	}
	var text string
	for i, t := range trees {
		text += fmt.Sprintf("%s:%.0fms ", short(t.n), float64(best[i])/1e6)
	}
	verdict := "-"
	if known {
		verdict = fmt.Sprintf("%.2f", exponent)
	}
	collected := fmt.Sprintf("%.0fms", float64(fastest[len(trees)-1].collected)/1e6)
	if exponent > m.limit {
		collected += "  FAIL"
	}
	fmt.Fprintf(w, "%-22s %-32s %-9s %s\n", s.name, text, verdict, collected)
	return exponent <= m.limit
}

// series is the number of series of runs of a shape that does not pass: other processes make runs
// slower, never faster.
const series = 3

// exponentOf returns the exponent of the growth between the two largest trees. known is false if
// they differ too little.
func exponentOf(trees []task, best []time.Duration) (exponent float64, known bool) {
	last := len(best) - 1
	if best[last]-best[last-1] < least {
		return 0, false
	}
	return math.Log(float64(best[last])/float64(max(best[last-1], time.Millisecond))) /
		math.Log(float64(trees[last].n)/float64(trees[last-1].n)), true
}

// A task is the command for a tree of one size.
type task struct {
	n    int
	dir  string
	args []string
}

// write writes the tree of a shape.
func (m *meter) write(s shape, n int) task {
	dir := filepath.Join(m.dir, fmt.Sprintf("%s-%d", s.name, n))
	s.fill(tree{dir}, n)
	args := s.args
	if args == nil {
		args = []string{"build", ".", "--no-cache"}
	}
	return task{n, dir, args}
}

// best returns the CPU time of the fastest run.
func (m *meter) best(t task) (best usage, err error) {
	for range 2 * m.runs {
		took, err := m.once(t)
		if err != nil {
			return usage{}, err
		}
		if took.faster(best) {
			best = took
		}
	}
	return best, nil
}

// once runs a task and returns its CPU time: of the program and of the kernel for it, since many
// kernels measure only the sum and estimate the parts by samples.
func (m *meter) once(t task) (usage, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(m.krmflow, t.args...)
	cmd.Dir, cmd.Stderr = t.dir, &stderr
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(t.dir, ".cache"), "GODEBUG=gctrace=1", "GOMAXPROCS=1")
	timer := time.AfterFunc(m.patience, func() { cmd.Process.Kill() })
	err := cmd.Run()
	if !timer.Stop() {
		return usage{}, fmt.Errorf("takes longer than %v", m.patience)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		line, _, _ := bytes.Cut(bytes.TrimLeft(trace.ReplaceAll(stderr.Bytes(), nil), "\n"), []byte("\n"))
		return usage{}, fmt.Errorf("%v: %s", err, line)
	} else if err != nil {
		return usage{}, err
	}
	return usage{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), collections(stderr.Bytes())}, nil
}

// trace matches the line that the runtime prints for a collection. The group has its CPU times in
// milliseconds: of pauses, of the program for the collector, and of the collector.
var trace = regexp.MustCompile(`(?m)^gc \d+ @.* ms clock, ([\d.+/]+) ms cpu, .*$`)

// collections returns the CPU time of all collections in the standard error of a run.
func collections(stderr []byte) time.Duration {
	sum := 0.0
	for _, line := range trace.FindAllSubmatch(stderr, -1) {
		for _, part := range strings.FieldsFunc(string(line[1]), func(r rune) bool { return r == '+' || r == '/' }) {
			ms, err := strconv.ParseFloat(part, 64)
			if err != nil {
				panic(err)
			}
			sum += ms
		}
	}
	return time.Duration(sum * float64(time.Millisecond))
}

// short returns a number with k for thousands.
func short(n int) string {
	if n >= 1000 && n%100 == 0 {
		return fmt.Sprintf("%gk", float64(n)/1000)
	}
	return fmt.Sprint(n)
}
