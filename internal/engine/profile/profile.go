// Package profile measures a run from the inside: the times of stages and steps, the
// dependencies for which steps waited, and the time that a run would save without a step. A
// [Recorder] collects the data while a command runs, [Analyse] evaluates it, and [Measure]
// repeats a command in separate processes. A nil Recorder records nothing and costs nothing.
package profile

import (
	"encoding/json"
	"time"
)

// A Profile has the measurements of one command. All times are relative to its start.
type Profile struct {
	Version string `json:"version"`
	Command string `json:"command"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPUs    int    `json:"cpus"`
	// Procs is GOMAXPROCS. Jobs and Calls are the maximum numbers of concurrent steps and
	// functions.
	Procs int `json:"gomaxprocs"`
	Jobs  int `json:"jobs"`
	Calls int `json:"calls"`
	// MemoryLimit is the value of --memory-limit, 0 for none.
	MemoryLimit int64   `json:"memory_limit,omitempty"`
	Stages      []Stage `json:"stages"`
	// Steps are the nodes that ran, in the order of the graph. Each node that yields the list
	// of a root is followed by a step with the verb output, in which the list is passed to the
	// output.
	Steps []Step `json:"steps"`
	// Planned has the times for planning the steps of each file, in the order of planning.
	Planned []Planned `json:"planned,omitempty"`
	// Roots are the directories whose lists were made.
	Roots  []string `json:"roots,omitempty"`
	Files  []File   `json:"files,omitempty"`
	Memory Memory   `json:"memory"`
}

// A Stage is a part of the command. Each stage begins at the end of the previous one.
type Stage struct {
	Name  string        `json:"name"`
	Start time.Duration `json:"start_ns"`
	Wall  time.Duration `json:"wall_ns"`
	// CPU is the processor time of this process and of the child processes that it has waited
	// for. It is 0 if the system does not report it.
	CPU time.Duration `json:"cpu_ns"`
}

// A Step is a node that ran.
type Step struct {
	ID    string `json:"id"`
	Verb  string `json:"verb"`
	Layer string `json:"layer,omitempty"`
	// File is the file that the step loads or that configures it. Function is the function or
	// chart that it calls.
	File     string `json:"file,omitempty"`
	Function string `json:"function,omitempty"`
	// Before are the dependencies of the step, as indexes of [Profile.Steps]. Each is smaller
	// than the index of the step itself.
	Before []int         `json:"before,omitempty"`
	Start  time.Duration `json:"start_ns"`
	End    time.Duration `json:"end_ns"`
	// Called and Answered are the times at which its function was called and answered. They are
	// 0 for other steps.
	Called   time.Duration `json:"called_ns,omitempty"`
	Answered time.Duration `json:"answered_ns,omitempty"`
	// Self is the time of the step and its function, without waiting.
	Self time.Duration `json:"self_ns"`
	// Waited is the time in which the step was ready but did not run, because other steps ran.
	Waited    time.Duration `json:"waited_ns"`
	Resources int           `json:"resources"`
	// Taken and Made are the approximate sizes of its inputs and its list in bytes.
	Taken  int  `json:"bytes_in"`
	Made   int  `json:"bytes_out"`
	Failed bool `json:"failed,omitempty"`
	// Cached reports that the answer of the function came from an earlier run.
	Cached bool `json:"cached,omitempty"`
	// Runs is the spread of Self over several runs, nil for the profile of a single run.
	Runs *Spread `json:"runs,omitempty"`
}

// UnmarshalJSON reads a step. Earlier versions called functions before their input lists were
// complete, and wrote the time of these calls as early_ns, which was not included in self_ns.
func (s *Step) UnmarshalJSON(data []byte) error {
	type fields Step
	old := struct {
		*fields
		Early time.Duration `json:"early_ns"`
	}{fields: (*fields)(s)}
	if err := json.Unmarshal(data, &old); err != nil {
		return err
	}
	s.Self += old.Early
	return nil
}

// Planned is time spent on planning the steps of a file.
type Planned struct {
	File  string        `json:"file"`
	Start time.Duration `json:"start_ns"`
	Wall  time.Duration `json:"wall_ns"`
	Steps int           `json:"steps"`
}

// A File is an input file.
type File struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// Memory is the memory use of the process.
type Memory struct {
	// Peak is the largest resident memory in bytes, 0 if the system does not report it.
	Peak int64 `json:"peak_bytes"`
	// Live is the maximum found in use by a garbage collection. Allocated is the total of all
	// allocations.
	Live        uint64 `json:"live_bytes"`
	Allocated   uint64 `json:"allocated_bytes"`
	Collections uint64 `json:"collections"`
	// Least is the smallest number of jobs that could run, when memory was closest to its
	// limit.
	Least   int      `json:"least_jobs"`
	Samples []Sample `json:"samples,omitempty"`
}

// A Sample is the memory in use at one time, and the number of jobs that could run.
type Sample struct {
	At   time.Duration `json:"at_ns"`
	Live uint64        `json:"live_bytes"`
	Jobs int           `json:"jobs"`
}

// Run returns the stage in which the steps ran, the zero Stage if there is none.
func (p *Profile) Run() Stage {
	for _, s := range p.Stages {
		if s.Name == Running {
			return s
		}
	}
	return Stage{}
}

// First returns the start of the first step that is not a fetch. Before that, the stage
// prepared functions. Without such steps it returns the start of the stage.
func (p *Profile) First() time.Duration {
	first := time.Duration(-1)
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Verb != "fetch" && (first < 0 || s.Start < first) {
			first = s.Start
		}
	}
	if first < 0 {
		return p.Run().Start
	}
	return first
}

// Wall returns the elapsed time of the command.
func (p *Profile) Wall() time.Duration {
	var sum time.Duration
	for _, s := range p.Stages {
		sum += s.Wall
	}
	return sum
}

// The stages of a command.
const (
	Starting = "start"
	Finding  = "find roots"
	Planning = "plan"
	Running  = "run"
	Writing  = "write"
)

// Output is the verb of steps that pass the list of a root to the output. OutputLayer is the
// layer of these steps.
const (
	Output      = "output"
	OutputLayer = "(output)"
)
