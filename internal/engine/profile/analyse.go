package profile

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// An Analysis is the evaluation of a [Profile].
type Analysis struct {
	// Wall is the elapsed time of all steps as they ran. Work is the sum of their times.
	Wall time.Duration `json:"wall_ns"`
	Work time.Duration `json:"work_ns"`
	// Prepared is the part of Wall before the first step, in which functions are prepared.
	Prepared time.Duration `json:"prepared_ns"`
	// Parallelism is Work divided by Wall, the average number of steps that ran at the same
	// time.
	Parallelism float64 `json:"parallelism"`
	// Waited is the total time in which steps were ready but not running.
	Waited time.Duration `json:"waited_ns"`
	// Critical is the chain of dependent steps that takes longest, and Length is its time. More
	// cores cannot make a run faster than that.
	Critical []int         `json:"critical"`
	Length   time.Duration `json:"critical_ns"`
	// Least is the minimum time of the steps with these jobs: Length or the work per job,
	// whichever is longer.
	Least time.Duration `json:"least_ns"`
	// Gains are the steps whose removal would reduce Least or the critical path, the largest
	// gain first. Slowest are the longest steps.
	Gains   []Gain `json:"gains"`
	Slowest []int  `json:"slowest"`
	// Layers, Files and Functions are the sums of their steps, the longest first.
	Layers    []Sum `json:"layers"`
	Files     []Sum `json:"files"`
	Functions []Sum `json:"functions,omitempty"`
}

// A Gain is the time that a run would save if a step took no time.
type Gain struct {
	Step int           `json:"step"`
	Gain time.Duration `json:"gain_ns"`
	// Path is the reduction of the critical path.
	Path time.Duration `json:"critical_ns"`
}

// A Sum is the total of several related steps.
type Sum struct {
	Name  string `json:"name"`
	Steps int    `json:"steps"`
	// Took and Waited are the sums of the times of the steps. Planned is the time for planning
	// the steps of a file.
	Took    time.Duration `json:"took_ns"`
	Waited  time.Duration `json:"waited_ns"`
	Planned time.Duration `json:"planned_ns,omitempty"`
	// Critical is the part of Took on the critical path. Gain is the time that a run would save
	// without the steps.
	Critical time.Duration `json:"on_critical_ns"`
	Gain     time.Duration `json:"gain_ns"`
	// Bytes is the size of a file, or the approximate size of the results of the steps.
	Bytes int `json:"bytes"`
}

// most is the maximum number of steps, files, layers and functions in an analysis. More would
// not be useful to a reader.
const most = 100

// Analyse evaluates p.
func Analyse(p *Profile) *Analysis {
	a := &Analysis{Wall: p.Run().Wall, Prepared: max(0, p.First()-p.Run().Start)}
	for i := range p.Steps {
		a.Work += p.Steps[i].Self
		a.Waited += p.Steps[i].Waited
	}
	if a.Wall > 0 {
		a.Parallelism = float64(a.Work) / float64(a.Wall)
	}
	a.Critical, a.Length = Critical(p.Steps)
	a.Least = least(p, nil)
	a.Slowest = order(len(p.Steps), func(i int) time.Duration { return p.Steps[i].Self })
	a.gains(p)
	a.sums(p)
	return a
}

// finish returns the end of each step if it waited only for its dependencies. Steps for which
// gone returns true take no time.
func finish(steps []Step, gone func(int) bool) []time.Duration {
	ends := make([]time.Duration, len(steps))
	for i := range steps {
		s := &steps[i]
		var ready time.Duration
		for _, b := range s.Before {
			ready = max(ready, ends[b])
		}
		if gone == nil || !gone(i) {
			ready += s.Self
		}
		ends[i] = ready
	}
	return ends
}

// Critical returns the chain of steps that takes longest, and its time. Both are zero without
// steps.
func Critical(steps []Step) (path []int, length time.Duration) {
	ends := finish(steps, nil)
	last := -1
	for i, end := range ends {
		if last < 0 || end > length {
			last, length = i, end
		}
	}
	for last >= 0 {
		path = append(path, last)
		next := -1
		for _, b := range steps[last].Before {
			if next < 0 || ends[b] > ends[next] {
				next = b
			}
		}
		last = next
	}
	slices.Reverse(path)
	return path, length
}

