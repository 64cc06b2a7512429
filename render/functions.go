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

// execute sets up a run to fetch functions' programs and to count their output as input. The
// returned function releases the resources of both.
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
			return nil, fmt.Errorf("no executor for %s functions", runtime)
		}
		x, err := executor(runtime)
		if err == nil && input != nil {
			x = countedExecutor{x, input}
		}
		return fetchingExecutor{x, fetched}, err
	}
	return end
}

// countedAnswers counts cached answers as input of the run that uses them, like the output of
// executors.
type countedAnswers struct {
	scheduler.Answers
	input *loaders.Budget
}

// Lookup counts the answer it finds.
func (x countedAnswers) Lookup(ctx context.Context, key krm.Digest) (function.Output, bool) {
	out, ok := x.Answers.Lookup(ctx, key)
	x.input.Add(int64(out.List.Len()))
	return out, ok
}

// A countedExecutor counts the output of its executor as input of the run.
type countedExecutor struct {
	scheduler.Executor
	input *loaders.Budget
}

// Execute reserves the function's maximum output and, when the function ends, replaces the
// reservation by the actual size.
func (x countedExecutor) Execute(ctx context.Context, f function.Function, list yaml.Chunks) (function.Output, error) {
	// The reservation exceeds any real output, but the sum over all jobs cannot overflow.
	most := min(f.Limits.Output, 1<<40)
	x.input.Add(most)
	out, err := x.Executor.Execute(ctx, f, list)
	x.input.Add(int64(out.List.Len()) - most)
	return out, err
}
