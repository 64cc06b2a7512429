package profile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/krmflow/krmflow/diag"
)

// shown is the number of lines in each table of the text. JSON and HTML have more.
const shown = 10

// WriteJSON writes r as one JSON document.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// WriteText writes r as text: first the costs of whole runs, then the details of the median
// run.
func (r *Report) WriteText(w io.Writer) error {
	p, a := r.Profile, r.Analysis
	out := &text{w: diag.SanitisingWriter(w)}
	out.line("%s: %s, %s", Some(r.Dirs), diag.Count(len(p.Roots), "root"), diag.Count(len(p.Steps), "step"))
	if r.Failed > 0 {
		out.line("%s cannot be rendered: the runs continue, and the time until the failure is included", diag.Count(r.Failed, "other root"))
	}
	out.line("%s/%s, %s, up to %s at a time, medians of %s of whole processes", p.OS, p.Arch, diag.Count(p.CPUs, "CPU"),
		diag.Count(p.Jobs, "step"), diag.Count(r.Cold.Runs, "run"))
	r.series(out)
	out.line("\nThe median run: steps of %s in %s, %.1f at the same time. The longest chain takes %s; with %s the steps need at least %s.",
		Brief(a.Work), Brief(a.Wall), a.Parallelism, Brief(a.Length), diag.Count(p.Jobs, "job"), Brief(a.Least))
	if len(a.Functions) > 0 && a.Prepared > a.Wall/20 {
		out.line("Before the first step functions were prepared, for %s.", Brief(a.Prepared))
	}
	r.chain(out)
	r.steps(out)
	sums(out, "layers", a.Layers)
	sums(out, "files", a.Files)
	sums(out, "functions", a.Functions)
	m := p.Memory
	out.line("\nmemory: peak %s, in use %s, allocated %s, %s", MB(m.Peak), MB(int64(m.Live)), MB(int64(m.Allocated)),
		diag.Count(int(m.Collections), "collection"))
	if p.MemoryLimit > 0 && m.Least < p.Jobs {
		out.line("near --memory-limit=%s: only %s at a time", MB(p.MemoryLimit), diag.Count(m.Least, "step"))
	}
	r.versus(out)
	if r.Changes != nil {
		r.Changes.write(out)
	}
	return out.err
}

// text writes lines and tables, until the first write error.
type text struct {
	w   io.Writer
	err error
}

func (t *text) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format+"\n", args...)
	}
}

// table writes rows below a heading. All cells except the last are aligned to the right.
func (t *text) table(heading string, rows [][]string) {
	if len(rows) == 0 || t.err != nil {
		return
	}
	t.line("")
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, heading)
	for _, row := range rows {
		fmt.Fprintln(tw, strings.Join(row[:len(row)-1], "\t")+"\t  "+diag.OneLine(row[len(row)-1]))
	}
	t.err = cmp.Or(tw.Flush(), t.err)
	for line := range strings.Lines(b.String()) {
		t.line("%s", strings.TrimRight(line, " \n"))
	}
}

// series writes the costs of whole runs and their stages.
func (r *Report) series(out *text) {
	row := func(name string, s Series) []string {
		return []string{Brief(time.Duration(s.Wall.Median)), around(s.Wall), Brief(time.Duration(s.CPU.Median)), around(s.CPU),
			MB(s.Peak.Median), name}
	}
	out.table("wall\t±\tCPU\t±\tpeak\t", [][]string{row("cold: with an empty cache", r.Cold), row("warm: once more", r.Warm)})
	var rows [][]string
	for i, s := range r.Cold.Stages {
		warm := r.Warm.Stages[i]
		rows = append(rows, []string{Brief(time.Duration(s.Wall.Median)), Brief(time.Duration(s.CPU.Median)),
			Brief(time.Duration(warm.Wall.Median)), Brief(time.Duration(warm.CPU.Median)), s.Name})
	}
	out.table("cold wall\tCPU\twarm wall\tCPU\t  stage", rows)
}

// Ratio returns the processor time and wall time of the other program divided by the figures of
// krmflow in s. Both are 0 if the other program was not measured.
func (r *Report) Ratio(s Series) (cpu, wall float64) {
	if r.Versus == nil || s.CPU.Median == 0 || s.Wall.Median == 0 {
		return 0, 0
	}
	for _, row := range r.Versus.Rows {
		if row.Kustomize == nil {
			return 0, 0
		}
		cpu, wall = cpu+row.Kustomize.CPU, wall+row.Kustomize.Wall
	}
	return cpu * 1e9 / float64(s.CPU.Median), wall * 1e9 / float64(s.Wall.Median)
}

