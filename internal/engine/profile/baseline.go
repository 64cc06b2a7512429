package profile

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// Changes are the differences between a report and an earlier one.
type Changes struct {
	// Cold and Warm have a line for each figure of whole runs and for each stage. Steps has
	// lines for the slowest steps of both reports.
	Cold  []Change `json:"cold"`
	Warm  []Change `json:"warm"`
	Steps []Change `json:"steps"`
}

// A Change is the change of a time, in nanoseconds. Old or New is 0 if the report does not have
// the figure.
type Change struct {
	Name string `json:"name"`
	Old  int64  `json:"old_ns"`
	New  int64  `json:"new_ns"`
	// Noise is the range of a figure over the runs of a report. A change that is not larger is
	// not significant.
	Noise int64 `json:"noise_ns"`
	// Says is better, worse or noise. It is unknown if a report has a single run, whose noise
	// is unknown.
	Says string `json:"says"`
}

// ReadReport reads the JSON of an earlier report.
func ReadReport(r io.Reader) (*Report, error) {
	var old Report
	if err := json.NewDecoder(r).Decode(&old); err != nil {
		return nil, err
	}
	if old.Profile == nil || old.Cold.Runs == 0 {
		return nil, errors.New("not a report of krmflow bench DIR --json")
	}
	return &old, old.Profile.check()
}

// compared is the maximum number of steps that [Compare] considers.
const compared = 20

// Compare returns the differences between an earlier report and a new one.
func Compare(old, now *Report) *Changes {
	c := &Changes{Cold: changesOf(old.Cold, now.Cold), Warm: changesOf(old.Warm, now.Warm), Steps: stepChanges(old.Profile, now.Profile)}
	if min(old.Cold.Runs, now.Cold.Runs) < 2 {
		for _, list := range [][]Change{c.Cold, c.Warm, c.Steps} {
			for i := range list {
				list[i].Says = "unknown"
			}
		}
	}
	return c
}

func change(name string, old, now Spread) Change {
	c := Change{Name: name, Old: old.Median, New: now.Median, Noise: max(old.Max-old.Min, now.Max-now.Min)}
	switch diff := c.New - c.Old; {
	case max(diff, -diff) <= c.Noise:
		c.Says = "noise"
	case diff < 0:
		c.Says = "better"
	default:
		c.Says = "worse"
	}
	return c
}

func changesOf(old, now Series) []Change {
	list := []Change{change("wall", old.Wall, now.Wall), change("CPU", old.CPU, now.CPU)}
	for _, s := range now.Stages {
		var before Spread
		if i := slices.IndexFunc(old.Stages, func(o Phase) bool { return o.Name == s.Name }); i >= 0 {
			before = old.Stages[i].Wall
		}
		list = append(list, change(s.Name, before, s.Wall))
	}
	return list
}

// stepChanges compares the steps that are slowest in either profile, the largest change first.
func stepChanges(old, now *Profile) []Change {
	figures := func(p *Profile) (by map[string]Spread, slowest []string) {
		by = map[string]Spread{}
		for i := range p.Steps {
			s := &p.Steps[i]
			by[s.ID] = Spread{int64(s.Self), int64(s.Self), int64(s.Self)}
			if s.Runs != nil {
				by[s.ID] = *s.Runs
			}
			slowest = append(slowest, s.ID)
		}
		slices.SortStableFunc(slowest, func(x, y string) int { return cmp.Compare(by[y].Median, by[x].Median) })
		return by, slowest[:min(len(slowest), compared)]
	}
	before, slow := figures(old)
	after, slower := figures(now)
	var list []Change
	for _, id := range slices.Concat(slower, slow) {
		if !slices.ContainsFunc(list, func(c Change) bool { return c.Name == id }) {
			list = append(list, change(id, before[id], after[id]))
		}
	}
	size := func(c Change) int64 {
		if c.Says == "noise" {
			return 0
		}
		return max(c.New-c.Old, c.Old-c.New)
	}
	slices.SortStableFunc(list, func(x, y Change) int { return cmp.Compare(size(y), size(x)) })
	return list[:min(len(list), compared)]
}
