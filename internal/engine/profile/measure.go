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

// A Spread is what a figure was over several runs.
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

// A Series is what several runs of the same command cost, as whole processes. Times are nanoseconds.
type Series struct {
	Runs   int     `json:"runs"`
	Wall   Spread  `json:"wall_ns"`
	CPU    Spread  `json:"cpu_ns"`
	Peak   Spread  `json:"peak_bytes"`
	Stages []Phase `json:"stages"`
}

// A Phase is a stage over several runs.
type Phase struct {
	Name string `json:"name"`
	Wall Spread `json:"wall_ns"`
	CPU  Spread `json:"cpu_ns"`
}

// A Report is what bench says about directories.
type Report struct {
	Krmflow string   `json:"krmflow"`
	Args    []string `json:"command"`
	Dirs    []string `json:"directories"`
	// Failed is how many of the roots cannot be rendered, if the runs keep going without these.
	Failed int `json:"failedRoots,omitempty"`
	// Cold are runs with an empty cache, and Warm those after one that filled it.
	Cold Series `json:"cold"`
	Warm Series `json:"warm"`
	// Profile is that of the cold run in the middle. Its steps have the figures of all cold runs.
	Profile  *Profile  `json:"profile"`
	Analysis *Analysis `json:"analysis"`
	// Versus compares with another program, whose command line is Against, and Changes with an earlier report.
	Against string        `json:"against,omitempty"`
	Versus  *bench.Report `json:"versus,omitempty"`
	Changes *Changes      `json:"changes,omitempty"`
}

// Options say what [Measure] repeats.
type Options struct {
	// Program is krmflow, Flags and Dirs what apply-render gets, and Shown the flags as the report has them, without secrets.
	Program            string
	Flags, Shown, Dirs []string
	// Folder asks for an output folder; else the output goes nowhere.
	Folder bool
	// OwnCache means that the flags say which cache is used: then there is nothing that empties it.
	OwnCache bool
	// KeepGoing means that the flags make a run go on without the roots that cannot be rendered, and Roots is how many there are.
	KeepGoing bool
	Roots     int
	// Runs is how often cold and warm runs are repeated.
	Runs int
	// Work is a folder for what is made, which the caller removes.
	Work string
	// Log is called with what is done next; it may be nil.
	Log func(string)
}

// Measure runs apply-render of directories in processes of their own: cold and warm in turn, so that a change in the machine's speed meets
// both. A first run, which counts for nothing, makes sure that the files are in memory. What whole runs cost is measured without a
// profile, which takes time to be written.
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
			cold, warm = append(cold, measured{plain[0].sample, recorded[0].profile}), append(warm, measured{plain[1].sample, recorded[1].profile})
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

// PProf runs apply-render once more, for profiles of processor time and memory in the folder to.
func PProf(ctx context.Context, o Options, to string) error {
	dir := filepath.Join(o.Work, "pprof")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	_, err := o.run(ctx, dir, "--pprof="+to)
	return err
}

// measured is one run.
type measured struct {
	sample  bench.Sample
	profile *Profile
}

// args returns the command line of a run that keeps its output and its cache in dir.
func (o *Options) args(dir string, more ...string) []string {
	out := "-" // bench.Run takes it to nowhere
	if o.Folder {
		out = filepath.Join(dir, "out") + string(filepath.Separator)
	}
	if !o.OwnCache {
		more = append(more, "--cache-dir="+filepath.Join(dir, "cache"))
	}
	return slices.Concat([]string{"apply-render", "--quiet", "--output=" + out}, more, o.Flags, []string{"--"}, o.Dirs)
}

// pair runs the command with an empty cache and again with what that has left in it.
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

// run runs the command once. Roots that cannot be rendered are no error if others are, and the flags say so.
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
			spread(values(runs, func(m measured) int64 { return int64(at(m).Wall) })), spread(values(runs, func(m measured) int64 { return int64(at(m).CPU) }))})
	}
	return s
}

// middle returns the profile of the run with the median time. Its steps get the spread over all runs.
func middle(runs []measured) *Profile {
	sorted := slices.SortedStableFunc(slices.Values(runs), func(x, y measured) int { return cmp.Compare(x.profile.Wall(), y.profile.Wall()) })
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

// Brief returns a time in at most three digits.
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