// versus writes the comparison with another program.
func (r *Report) versus(out *text) {
	if r.Versus == nil {
		return
	}
	for _, row := range r.Versus.Rows {
		if row.Error != "" {
			out.line("\n%s: %s", row.Tree, row.Error)
		} else if row.Kustomize == nil && row.Stopped {
			out.line("\n%s: stopped: a single run took longer than --budget", row.Tree)
		} else if row.Kustomize == nil {
			out.line("\n%s: not compared", row.Tree)
		}
	}
	coldCPU, coldWall := r.Ratio(r.Cold)
	warmCPU, warmWall := r.Ratio(r.Warm)
	if coldCPU > 0 {
		out.line(
			"\n%s, one root after the other, takes %.1f times the CPU time and %.1f times the wall time of the cold run, %.1f and %.1f of the warm one",
			r.Against, coldCPU, coldWall, warmCPU, warmWall)
	}
}

// around returns half of the range of a figure.
func around(s Spread) string { return Brief(time.Duration(s.Max-s.Min) / 2) }

// Chain returns the longest steps of the critical path in order, limited to most, and the
// number of omitted steps. Steps that take less than a hundredth of the path are omitted.
func (r *Report) Chain(most int) (shown []int, rest int) {
	p, a := r.Profile, r.Analysis
	took := func(i int) time.Duration { return p.Steps[a.Critical[i]].Self }
	long := order(len(a.Critical), took)
	long = long[:min(len(long), most)]
	for len(long) > 0 && took(long[len(long)-1]) < a.Length/100 {
		long = long[:len(long)-1]
	}
	slices.Sort(long)
	for _, i := range long {
		shown = append(shown, a.Critical[i])
	}
	return shown, len(a.Critical) - len(shown)
}

// chain writes the critical path.
func (r *Report) chain(out *text) {
	var rows [][]string
	steps, rest := r.Chain(2 * shown)
	for _, i := range steps {
		s := &r.Profile.Steps[i]
		rows = append(rows, []string{Brief(s.Self), Brief(s.Waited), diag.Count(s.Resources, "resource"), s.Verb + " " + s.ID})
	}
	if rest > 0 {
		rows = append(rows, []string{"", "", "", "and " + diag.Count(rest, "shorter step")})
	}
	out.table("took\twaited\tmade\t  longest chain", rows)
}

// steps writes the slowest steps and the time that the run would save without each.
func (r *Report) steps(out *text) {
	p, a := r.Profile, r.Analysis
	gain := map[int]time.Duration{}
	for _, g := range a.Gains {
		gain[g.Step] = g.Gain
	}
	var rows [][]string
	for _, i := range a.Slowest[:min(len(a.Slowest), shown)] {
		s := &p.Steps[i]
		apart := ""
		if s.Runs != nil {
			apart = around(*s.Runs)
		}
		rows = append(rows, []string{Brief(s.Self), apart, Brief(s.Waited), Bytes(s.Taken), Bytes(s.Made), Brief(gain[i]),
			s.Verb + " " + s.ID})
	}
	out.table("took\t±\twaited\tin\tout\tgain\t  slowest steps", rows)
}

func sums(out *text, what string, list []Sum) {
	var rows [][]string
	for _, s := range list[:min(len(list), shown)] {
		rows = append(rows, []string{Brief(s.Planned), Brief(s.Took), Brief(s.Critical), Brief(s.Gain), Bytes(s.Bytes), fmt.Sprint(s.Steps),
			s.Name})
	}
	out.table("plan\trun\ton chain\tgain\tsize\tsteps\t  "+what, rows)
}

func (c *Changes) write(out *text) {
	for _, t := range []struct {
		name string
		list []Change
	}{{"cold, against the baseline", c.Cold}, {"warm, against the baseline", c.Warm}, {"steps, against the baseline", c.Steps}} {
		var rows [][]string
		for i, x := range t.list {
			if i == 2*shown {
				break
			}
			rows = append(rows, []string{Brief(time.Duration(x.Old)), Brief(time.Duration(x.New)), x.Percent(),
				Brief(time.Duration(x.Noise)), x.Meaning(), x.Name})
		}
		out.table("old\tnew\tchange\tnoise\t\t  "+t.name, rows)
	}
}

// Percent returns the change as a percentage of the old time, such as "+12 %". It returns "new"
// or "gone" for a figure that is in only one report.
func (c Change) Percent() string {
	switch {
	case c.Old == 0 && c.New == 0:
		return ""
	case c.Old == 0:
		return "new"
	case c.New == 0:
		return "gone"
	}
	return fmt.Sprintf("%+.0f %%", 100*float64(c.New-c.Old)/float64(c.Old))
}

// Meaning returns a description of the significance of the change.
func (c Change) Meaning() string {
	switch c.Says {
	case "noise":
		return "not more than noise"
	case "unknown":
		return "one run does not say"
	}
	return c.Says
}

// Some returns the first names of a list and the number of the others.
func Some(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + " and " + diag.Count(len(names)-3, "other")
	}
	return strings.Join(names, ", ")
}

// MB formats a number of bytes in megabytes.
func MB(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/(1<<20)) }

// Bytes formats a number of bytes with two or three digits.
func Bytes(n int) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
