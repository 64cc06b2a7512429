package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/krmflow/krmflow/bench"
)

// A Spread is the median and range of a figure over several runs.
type Spread struct {
	Median int64 `json:"median"`
	Min    int64 `json:"min"`
	Max    int64 `json:"max"`
}

// spread returns the spread of values, the zero Spread for none.
func spread(values []int64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	return Spread{(v[(len(v)-1)/2] + v[len(v)/2]) / 2, v[0], v[len(v)-1]}
}

// A Series has the costs of several runs of a command, measured for whole processes. Times are
// in nanoseconds.
type Series struct {
	Runs   int     `json:"runs"`
	Wall   Spread  `json:"wall_ns"`
	CPU    Spread  `json:"cpu_ns"`
	Peak   Spread  `json:"peak_bytes"`
	Stages []Phase `json:"stages"`
}

// A Phase is a stage, measured over several runs.
type Phase struct {
	Name string `json:"name"`
	Wall Spread `json:"wall_ns"`
	CPU  Spread `json:"cpu_ns"`
}

// A Report is the result of bench for directories.
type Report struct {
	Krmflow string   `json:"krmflow"`
	Args    []string `json:"command"`
	Dirs    []string `json:"directories"`
	// Failed is the number of roots that cannot be rendered, if the runs continue without them.
	Failed int `json:"failedRoots,omitempty"`
	// Cold are runs with an empty cache. Warm are runs after a run that filled the cache.
	Cold Series `json:"cold"`
	Warm Series `json:"warm"`
	// Profile is the profile of the median cold run. Its steps have the figures of all cold
	// runs.
	Profile  *Profile  `json:"profile"`
	Analysis *Analysis `json:"analysis"`
	// Versus is the comparison with another program, whose command line is Against. Changes is
	// the comparison with an earlier report.
	Against string        `json:"against,omitempty"`
	Versus  *bench.Report `json:"versus,omitempty"`
	Changes *Changes      `json:"changes,omitempty"`
}

// Options configure [Measure].
type Options struct {
	// Program is the path of krmflow. Flags and Dirs are the arguments of apply-render. Shown
	// are the flags in the report, without secrets.
	Program            string
	Flags, Shown, Dirs []string
	// Folder writes the output to a folder. Otherwise it is discarded.
	Folder bool
	// OwnCache reports that the flags select the cache. The runs then do not start with an
	// empty cache.
	OwnCache bool
	// KeepGoing reports that the flags make a run continue without the roots that cannot be
	// rendered. Roots is the number of roots.
	KeepGoing bool
	Roots     int
	// Runs is the number of cold and warm runs.
	Runs int
	// Work is a folder for temporary files. The caller removes it.
	Work string
	// Log is called with a description of the next run. It may be nil.
	Log func(string)
}

// Measure runs apply-render in separate processes, alternating cold and warm runs, so that a
// change of the machine's speed affects both. The first pair is not counted; it loads the files
// into memory. Whole runs are measured without a profile, because writing it takes time, so
// each pair is run a second time for the profile.
func Measure(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Krmflow: o.Program, Dirs: o.Dirs, Args: append([]string{"apply-render"}, o.Shown...)}
	var cold, warm []measured
	for i := range o.Runs + 1 {
		if o.Log != nil && i > 0 {
			o.Log(fmt.Sprintf("run %d of %d, cold and warm", i, o.Runs))
		}
		plain, err := o.pair(ctx, false)
		if err != nil {
			return nil, err
		}
		recorded, err := o.pair(ctx, true)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			cold, warm = append(cold, measured{plain[0].sample, recorded[0].profile}),
				append(warm, measured{plain[1].sample, recorded[1].profile})
		}
	}
	r.Cold, r.Warm = series(cold), series(warm)
	r.Profile = middle(cold)
	if done := len(r.Profile.Roots); o.KeepGoing && done < o.Roots {
		r.Failed = o.Roots - done
	}
	r.Analysis = Analyse(r.Profile)
	return r, nil
}

// PProf runs apply-render once more and writes profiles of processor time and memory to the
// folder to.
func PProf(ctx context.Context, o Options, to string) error {
	dir := filepath.Join(o.Work, "pprof")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	_, err := o.run(ctx, dir, "--pprof="+to)
	return err
}

// measured is the result of one run.
type measured struct {
	sample  bench.Sample
	profile *Profile
}

