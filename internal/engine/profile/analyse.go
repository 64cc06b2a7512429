package profile

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// An Analysis says what a [Profile] means.
type Analysis struct {
	// Wall is how long the steps took together as they ran, and Work as if they had run one after the other.
	Wall time.Duration `json:"wall_ns"`
	Work time.Duration `json:"work_ns"`
	// Prepared is how much of Wall had passed when the first step began: functions are prepared before.
	Prepared time.Duration `json:"prepared_ns"`
	// Parallelism is Work by Wall: how many steps ran at the same time on average.
	Parallelism float64 `json:"parallelism"`
	// Waited is how long all steps together could have run and did not.
	Waited time.Duration `json:"waited_ns"`
	// Critical is the chain of steps, each of which needs the one before it, that takes longest: Length. No number of cores makes a run
	// faster than that.
	Critical []int         `json:"critical"`
	Length   time.Duration `json:"critical_ns"`
	// Least is the least time that the steps need with these jobs: the longer one of Length and of the work that each job has.
	Least time.Duration `json:"least_ns"`
	// Gains are the steps without which Least would be shorter, the largest gain first; Slowest are those that took longest.
	Gains   []Gain `json:"gains"`
	Slowest []int  `json:"slowest"`
	// Layers, Files and Functions are the sums of their steps, the longest first.
	Layers    []Sum `json:"layers"`
	Files     []Sum `json:"files"`
	Functions []Sum `json:"functions,omitempty"`
}

// A Gain is what a run would gain if a step took no time.
type Gain struct {
	Step int           `json:"step"`
	Gain time.Duration `json:"gain_ns"`
	// Path is by how much the critical path would be shorter.
	Path time.Duration `json:"critical_ns"`
}

// A Sum is what steps that have something in common took.
type Sum struct {
	Name  string `json:"name"`
	Steps int    `json:"steps"`
	// Took is the sum of what they took, and Waited of what they waited; Planned is how long it took to plan the steps of a file.
	Took    time.Duration `json:"took_ns"`
	Waited  time.Duration `json:"waited_ns"`
	Planned time.Duration `json:"planned_ns,omitempty"`
	// Critical is how much of it is on the critical path, and Gain what a run would gain without the steps.
	Critical time.Duration `json:"on_critical_ns"`
	Gain     time.Duration `json:"gain_ns"`
	// Bytes is the size of a file, or about what the steps made.
	Bytes int `json:"bytes"`
}

// most is how many steps, files, layers and functions an analysis names. For more than that nobody looks.
const most = 100

// Analyse says what p means.
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

// finish returns, for each step, when it would end if it waited for nothing but what it needs. Steps that gone tells take no time.
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

// Critical returns the chain of steps that takes longest, and how long it takes: nothing for no steps.
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

// Without returns how long the critical path would be if the steps that gone tells took no time.
func Without(steps []Step, gone func(int) bool) time.Duration {
	if len(steps) == 0 {
		return 0
	}
	return slices.Max(finish(steps, gone))
}

// least returns the least time that the steps need with the jobs of p: functions run beside the other steps.
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

// order returns the indexes of the first most of n things by a time, the longest first.
func order(n int, by func(int) time.Duration) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(x, y int) int { return cmp.Compare(by(y), by(x)) })
	return all[:min(n, most)]
}

// gains finds the steps without which the run would be shorter. Only those can be that take long.
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

// sums adds up the steps of each layer, file and function. A layer is planned when its own file is.
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

// sum adds the steps that of gives the same name to what is known of the names already; "" is none.
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
		if known[name].Bytes == 0 { // it is no file, whose size is known
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
