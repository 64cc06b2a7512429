package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// A Report is the result of Compare. Its fields define the JSON form.
type Report struct {
	Krmflow   string `json:"krmflow"`
	Kustomize string `json:"kustomize,omitempty"`
	// KrmflowVersion and KustomizeVersion are the reported versions of the programs; they may be
	// empty.
	KrmflowVersion   string `json:"krmflow_version,omitempty"`
	KustomizeVersion string `json:"kustomize_version,omitempty"`

	OS     string  `json:"os"`
	Arch   string  `json:"arch"`
	CPUs   int     `json:"cpus"`
	Runs   int     `json:"runs"`
	Seed   int64   `json:"seed"`
	Rows   []Row   `json:"rows"`
	Growth *Growth `json:"growth,omitempty"`
}

// A Row is the result for one tree.
type Row struct {
	Tree  string `json:"tree"`
	Title string `json:"title"`
	// Size is the number of resources if the tree is one of growing size.
	Size      int   `json:"size,omitempty"`
	Roots     int   `json:"roots"`
	Resources int   `json:"resources"`
	Bytes     int64 `json:"bytes"`
	// Krmflow is without a cache, Cold with an empty cache, Warm with the cache that Cold
	// filled, and Changed with it after a change of one file. For [Options.Dirs] only Krmflow is
	// set.
	Krmflow   *Figure `json:"krmflow,omitempty"`
	Cold      *Figure `json:"cold,omitempty"`
	Warm      *Figure `json:"warm,omitempty"`
	Changed   *Figure `json:"changed,omitempty"`
	Kustomize *Figure `json:"kustomize,omitempty"`
	// Sample is the number of roots that kustomize built, if not all. Its times are scaled to
	// all roots.
	Sample int  `json:"kustomize_roots,omitempty"`
	Same   bool `json:"same"` // the outputs were compared and are identical
	// Stopped reports that kustomize exceeded its budget.
	Stopped bool   `json:"kustomize_stopped,omitempty"`
	Error   string `json:"error,omitempty"`
}

// A Figure holds medians of whole processes.
type Figure struct {
	CPU  float64 `json:"cpu_seconds"`
	Wall float64 `json:"wall_seconds"`
	Peak int64   `json:"peak_bytes"`
	// PeakFloor reports that the true peak may be smaller: see [Sample.Peak].
	PeakFloor bool `json:"peak_is_floor,omitempty"`
	Runs      int  `json:"runs"`
}

// Growth holds the exponents of the cost of flat trees as a power of their size. LastCPU and
// LastPeak are computed from the two largest trees only, where the cost of starting the program
// is negligible.
type Growth struct {
	CPU, Peak, LastCPU, LastPeak float64
}

func figure(samples []Sample) *Figure {
	m := Median(samples)
	return &Figure{CPU: m.CPU.Seconds(), Wall: m.Wall.Seconds(), Peak: m.Peak, PeakFloor: m.Peak <= SelfPeak(), Runs: len(samples)}
}

// grow computes the exponents if the report has rows of at least two sizes.
func (r *Report) grow() {
	var n, cpu, peak []float64
	for _, row := range r.Rows {
		if row.Size > 0 && row.Error == "" {
			n = append(n, float64(row.Size))
			cpu = append(cpu, row.Krmflow.CPU)
			peak = append(peak, float64(row.Krmflow.Peak))
		}
	}
	if k := len(n) - 2; k >= 0 {
		r.Growth = &Growth{CPU: exponent(n, cpu), Peak: exponent(n, peak), LastCPU: exponent(n[k:], cpu[k:]),
			LastPeak: exponent(n[k:], peak[k:])}
	}
}

// exponent returns b for the best fit of y = a·x^b: the slope of the regression line through the
// logarithms.
func exponent(x, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	for i := range x {
		lx, ly := math.Log(x[i]), math.Log(y[i])
		sx, sy, sxx, sxy = sx+lx, sy+ly, sxx+lx*lx, sxy+lx*ly
	}
	n := float64(len(x))
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

func (r *Report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the report as tables.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s/%s, %d CPUs, medians of %d whole processes\nkrmflow:   %s\nkustomize: %s\n",
		r.OS, r.Arch, r.CPUs, r.Runs, cmp.Or(r.KrmflowVersion, r.Krmflow),
		cmp.Or(r.KustomizeVersion, r.Kustomize, "none found: krmflow alone"))
	for _, t := range []table{r.cpu(), r.folders(), r.wall(), r.peak()} {
		t.write(w)
	}
	for _, row := range r.Rows {
		if row.Error != "" {
			fmt.Fprintf(w, "\n%s: %s\n", row.Tree, row.Error)
		}
	}
	return r.notes(w)
}

func (r *Report) notes(w io.Writer) error {
	var notes []string
	for _, row := range r.Rows {
		switch f := row.Kustomize; {
		case row.Stopped && f == nil:
			notes = append(notes, fmt.Sprintf("%s: kustomize was stopped: a single run took longer than --budget", row.Tree))
		case row.Stopped:
			notes = append(notes, fmt.Sprintf("%s: runs of kustomize: %d, then its --budget was used up", row.Tree, f.Runs))
		}
		if row.Sample > 0 {
			notes = append(notes,
				fmt.Sprintf("%s: kustomize has built %d of the %d roots, one after the other; its times are scaled to all of them",
					row.Tree, row.Sample, row.Roots))
		}
	}
	floor := func(f *Figure) bool { return f != nil && f.PeakFloor }
	if slices.ContainsFunc(r.Rows, func(r Row) bool {
		return slices.ContainsFunc([]*Figure{r.Kustomize, r.Krmflow, r.Cold, r.Warm, r.Changed}, floor)
	}) {
		notes = append(notes, "a peak marked ≤ is an upper bound: it does not exceed the peak of the measuring process")
	}
	if g := r.Growth; g != nil {
		notes = append(notes,
			fmt.Sprintf(
				"krmflow without a cache on flat trees of n resources: CPU grows as n^%.2f, peak memory as n^%.2f (between the largest two n^%.2f and n^%.2f)",
				g.CPU, g.Peak, g.LastCPU, g.LastPeak))
	}
	if len(notes) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(notes, "\n"))
	return err
}

// seconds formats a duration with three significant digits.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", s)
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", s)
	case d >= 100*time.Millisecond:
		return fmt.Sprintf("%.0f ms", s*1e3)
	}
	return fmt.Sprintf("%.1f ms", s*1e3)
}

func times(theirs, ours float64) string {
	if ours == 0 {
		return "-"
	}
	if q := theirs / ours; q < 9.95 {
		return fmt.Sprintf("%.1f×", q)
	}
	return fmt.Sprintf("%.0f×", theirs/ours)
}