// Without returns the length of the critical path if the steps for which gone returns true took
// no time.
func Without(steps []Step, gone func(int) bool) time.Duration {
	if len(steps) == 0 {
		return 0
	}
	return slices.Max(finish(steps, gone))
}

// least returns the minimum time of the steps with the jobs of p. Functions run in addition to
// the other steps.
func least(p *Profile, gone func(int) bool) time.Duration {
	var work, calls time.Duration
	for i := range p.Steps {
		switch s := &p.Steps[i]; {
		case gone != nil && gone(i):
		case s.Answered > 0:
			calls += s.Self
		default:
			work += s.Self
		}
	}
	return max(Without(p.Steps, gone), work/time.Duration(max(1, p.Jobs)), calls/time.Duration(max(1, p.Calls)))
}

// order returns the indexes of n items in order of their times, the longest first, but no more
// than most of them.
func order(n int, by func(int) time.Duration) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(x, y int) int { return cmp.Compare(by(y), by(x)) })
	return all[:min(n, most)]
}

// gains finds the steps whose removal would make the run shorter. It only tries the longest
// steps, because others cannot save much.
func (a *Analysis) gains(p *Profile) {
	on := map[int]bool{}
	for _, i := range a.Critical {
		on[i] = true
	}
	tried := order(len(a.Critical), func(i int) time.Duration { return p.Steps[a.Critical[i]].Self })
	for i, k := range tried {
		tried[i] = a.Critical[k]
	}
	for _, i := range a.Slowest {
		if !on[i] {
			tried = append(tried, i)
		}
	}
	for _, i := range tried {
		gone := func(k int) bool { return k == i }
		g := Gain{Step: i, Gain: a.Least - least(p, gone), Path: a.Length - Without(p.Steps, gone)}
		if g.Gain > 0 || g.Path > 0 {
			a.Gains = append(a.Gains, g)
		}
	}
	slices.SortStableFunc(a.Gains, func(x, y Gain) int { return cmp.Or(cmp.Compare(y.Gain, x.Gain), cmp.Compare(y.Path, x.Path)) })
	a.Gains = a.Gains[:min(len(a.Gains), most)]
}

// sums adds up the steps of each layer, file and function. The planning time of a layer is that
// for its own file.
func (a *Analysis) sums(p *Profile) {
	files, layers := map[string]Sum{}, map[string]Sum{}
	for _, f := range p.Files {
		files[f.Name] = Sum{Bytes: f.Bytes}
	}
	for _, f := range p.Planned {
		s := files[f.File]
		s.Planned += f.Wall
		files[f.File] = s
	}
	delete(files, "")
	for i := range p.Steps {
		layer := p.Steps[i].Layer
		layers[layer] = Sum{Planned: files[layer].Planned}
	}
	delete(layers, "")
	a.Layers = a.sum(p, func(s *Step) string { return s.Layer }, layers)
	a.Files = a.sum(p, func(s *Step) string { return s.File }, files)
	a.Functions = a.sum(p, func(s *Step) string { return s.Function }, map[string]Sum{})
}

// sum groups the steps by the name that of returns, ignoring steps with an empty name, and adds
// them to the known sums.
func (a *Analysis) sum(p *Profile, of func(*Step) string, known map[string]Sum) []Sum {
	sums := map[string]*Sum{}
	for name, s := range known {
		s.Name = name
		sums[name] = &s
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		name := of(s)
		if name == "" {
			continue
		}
		sum := sums[name]
		if sum == nil {
			sum = &Sum{Name: name}
			sums[name] = sum
		}
		sum.Steps++
		sum.Took += s.Self
		sum.Waited += s.Waited
		if known[name].Bytes == 0 { // not a file, whose size is known
			sum.Bytes += s.Made
		}
	}
	for _, i := range a.Critical {
		if sum := sums[of(&p.Steps[i])]; sum != nil {
			sum.Critical += p.Steps[i].Self
		}
	}
	list := make([]Sum, 0, len(sums))
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, *sums[name])
	}
	slices.SortStableFunc(list, func(x, y Sum) int { return cmp.Compare(y.Took+y.Planned, x.Took+x.Planned) })
	list = list[:min(len(list), most)]
	for i := range list[:min(len(list), most/4)] {
		list[i].Gain = a.Least - least(p, func(k int) bool { return of(&p.Steps[k]) == list[i].Name })
	}
	return list
}
