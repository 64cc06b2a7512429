package profile

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/krmflow/krmflow/bench"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/scheduler"
)

// A Recorder collects the events of one command from its start to [Recorder.Profile]. It is
// safe for concurrent use. A nil Recorder records nothing, but Profile must not be called on
// it.
type Recorder struct {
	began time.Time
	jobs  int
	calls int

	mu      sync.Mutex
	stages  []Stage
	cpu     time.Duration // processor time when the last stage began
	events  map[string]scheduler.Event
	planned []Planned
	last    time.Time       // when the last step was planned
	outputs map[string]Step // by root
	memory  Memory
	every   int // one of this many samples is kept
	samples int
}

// New returns a Recorder for a command that started at began. jobs and calls are the maximum
// numbers of concurrent steps and functions.
func New(began time.Time, jobs, calls int) *Recorder {
	return &Recorder{began: began, jobs: jobs, calls: calls, events: map[string]scheduler.Event{}, outputs: map[string]Step{},
		stages: []Stage{{Name: Starting}}, memory: Memory{Least: jobs}, every: 1}
}

// Stage records the start of a stage, which is the end of the previous one.
func (r *Recorder) Stage(name string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.last = now
	r.endStage(now)
	r.stages = append(r.stages, Stage{Name: name, Start: now.Sub(r.began)})
}

func (r *Recorder) endStage(now time.Time) {
	s, cpu := &r.stages[len(r.stages)-1], cpuTime()
	s.Wall, s.CPU = now.Sub(r.began)-s.Start, cpu-r.cpu
	r.cpu = cpu
}

// maxPlanned is the maximum number of entries in [Profile.Planned]. Further steps are added to
// the last entry.
const maxPlanned = 50_000

// Plan records that a step has been planned. The time since the previous step is attributed to
// it.
func (r *Recorder) Plan(at graph.Origin) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, file := time.Now(), diag.Redact(at.File())
	if n := len(r.planned); n == 0 || r.planned[n-1].File != file && n < maxPlanned {
		r.planned = append(r.planned, Planned{File: file, Start: r.last.Sub(r.began)})
	}
	p := &r.planned[len(r.planned)-1]
	p.Wall += now.Sub(r.last)
	p.Steps++
	r.last = now
}

// Event records the end of a node.
func (r *Recorder) Event(e scheduler.Event) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[e.Node.ID] = e
}

// Root records that the list of a root was passed to the output, from start until now.
func (r *Recorder) Root(root graph.Root, list *krm.List, start time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outputs[root.Dir] = Step{ID: root.Dir, Verb: Output, Layer: OutputLayer, Start: start.Sub(r.began), End: time.Since(r.began),
		Resources: list.Len(), Taken: list.Size()}
}

// maxSamples is the maximum number of memory samples.
const maxSamples = 2000

// Memory records the bytes in use and the fraction of the jobs that may run.
func (r *Recorder) Memory(live uint64, part float64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	jobs := max(1, int(float64(r.jobs)*part))
	r.memory.Live, r.memory.Least = max(r.memory.Live, live), min(r.memory.Least, jobs)
	if r.samples++; r.samples%r.every != 0 {
		return
	}
	r.memory.Samples = append(r.memory.Samples, Sample{time.Since(r.began), live, jobs})
	if len(r.memory.Samples) == maxSamples { // keep every second one
		for i := range maxSamples / 2 {
			r.memory.Samples[i] = r.memory.Samples[2*i+1]
		}
		r.memory.Samples, r.every = r.memory.Samples[:maxSamples/2], 2*r.every
	}
}

// Profile ends the last stage and returns the profile of a run of g with the given input files.
// Both may be nil if the command ended before it had them.
func (r *Recorder) Profile(g *graph.Graph, files []*yaml.Source) *Profile {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endStage(time.Now())
	r.memory.Peak = bench.SelfPeak()
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	r.memory.Live, r.memory.Collections, r.memory.Allocated = max(r.memory.Live, s[0].Value.Uint64()), s[1].Value.Uint64(),
		s[2].Value.Uint64()
	p := &Profile{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Procs: runtime.GOMAXPROCS(0), Jobs: r.jobs,
		Calls:  r.calls,
		Stages: r.stages, Planned: r.planned, Memory: r.memory}
	for _, src := range files {
		p.Files = append(p.Files, File{diag.Redact(src.File), len(src.Data)})
	}
	if g != nil {
		p.Steps, p.Roots = r.steps(g)
	}
	p.derive()
	return p
}

// steps returns the steps of g that ran, each followed by the outputs of its list, and the
// roots of these outputs.
func (r *Recorder) steps(g *graph.Graph) (steps []Step, roots []string) {
	outputs := map[graph.NodeID][]Step{}
	for _, root := range g.Roots {
		if s, made := r.outputs[root.Dir]; made {
			outputs[root.Node] = append(outputs[root.Node], s)
			roots = append(roots, root.Dir)
		}
	}
	at := make([]int, len(g.Nodes)) // index of a node's step plus 1, 0 if it did not run
	since := func(t time.Time) time.Duration {
		if t.IsZero() {
			return 0
		}
		return max(0, t.Sub(r.began))
	}
	for i, n := range g.Nodes {
		e, ran := r.events[n.ID]
		if !ran {
			continue
		}
		s := Step{ID: n.ID, Verb: n.Op.Verb(), Layer: n.Layer, File: diag.Redact(n.Origin.File()), Start: since(e.Start), End: since(e.End),
			Called:   since(e.Called),
			Answered: since(e.Answered), Resources: e.Resources, Taken: e.Taken, Made: e.Made, Failed: e.Err != nil, Cached: e.Cached}
		switch op := n.Op.(type) {
		case graph.Load:
			if op.Source != nil {
				s.File = diag.Redact(op.Source.File)
			}
		case graph.Fetch:
			s.Function = op.Function.Name
		case graph.Call:
			s.Function = op.Function.Name
		case graph.Merge, graph.Generate, graph.Transform, graph.Validate, graph.Pass, graph.Absorb, graph.Finish:
		}
		for before := range n.Before() {
			if at[before] > 0 {
				s.Before = append(s.Before, at[before]-1)
			}
		}
		steps = append(steps, s)
		at[i] = len(steps)
		for _, out := range outputs[graph.NodeID(i)] {
			out.Before = []int{at[i] - 1}
			steps = append(steps, out)
		}
	}
	return steps, roots
}

// derive computes the times for which steps ran and waited from their start and end times.
func (p *Profile) derive() {
	first := p.First()
	for i := range p.Steps {
		s := &p.Steps[i]
		// Steps do not wait while functions are prepared.
		ready, began := min(first, s.Start), s.Start
		for _, b := range s.Before {
			ready = max(ready, p.Steps[b].End)
		}
		if s.Called > s.Start {
			s.Waited, began = s.Called-s.Start, s.Called // for the preparation of functions
		}
		s.Self = max(0, s.End-began)
		s.Waited += max(0, s.Start-ready)
	}
}
