// Package profile measures a run from the inside: which stage and which step took how long, what waited for what, and what a run would
// gain without a step. A [Recorder] collects that while a command runs, [Analyse] says what it means, and [Measure] repeats a command
// in processes of its own. A nil Recorder records nothing and costs nothing.
package profile

import (
	"encoding/json"
	"time"
)

// A Profile is what was measured of one command. All times are since the command began.
type Profile struct {
	Version string `json:"version"`
	Command string `json:"command"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPUs    int    `json:"cpus"`
	// Procs is GOMAXPROCS, Jobs how many steps might run at the same time, and Calls how many functions.
	Procs int `json:"gomaxprocs"`
	Jobs  int `json:"jobs"`
	Calls int `json:"calls"`
	// MemoryLimit is the value of --memory-limit, 0 for none.
	MemoryLimit int64   `json:"memory_limit,omitempty"`
	Stages      []Stage `json:"stages"`
	// Steps are the nodes that ran, in the order of the graph.
	// Behind each that yields a root's list there is one with the verb output: the list is handed to where it goes.
	Steps []Step `json:"steps"`
	// Planned says how long it took to plan the steps of each file, in the order of planning.
	Planned []Planned `json:"planned,omitempty"`
	// Roots are the directories whose lists were made.
	Roots  []string `json:"roots,omitempty"`
	Files  []File   `json:"files,omitempty"`
	Memory Memory   `json:"memory"`
}

// A Stage is a part of the command. One begins where the one before it ends.
type Stage struct {
	Name  string        `json:"name"`
	Start time.Duration `json:"start_ns"`
	Wall  time.Duration `json:"wall_ns"`
	// CPU is the processor time of this process and of those that it has waited for; 0 where the system does not tell.
	CPU time.Duration `json:"cpu_ns"`
}

// A Step is a node that ran.
type Step struct {
	ID    string `json:"id"`
	Verb  string `json:"verb"`
	Layer string `json:"layer,omitempty"`
	// File is the file that the step loads, or that it is configured in, and Function the function or chart that it calls.
	File     string `json:"file,omitempty"`
	Function string `json:"function,omitempty"`
	// Before are the steps that must end before this one starts, as indexes of [Profile.Steps]. All are smaller than that of the step.
	Before []int         `json:"before,omitempty"`
	Start  time.Duration `json:"start_ns"`
	End    time.Duration `json:"end_ns"`
	// Called and Answered are when its function was called and had answered, both 0 for other steps.
	Called   time.Duration `json:"called_ns,omitempty"`
	Answered time.Duration `json:"answered_ns,omitempty"`
	// Self is how long the step and its function took, without waiting.
	Self time.Duration `json:"self_ns"`
	// Waited is how long the step could have run and did not, because others did.
	Waited    time.Duration `json:"waited_ns"`
	Resources int           `json:"resources"`
	// Taken and Made are about how many bytes its inputs and its list have.
	Taken  int  `json:"bytes_in"`
	Made   int  `json:"bytes_out"`
	Failed bool `json:"failed,omitempty"`
	// Cached is true for a call whose answer was that of an earlier run.
	Cached bool `json:"cached,omitempty"`
	// Runs is Self over several runs, nil for a profile of one.
	Runs *Spread `json:"runs,omitempty"`
}

// UnmarshalJSON reads a step. Earlier versions called functions before their lists were there, and
// wrote that time as early_ns and not as a part of self_ns.
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

// Planned is time that planning has spent on the steps of a file.
type Planned struct {
	File  string        `json:"file"`
	Start time.Duration `json:"start_ns"`
	Wall  time.Duration `json:"wall_ns"`
	Steps int           `json:"steps"`
}

// A File is one that was read.
type File struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// Memory is what the process took.
type Memory struct {
	// Peak is the largest resident memory in bytes, 0 where the system does not tell.
	Peak int64 `json:"peak_bytes"`
	// Live is the most that a garbage collection found in use, Allocated all that was ever allocated.
	Live        uint64 `json:"live_bytes"`
	Allocated   uint64 `json:"allocated_bytes"`
	Collections uint64 `json:"collections"`
	// Least is how many jobs might still run when memory came nearest to its limit.
	Least   int      `json:"least_jobs"`
	Samples []Sample `json:"samples,omitempty"`
}

// A Sample is the memory in use at a moment, and how many jobs might run then.
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

// First returns when the first step began that is no fetch. What the stage did before is that it prepared functions. Without steps it is the
// beginning of the stage.
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

// Wall returns how long the command took.
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

// Output is the verb of steps that hand a root's list to where it goes, and OutputLayer what they belong to.
const (
	Output      = "output"
	OutputLayer = "(output)"
)