// args returns the command line of a run with its output and its cache in dir.
func (o *Options) args(dir string, more ...string) []string {
	out := "-" // bench.Run discards it
	if o.Folder {
		out = filepath.Join(dir, "out") + string(filepath.Separator)
	}
	if !o.OwnCache {
		more = append(more, "--cache-dir="+filepath.Join(dir, "cache"))
	}
	return slices.Concat([]string{"apply-render", "--quiet", "--output=" + out}, more, o.Flags, []string{"--"}, o.Dirs)
}

// pair runs the command with an empty cache, and again with the cache that the first run
// filled.
func (o *Options) pair(ctx context.Context, record bool) (pair [2]measured, err error) {
	dir, err := os.MkdirTemp(o.Work, "")
	if err != nil {
		return pair, err
	}
	defer os.RemoveAll(dir)
	for i := range pair {
		if pair[i], err = o.once(ctx, dir, record); err != nil {
			return pair, err
		}
	}
	return pair, nil
}

func (o *Options) once(ctx context.Context, dir string, record bool) (m measured, err error) {
	if !record {
		m.sample, err = o.run(ctx, dir)
		return m, err
	}
	file := filepath.Join(dir, "trace.json")
	if _, err = o.run(ctx, dir, "--profile="+file); err != nil {
		return m, err
	}
	f, err := os.Open(file)
	if err != nil {
		return m, err
	}
	defer f.Close()
	if m.profile, err = ReadTrace(f); err != nil {
		return m, fmt.Errorf("the profile of %s: %w", filepath.Base(o.Program), err)
	}
	return m, nil
}

// run runs the command once. With KeepGoing, roots that cannot be rendered are not an error if
// the output was written.
func (o *Options) run(ctx context.Context, dir string, more ...string) (bench.Sample, error) {
	sample, err := bench.Run(ctx, nil, o.Program, o.args(dir, more...)...)
	var exit *exec.ExitError
	if o.KeepGoing && errors.As(err, &exit) && exit.Exited() && ctx.Err() == nil {
		if _, missing := os.Stat(filepath.Join(dir, "out")); missing == nil {
			err = nil
		}
	}
	return sample, err
}

// values returns one figure of each run.
func values(runs []measured, of func(measured) int64) []int64 {
	var v []int64
	for _, m := range runs {
		v = append(v, of(m))
	}
	return v
}

func series(runs []measured) Series {
	s := Series{Runs: len(runs),
		Wall: spread(values(runs, func(m measured) int64 { return int64(m.sample.Wall) })),
		CPU:  spread(values(runs, func(m measured) int64 { return int64(m.sample.CPU) })),
		Peak: spread(values(runs, func(m measured) int64 { return m.sample.Peak }))}
	for _, stage := range []string{Starting, Finding, Planning, Running, Writing} {
		at := func(m measured) *Stage {
			i := slices.IndexFunc(m.profile.Stages, func(s Stage) bool { return s.Name == stage })
			if i < 0 {
				return &Stage{}
			}
			return &m.profile.Stages[i]
		}
		s.Stages = append(s.Stages, Phase{stage,
			spread(values(runs, func(m measured) int64 { return int64(at(m).Wall) })),
			spread(values(runs, func(m measured) int64 { return int64(at(m).CPU) }))})
	}
	return s
}

// middle returns the profile of the run with the median time. Its steps get their spread over
// all runs.
func middle(runs []measured) *Profile {
	sorted := slices.SortedStableFunc(slices.Values(runs),
		func(x, y measured) int { return cmp.Compare(x.profile.Wall(), y.profile.Wall()) })
	p := sorted[(len(sorted)-1)/2].profile
	took := map[string][]int64{}
	for _, m := range runs {
		for i := range m.profile.Steps {
			s := &m.profile.Steps[i]
			took[s.ID] = append(took[s.ID], int64(s.Self))
		}
	}
	for i := range p.Steps {
		s := spread(took[p.Steps[i].ID])
		p.Steps[i].Runs = &s
	}
	return p
}

// Brief formats a time with at most three digits.
func Brief(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 100*time.Millisecond:
		return fmt.Sprintf("%.0f ms", ms(d))
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", ms(d))
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2f ms", ms(d))
	case d <= 0:
		return "0"
	}
	return fmt.Sprintf("%.0f µs", max(1, us(d)))
}
