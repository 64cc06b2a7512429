package executors

import (
	"context"
	"sync"

	"github.com/krmflow/krmflow/krm/function"
)

// A Pool starts executors on demand, one per runtime, and stops them. It is safe for concurrent
// use.
type Pool struct {
	ctx     context.Context
	program func(function.Runtime) Program
	mu      sync.Mutex
	started map[function.Runtime]startedProcess
}

type startedProcess struct {
	*Process
	err error
}

// NewPool returns a pool of executors that stop at the end of ctx. program returns the executor
// to start for a runtime.
func NewPool(ctx context.Context, program func(function.Runtime) Program) *Pool {
	return &Pool{ctx: ctx, program: program, started: map[function.Runtime]startedProcess{}}
}

// Get returns the executor for a runtime. If it cannot be started, every later call returns the
// same error without trying again.
func (p *Pool) Get(runtime function.Runtime) (Executor, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return nil, context.Cause(p.ctx) // the pool may be closed already
	}
	x, ok := p.started[runtime]
	if !ok {
		x.Process, x.err = Start(p.ctx, p.program(runtime))
		p.started[runtime] = x
	}
	if x.err != nil {
		return nil, x.err
	}
	return x.Process, nil
}

// Close stops the executors and everything that they run. It may be called at any time and more
// than once.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.started {
		if x.err == nil {
			x.Close()
		}
	}
}
