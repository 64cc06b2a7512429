package profile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A Span is the time interval of the item with an index.
type Span struct {
	Start, End time.Duration
	Index      int
}

// Lanes distributes spans over as few lanes as possible, so that the spans in a lane do not
// overlap. Each lane is sorted by time.
func Lanes(spans []Span) [][]Span {
	spans = slices.Clone(spans)
	slices.SortStableFunc(spans, func(x, y Span) int { return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End)) })
	var lanes [][]Span
	for _, s := range spans {
		free := slices.IndexFunc(lanes, func(l []Span) bool { return l[len(l)-1].End <= s.Start })
		if free < 0 {
			free = len(lanes)
			lanes = append(lanes, nil)
		}
		lanes[free] = append(lanes[free], s)
	}
	return lanes
}

// Spans returns the intervals in which steps ran, and in which their functions ran.
func (p *Profile) Spans() (steps, calls []Span) {
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Answered > 0 {
			calls = append(calls, Span{s.Called, s.Answered, i})
		}
		start := s.Start
		if s.Answered > start { // before that, the function ran
			start = min(s.End, s.Answered)
		}
		if start < s.End {
			steps = append(steps, Span{start, s.End, i})
		}
	}
	return steps, calls
}

// An event is an event in the trace format of browsers and Perfetto. Times are in microseconds.
type event struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Time     float64        `json:"ts"`
	Duration float64        `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// A trace is a file in Chrome's trace format. It also contains the profile, which other readers
// of the format ignore.
type trace struct {
	Events  []event  `json:"traceEvents"`
	Unit    string   `json:"displayTimeUnit"`
	Profile *Profile `json:"krmflow"`
}

// The threads of a trace. Lanes of the same kind have consecutive numbers.
const (
	stageThread = 1
	planThread  = 2
	stepThread  = 1000
	callThread  = 2000
)

// TraceBegins is the beginning of every trace file.
const TraceBegins = `{"traceEvents":[`

// WriteTrace writes p in Chrome's trace format, which Perfetto can open.
func WriteTrace(w io.Writer, p *Profile) error {
	t := trace{Unit: "ms", Profile: p}
	t.name("process_name", 0, "krmflow "+p.Command)
	t.name("thread_name", stageThread, "stages")
	for _, s := range p.Stages {
		t.span(s.Name, "stage", stageThread, s.Start, s.Start+s.Wall, map[string]any{"cpu_ms": ms(s.CPU)})
	}
	if len(p.Planned) > 0 {
		t.name("thread_name", planThread, "planning")
	}
	for _, f := range p.Planned {
		t.span(f.File, "plan", planThread, f.Start, f.Start+f.Wall, map[string]any{"steps": f.Steps})
	}
	critical := map[int]bool{}
	path, _ := Critical(p.Steps)
	for _, i := range path {
		critical[i] = true
	}
	steps, calls := p.Spans()
	t.lanes(stepThread, "steps", steps, func(i int) (string, string, map[string]any) {
		s := &p.Steps[i]
		return strings.TrimSpace(s.Verb + " " + s.ID), s.Verb, map[string]any{"layer": s.Layer, "resources": s.Resources,
			"bytes_in": s.Taken, "bytes_out": s.Made, "waited_ms": ms(s.Waited), "cached": s.Cached, "critical": critical[i]}
	})
	t.lanes(callThread, "functions", calls, func(i int) (string, string, map[string]any) {
		return cmp.Or(p.Steps[i].Function, p.Steps[i].ID), "function", map[string]any{"step": p.Steps[i].ID, "critical": critical[i]}
	})
	for _, s := range p.Memory.Samples {
		t.Events = append(t.Events, event{Name: "memory", Phase: "C", Time: us(s.At), Process: 1,
			Args: map[string]any{"live_bytes": s.Live}},
			event{Name: "jobs", Phase: "C", Time: us(s.At), Process: 1, Args: map[string]any{"jobs": s.Jobs}})
	}
	return json.NewEncoder(w).Encode(t)
}

// name sets the name of a thread or the process.
func (t *trace) name(what string, thread int, name string) {
	t.Events = append(t.Events, event{Name: what, Phase: "M", Process: 1, Thread: thread, Args: map[string]any{"name": name}})
}

func (t *trace) span(name, category string, thread int, start, end time.Duration, args map[string]any) {
	t.Events = append(t.Events, event{Name: name, Category: category, Phase: "X", Time: us(start), Duration: us(end - start), Process: 1,
		Thread: thread, Args: args})
}

// lanes adds spans, with one thread per lane.
func (t *trace) lanes(thread int, name string, spans []Span, of func(int) (name, category string, args map[string]any)) {
	for k, lane := range Lanes(spans) {
		t.name("thread_name", thread+k, fmt.Sprintf("%s %d", name, k+1))
		for _, s := range lane {
			n, category, args := of(s.Index)
			t.span(n, category, thread+k, s.Start, s.End, args)
		}
	}
}

func us(d time.Duration) float64 { return float64(d) / 1e3 }
func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// ReadTrace returns the profile in a trace written by [WriteTrace].
func ReadTrace(r io.Reader) (*Profile, error) {
	var t struct {
		Profile *Profile `json:"krmflow"`
	}
	if err := json.NewDecoder(r).Decode(&t); err != nil {
		return nil, err
	}
	if t.Profile == nil {
		return nil, errors.New("this trace has no krmflow profile")
	}
	return t.Profile, t.Profile.check()
}

// check returns an error if a step depends on a later one, which this package cannot process.
// It also sets Calls, which earlier versions did not write because the number of jobs limited
// functions.
func (p *Profile) check() error {
	if p.Calls == 0 {
		p.Calls = p.Jobs
	}
	for i := range p.Steps {
		for _, b := range p.Steps[i].Before {
			if b < 0 || b >= i {
				return fmt.Errorf("step %d needs step %d, which is not before it", i, b)
			}
		}
	}
	return nil
}
