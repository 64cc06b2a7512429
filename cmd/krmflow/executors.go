package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
)

// runtimeVariable tells the executor of containers which runtime the user wants.
const runtimeVariable = "KRMFLOW_CONTAINER_RUNTIME"

// isolation returns what isolates a program on this machine, empty for nothing that is enough, and what is missing then.
func isolation() (isolation, missing string) {
	iso := exec.Probe()
	if iso.Enough() {
		return iso.String(), ""
	}
	return "", iso.Missing
}

// detectRuntime returns an error if nothing on this machine can run containers.
func detectRuntime(override string) error {
	_, err := container.Detect(override)
	return err
}

// An imageProbe looks digests of images up in the store of the engine. Both are looked for when the first image is asked for.
type imageProbe struct {
	ctx     context.Context
	runtime string // as in the flag --container-runtime
	once    sync.Once
	engine  container.Engine
	store   *container.Store
	err     error // why there is no store
}

func (p *imageProbe) image(name string) trust.Image {
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

// pool starts executors when they are needed and ends them.
type pool struct {
	ctx     context.Context
	mu      sync.Mutex
	runtime string // of containers
	third   map[function.Runtime]executors.Program
	started map[function.Runtime]*executors.Process
	errs    map[function.Runtime]error
}

func newPool(ctx context.Context, runtime string, third map[function.Runtime]executors.Program) *pool {
	return &pool{ctx: ctx, runtime: runtime, third: third, started: map[function.Runtime]*executors.Process{}, errs: map[function.Runtime]error{}}
}

func (p *pool) get(r function.Runtime) (scheduler.Executor, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return nil, context.Cause(p.ctx) // it may be closed already
	}
	if x := p.started[r]; x != nil {
		return x, nil
	}
	if err := p.errs[r]; err != nil {
		return nil, err
	}
	program, ok := p.third[r]
	if !ok {
		program.Kind = string(r)
	}
	if r == function.RuntimeContainer {
		program.Env = append(container.Environment(os.Environ()), runtimeVariable+"="+p.runtime)
		program.Linger = 5 * time.Second
	}
	x, err := executors.Start(p.ctx, program)
	if err != nil {
		p.errs[r] = err
		return nil, err
	}
	p.started[r] = x
	return x, nil
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.started {
		x.Close()
	}
}

func executorCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "executor", Short: "Show the executors that run functions"}
	list := &cobra.Command{
		Use: "list", Short: "List the executors and what isolates functions on this machine", Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			if err := a.parseExecutors(); err != nil {
				return err
			}
			return a.print(a.executorList())
		},
	}
	registerExecutors(list, &a.functionFlags)
	serve := &cobra.Command{
		Use: "exec", Hidden: true, Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.serves.Store(true)
			x := exec.New()
			defer x.Close()
			executors.Serve("exec", x)
			return nil
		},
	}
	containers := &cobra.Command{
		Use: "container", Hidden: true, Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.serves.Store(true)
			engine, err := container.Detect(os.Getenv(runtimeVariable))
			if err != nil {
				return err
			}
			x := container.New(container.Options{Engine: engine, Reaper: []string{"/proc/self/exe", "executor", "container-reaper"}})
			defer x.Close()
			executors.Serve("container", x)
			return nil
		},
	}
	reaper := &cobra.Command{
		Use: "container-reaper", Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			a.serves.Store(true)
			return container.Reap(a.stdin, args)
		},
	}
	cmd.AddCommand(list, serve, containers, reaper)
	return cmd
}
