// Package engine owns one run of a command: a request goes in, an iterator of results comes out. It finds the roots, remembers what earlier
// runs have made of them, plans the others, runs them, and remembers the results. A command cannot get the order of these steps
// wrong, because each step returns what the next one needs: an [Engine] makes a [Run], and a Run makes results.
package engine

import (
	"context"
	"sync"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/engine/answers"
	"github.com/krmflow/krmflow/internal/engine/limits"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/roots"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
)

// Options are what the flags and settings of a command say about its runs.
type Options struct {
	// Selection says which roots are found below the directories of a request, and Recursive that they are looked for.
	Selection roots.Selection
	Recursive bool
	// KeepGoing continues with the other roots when one fails.
	KeepGoing bool
	// Plan says how roots are planned. The engine sets the fields Input, Progress, Fetch, Instead, Files, Rendered, FS and Observe.
	Plan planner.Options
	// Sources say how remote content is fetched. The engine sets the fields of the lock, the vendor folder and the roots.
	Sources render.Sources
	// LockFile and Vendor are the lock file and the vendor folder.
	LockFile, Vendor Place
	// Locked allows only remote content that is locked. With LockedSet unset, it is also true in CI if there is a lock file.
	Locked, LockedSet bool
	// Jobs and Calls are how many nodes and functions run at the same time.
	Jobs, Calls int
	// Fresh reuses no root of an earlier run. Answers of functions are reused.
	Fresh bool
	// CacheSecrets also keeps what contains Secrets.
	CacheSecrets bool
	// AllowErrorResults lets a function that ends well report errors.
	AllowErrorResults bool
	// ContainerRuntime is the program that runs containers: see [container.Detect].
	ContainerRuntime string
	// Program returns the program that executes functions of a runtime, and OwnExecutor reports whether the user named it.
	Program     func(function.Runtime) executors.Program
	OwnExecutor func(function.Runtime) bool
	// Limits bound what the run takes.
	Limits Limits
	// Version is that of the program: what another version has kept is made again.
	Version string
	// Quiet does not say that the cache cannot be used.
	Quiet bool
	// Reads are files that decide about the run besides its inputs, for a [Watch], and Writes are files that the command writes, which are no reason for another round of a [Watch].
	Reads, Writes []string
}

// Limits bound what a run takes.
type Limits struct {
	// Input is how many bytes of files are read.
	Input int64
	// CPU is the processor time, 0 for no limit. With CPUGrows, it grows with the input.
	CPU      time.Duration
	CPUGrows bool
	// Memory is a limit in bytes, 0 for the one that follows from the input. With MemoryLifts, it applies also if it is higher than that.
	Memory      int64
	MemoryLifts bool
}

// A Place is the path of a file or folder that belongs to the roots, such as a lock file. Unless Set says that the user chose it, it is used
// only if it exists and the roots are below the working directory.
type Place struct {
	Flag, Path string
	Set        bool
}

// A Log is told what a run does. Its methods are called from several goroutines.
type Log interface {
	Warn(planner.Warning)
	Notice(planner.Warning)
	Planned(*planner.Plan)
	WarnNode(*graph.Node, func() *diag.Error)
	Node(scheduler.Event)
	Call(scheduler.CallReport)
	Fetch(remote.Event)
	Unchanged(dir string)
}

// A Host is the process that an engine runs in. Log, Exits, Usage, Steps, Stop and Strict are not nil.
type Host struct {
	Log Log
	// Exits are called if the process must end before the command does.
	Exits *limits.Exits
	// Usage and Steps are what the run takes, and which steps run.
	Usage *limits.Usage
	Steps *limits.Steps
	// Stop ends the context of the command.
	Stop context.CancelCauseFunc
	// Recorder measures the run, nil for none.
	Recorder *profile.Recorder
	// Strict returns an error if there were warnings and they count as errors.
	Strict func() error
	// Shared opens the cache of answers that machines share. It returns nil, or is nil, if there is none.
	Shared func() (answers.Shared, error)
	// CheckRoots may refuse to plan directories. tree returns the repository of a rendered directory that a path lies in, "" for none.
	CheckRoots func(dirs []string, tree func(path string) string) error
	// Planned is told of each new plan of the command and of the roots that it was made for.
	Planned func(plan *planner.Plan, dirs []string)
	// Watch connects the rounds of a command that renders again when files change, nil for a single run.
	Watch *Watch
}

// An Engine runs the requests of one command. It is not safe for concurrent use.
type Engine struct {
	o      Options
	host   Host
	places filestat.Dirs // where directories are

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

// limit starts to watch what the run takes. taken is how many bytes the command has read so far.
func (e *Engine) limit(ctx context.Context, taken int64) {
	e.limits.Do(func() {
		u, l := e.host.Usage, e.o.Limits
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

// progress is told which step is planned.
func (e *Engine) progress(at graph.Origin) {
	e.host.Steps.Plan(at)
	if e.host.Recorder != nil {
		e.host.Recorder.Plan(at)
	}
}

// silent is the log of a run of which nothing is told.
type silent struct{}

func (silent) Warn(planner.Warning)                     {}
func (silent) Notice(planner.Warning)                   {}
func (silent) Planned(*planner.Plan)                    {}
func (silent) WarnNode(*graph.Node, func() *diag.Error) {}
func (silent) Node(scheduler.Event)                     {}
func (silent) Call(scheduler.CallReport)                {}
func (silent) Fetch(remote.Event)                       {}
func (silent) Unchanged(string)                         {}
