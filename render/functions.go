package render

import (
	"context"
	"fmt"
	"sync"

	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/krmflow/krmflow/trust"
)

// probe lets the planner ask this machine what a plan must know of it. Nothing of that starts a function. Where all functions are denied
// anyway it is not asked, unless somebody wants to be shown what there is.
func (o *Options) probe(ctx context.Context) {
	f := &o.Plan.Functions
	if f.Isolation == nil && len(f.Trusted) == 0 && !f.Policy.AllowUncatalogued {
		f.Isolation = func() (string, string) { return "not asked", "" }
		return
	}
	if f.Isolation == nil {
		f.Isolation = Isolation
	}
	if f.Image == nil {
		f.Image = (&images{ctx: ctx, runtime: o.ContainerRuntime}).find
	}
}

// Isolation returns what isolates a program on this machine, empty for nothing that is enough, and what is missing then. It tries, for
// which it starts this program itself as a process that ends at once.
func Isolation() (isolation, missing string) {
	iso := exec.Probe()
	if iso.Enough() {
		return iso.String(), ""
	}
	return "", iso.Missing
}

// images finds digests of images in the store of the engine. Both are looked for when the first image is asked for.
type images struct {
	ctx     context.Context
	runtime string // as in Options.ContainerRuntime
	once    sync.Once
	engine  container.Engine
	store   *container.Store
	err     error // why there is no store
}

func (p *images) find(name string) trust.Image {
	p.once.Do(func() {
		if p.engine, p.err = container.Detect(p.runtime); p.err == nil {
			p.store, p.err = p.engine.Store(p.ctx)
		}
	})
	if p.err != nil {
		return trust.Image{Err: p.err}
	}
	digests, err := p.store.Digests(name)
	if err == nil && len(digests) == 0 {
		err = fmt.Errorf("%s has no such image on this machine", p.engine.Name)
		if command := p.engine.PullCommand(name); command != "" {
			err = fmt.Errorf("%w; to see its digest in the next plan: %s", err, command)
		}
	}
	return trust.Image{Digests: digests, Err: err}
}

// execute makes a run fetch the programs of functions, and count their answers. The function that it returns releases what that has used.
func (o *Options) execute() (end func()) {
	executor, input := o.Run.Executor, o.Plan.Input
	var fetched *programs
	end = func() {}
	if o.Sources != nil {
		fetched, end = o.sources().programs()
	}
	o.Run.Executor = func(runtime function.Runtime) (scheduler.Executor, error) {
		if executor == nil {
			return nil, fmt.Errorf("there is no executor for %s functions", runtime)
		}
		x, err := executor(runtime)
		if err == nil && input != nil {
			x = countedExecutor{x, input}
		}
		return fetchingExecutor{x, fetched}, err
	}
	return end
}

// A countedExecutor is an executor whose answers count as input of the run.
type countedExecutor struct {
	scheduler.Executor
	input *loaders.Budget
}

// Execute counts what the function may answer until its answer is there.
func (x countedExecutor) Execute(ctx context.Context, f function.Function, list yaml.Chunks) (function.Output, error) {
	most := min(f.Limits.Output, 1<<40) // more than any answer, and little enough to be added for all jobs
	x.input.Add(most)
	out, err := x.Executor.Execute(ctx, f, list)
	x.input.Add(int64(out.List.Len()) - most)
	return out, err
}
