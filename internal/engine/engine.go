// Package engine runs the requests of one command. It takes a request and returns an iterator
// over results. For each request it finds the roots, looks up the results of earlier runs,
// plans the remaining roots, runs them, and records the results.
//
// Each step returns the input of the next: an [Engine] makes a [Run], and a Run makes results.
// So a command cannot call the steps in the wrong order.
package engine

import (
	"context"
	"sync"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/gitops/search"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/engine/answers"
	"github.com/krmflow/krmflow/internal/engine/limits"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/internal/engine/shard"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/roots"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
)

// Options are the flags and settings of a command that affect its runs.
type Options struct {
	// Selection filters the roots found below the directories of a request. Recursive enables
	// the search for roots.
	Selection roots.Selection
	Recursive bool
	// Shard selects the roots of one shard.
	Shard shard.Shard
	// GitOps selects objects of Argo CD and Flux as roots, if Recursive is set. The engine sets
	// the fields Charts, Jobs, FS, Top and Warn.
	GitOps search.Options
	// KeepGoing continues with the other roots when one fails.
	KeepGoing bool
	// Plan has the options of the planner. The engine sets the fields Input, Progress, Fetch,
	// Instead, Files, Rendered, FS and Observe.
	Plan planner.Options
	// Sources has the options for fetching remote content. The engine sets the fields of the
	// lock, the vendor folder and the roots.
	Sources render.Sources
	// LockFile and Vendor are the lock file and the vendor folder.
	LockFile, Vendor Place
	// Locked allows only remote content that is locked. If LockedSet is false, Locked is also
	// enabled in CI if there is a lock file.
	Locked, LockedSet bool
	// Jobs and Calls are the maximum numbers of nodes and functions that run at the same time.
	Jobs, Calls int
	// Fresh ignores the roots of earlier runs. Answers of functions are still reused.
	Fresh bool
	// CacheSecrets allows results that contain Secrets in the cache.
	CacheSecrets bool
	// AllowErrorResults accepts results of severity error from functions that exit
	// successfully.
	AllowErrorResults bool
	// ContainerRuntime is the program that runs containers: see [container.Detect].
	ContainerRuntime string
	// Program returns the executor for the functions of a runtime. OwnExecutor reports whether
	// the user configured it.
	Program     func(function.Runtime) executors.Program
	OwnExecutor func(function.Runtime) bool
	// Limits are the resource limits of the run.
	Limits Limits
	// Version is the version of the program. Results recorded by other versions are not used.
	Version string
	// Quiet suppresses the notice that the cache cannot be used.
	Quiet bool
	// Reads are files that affect the run besides its inputs, for a [Watch]. Writes are files
	// that the command writes, whose changes do not start another round of a Watch.
	Reads, Writes []string
}

// Limits are the resource limits of a run.
type Limits struct {
	// Input is the maximum number of bytes read from files.
	Input int64
	// CPU is the processor time, 0 for no limit. With CPUGrows, it grows with the input.
	CPU      time.Duration
	CPUGrows bool
	// Memory is a limit in bytes, 0 for the limit derived from the input. With MemoryLifts, it
	// applies even if it is higher than that.
	Memory      int64
	MemoryLifts bool
}

// A Place is the path of a file or folder that belongs to the roots, such as a lock file.
// Unless Set reports that the user chose it, it is used only if it exists and the roots are
// below the working directory.
type Place struct {
	Flag, Path string
	Set        bool
}

// A Log receives the events of a run. Its methods are called concurrently.
type Log interface {
	Warn(planner.Warning)
	Notice(planner.Warning)
	Planned(*planner.Plan)
	WarnNode(*graph.Node, func() *diag.Error)
	Node(scheduler.Event)
	Call(scheduler.CallReport)
	Fetch(remote.Event)
	Unchanged(dir string)
	LeftOut(*roots.Found)
}

// Progress shows the progress of planning or of a run. Its methods are called concurrently.
type Progress interface {
	// Done records that a root has finished successfully.
	Done()
	// Fail records that a node has failed.
	Fail(*graph.Node)
	// Stop ends the display.
	Stop()
}

