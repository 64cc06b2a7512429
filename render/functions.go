package render

import (
	"context"
	"fmt"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/scheduler"
)

// execute makes a run fetch the programs of functions, and count their answers. The function that it returns releases what that has used.
func (o *Options) execute() (end func()) {
	executor, input := o.Run.Executor, o.Plan.Input
	if o.Run.Reuse.Answers != nil && input != nil {
		o.Run.Reuse.Answers = countedAnswers{o.Run.Reuse.Answers, input}
	}
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

// countedAnswers are answers that count as input of the run that they are used in, as those of executors do.
type countedAnswers struct {
	scheduler.Answers
	input *loaders.Budget
}

// Lookup counts what is there.
func (x countedAnswers) Lookup(ctx context.Context, key krm.Digest) (function.Output, bool) {
	out, ok := x.Answers.Lookup(ctx, key)
	x.input.Add(int64(out.List.Len()))
	return out, ok
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