// A Host is the process that an engine runs in. Log, Exits, Usage, Steps, Stop and Strict must
// not be nil.
type Host struct {
	Log Log
	// Exits are called if the process must end before the command does.
	Exits *limits.Exits
	// Usage measures the resources of the run. Steps has the steps that are running.
	Usage *limits.Usage
	Steps *limits.Steps
	// Stop cancels the context of the command.
	Stop context.CancelCauseFunc
	// Progress starts to show the progress of a plan that runs, or of planning if plan is nil. It
	// may be nil, and return nil.
	Progress func(plan *planner.Plan) Progress
	// Recorder measures the run. It may be nil.
	Recorder *profile.Recorder
	// Strict returns an error if there were warnings and warnings are errors.
	Strict func() error
	// Shared opens the cache of answers that is shared between machines. It may be nil, and
	// returns nil if there is no such cache.
	Shared func() (answers.Shared, error)
	// CheckRoots may return an error to prevent planning of directories. tree returns the
	// rendered repository that contains a path, or "" if none does.
	CheckRoots func(dirs []string, tree func(path string) string) error
	// Planned is called with each new plan of the command and its roots.
	Planned func(plan *planner.Plan, dirs []string)
	// Watch connects the rounds of a command that renders again when files change, nil for a
	// single run.
	Watch *Watch
}

// An Engine runs the requests of one command. It must not be used concurrently.
type Engine struct {
	o      Options
	host   Host
	places filestat.Dirs // resolved directories
	// objects are the GitOps objects among the roots.
	objects objects
	split   shard.Split

	limits    sync.Once
	cacheOnce sync.Once
	lasting   *cache.Cache // see cache
	asked     []string     // the directories of the last request
	shared    answers.Shared
	cacheTold sync.Once
	reuses    bool // a run uses records
}

// New returns the engine of a command.
func New(o Options, h Host) *Engine {
	for _, file := range o.Writes {
		if h.Watch != nil {
			h.Watch.writes(file)
		}
	}
	return &Engine{o: o, host: h}
}

// limit starts to monitor the resources of the run. taken is the number of bytes that the
// command has already read.
func (e *Engine) limit(ctx context.Context, taken int64) {
	u, l := e.host.Usage, e.o.Limits
	if u.Input != nil { // the limit of input is that of a plan
		u.Input.Max = u.Input.Used() + l.Input
		u.Input.Add(taken)
	}
	e.limits.Do(func() {
		u.Input = &loaders.Budget{Max: l.Input}
		u.Input.Add(taken)
		u.CPU, u.CPUGrows = l.CPU, l.CPUGrows
		u.Limit, u.Lifts = l.Memory, l.MemoryLifts
		if e.host.Recorder != nil {
			u.Seen = e.host.Recorder.Memory
		}
		u.Watch(ctx, e.host.Stop)
	})
}

// progress records the step that is being planned.
func (e *Engine) progress(at graph.Origin) {
	e.host.Steps.Plan(at)
	if e.host.Recorder != nil {
		e.host.Recorder.Plan(at)
	}
}

// show starts to show the progress of a plan that runs, or of planning if plan is nil.
func (e *Engine) show(plan *planner.Plan) Progress {
	if e.host.Progress != nil {
		if progress := e.host.Progress(plan); progress != nil {
			return progress
		}
	}
	return invisible{}
}

// invisible is the progress of a run that shows none.
type invisible struct{}

func (invisible) Done()            {}
func (invisible) Fail(*graph.Node) {}
func (invisible) Stop()            {}

// silent is a Log that discards everything.
type silent struct{}

func (silent) Warn(planner.Warning)                     {}
func (silent) Notice(planner.Warning)                   {}
func (silent) Planned(*planner.Plan)                    {}
func (silent) WarnNode(*graph.Node, func() *diag.Error) {}
func (silent) Node(scheduler.Event)                     {}
func (silent) Call(scheduler.CallReport)                {}
func (silent) Fetch(remote.Event)                       {}
func (silent) Unchanged(string)                         {}
func (silent) LeftOut(*roots.Found)                     {}
