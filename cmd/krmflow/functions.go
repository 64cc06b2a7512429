package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
)

// runtimeVariable tells the executor of containers which runtime the user wants.
const runtimeVariable = "KRMFLOW_CONTAINER_RUNTIME"

// The exit codes that concern functions.
const (
	exitTrust    = 3 // a function is not trusted: a human has to decide
	exitVerified = 4 // something is not what it was said to be
	exitFunction = 5 // a function failed
	exitLimit    = 6 // a function used too much of something
)

// functionFlags say which functions may run, and how.
type functionFlags struct {
	trusted                              []string
	alphaPlugins, enableExec             bool
	network, asCurrentUser               bool
	networkName                          string
	mounts, env                          []string
	strictTrust, unverified, unsandboxed bool
	allowErrorResults                    bool
	timeout                              time.Duration
	memory, output                       int64
	procs                                int
	runtime                              string
	mountErr                             error
	compatFlags
}

// compatFlags are those that only point to the right one.
type compatFlags struct{ catalog []string }

func (f *functionFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.trusted, "trusted-plugin-catalog", nil, "catalog whose functions may run; may be repeated, the first match wins")
	fs.StringArrayVar(&f.trusted, "trusted-catalog", nil, "the same as --trusted-plugin-catalog")
	fs.StringArrayVar(&f.trusted, "alpha-trusted-plugin-catalog", nil, "the same as --trusted-plugin-catalog")
	_ = fs.MarkDeprecated("alpha-trusted-plugin-catalog", "use --trusted-plugin-catalog")
	fs.StringArrayVar(&f.catalog, "catalog", nil, "")
	_ = fs.MarkHidden("catalog")
	fs.BoolVar(&f.alphaPlugins, "enable-alpha-plugins", false, "allow functions that no trusted catalog lists")
	fs.BoolVar(&f.enableExec, "enable-exec", false, "with --enable-alpha-plugins, also if they are programs")
	fs.BoolVar(&f.network, "network", false, "let uncatalogued functions that declare it use the network")
	fs.StringVar(&f.networkName, "network-name", trust.DefaultNetwork, "network of containers that may use one")
	fs.StringArrayVar(&f.mounts, "mount", nil, "storage for uncatalogued containers: type=bind,src=DIR,dst=DIR[,rw=true]")
	fs.StringArrayVarP(&f.env, "env", "e", nil, "environment variables of uncatalogued functions: NAME or NAME=VALUE")
	fs.BoolVar(&f.asCurrentUser, "as-current-user", false, "run containers with the user's own ids")
	fs.BoolVar(&f.strictTrust, "strict-trust", false, "deny what is otherwise a warning about trust")
	fs.BoolVar(&f.unverified, "allow-unverified", false, "allow catalog entries without a digest")
	fs.BoolVar(&f.unsandboxed, "allow-unsandboxed", false, "run programs without a sandbox")
	fs.BoolVar(&f.allowErrorResults, "allow-error-results", false, "accept functions that report errors and end well")
	fs.StringVar(&f.runtime, "container-runtime", "", "podman, docker or the path of one of them (default: the first of them on PATH)")
	fs.DurationVar(&f.timeout, "fn-timeout", 5*time.Minute, "how long one call of a function may take")
	fs.Int64Var(&f.memory, "fn-memory", 2<<30, "bytes of memory that a function may use")
	fs.Int64Var(&f.output, "max-fn-output", 256<<20, "bytes that a function may write to stdout")
	fs.IntVar(&f.procs, "fn-max-procs", 256, "processes that a function may have")
}

// functions returns what the flags mean for the planner.
func (f *functionFlags) functions() (planner.Functions, error) {
	if len(f.catalog) > 0 {
		return planner.Functions{}, usageError(errors.New("--catalog does not grant trust; did you mean --trusted-plugin-catalog?"))
	}
	if slices.Contains(f.trusted, "") {
		return planner.Functions{}, usageError(errors.New("--trusted-plugin-catalog must not be empty"))
	}
	policy := trust.Policy{
		AllowUncatalogued: f.alphaPlugins, AllowExec: f.enableExec, Network: f.network, NetworkName: f.networkName,
		AsCurrentUser: f.asCurrentUser, AllowUnverified: f.unverified, AllowUnsandboxed: f.unsandboxed, Strict: f.strictTrust,
		Limits: krm.Limits{Timeout: f.timeout, Memory: f.memory, Output: f.output, Procs: f.procs},
	}
	for _, text := range f.mounts {
		m, err := parseMount(text)
		if err != nil {
			f.mountErr = usageError(err) // counts if there is a function
			continue
		}
		policy.Mounts = append(policy.Mounts, m)
	}
	for _, text := range f.env {
		if !strings.Contains(text, "=") {
			text += "=" + os.Getenv(text)
		}
		policy.Env = append(policy.Env, text)
	}
	return planner.Functions{Trusted: f.trusted, Policy: policy, Isolation: isolation}, nil
}

// isolation returns what isolates a program on this machine, empty for nothing that is enough.
func isolation() string {
	if iso := exec.Probe(); iso.Enough() {
		return iso.String()
	}
	return ""
}

// parseMount reads type=bind,src=DIR,dst=DIR[,rw=true], as kustomize has it.
func parseMount(text string) (krm.Mount, error) {
	m := krm.Mount{Type: "bind"}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "type":
			m.Type = value
		case "src", "source":
			m.Source = value
		case "dst", "target", "destination":
			m.Dest = value
		case "rw":
			m.Writable = value == "true"
		default:
			return m, fmt.Errorf("--mount %s: unknown part %q", text, key)
		}
	}
	if m.Dest == "" || m.Source == "" && m.Type != "tmpfs" {
		return m, fmt.Errorf("--mount %s: src and dst are needed", text)
	}
	abs, err := filepath.Abs(m.Source)
	m.Source = abs
	return m, err
}

// denied returns the error for functions that may not or cannot run, nil if all can.
func (a *app) denied(plan *planner.Plan) error {
	if len(plan.Denied) == 0 {
		return a.needsRuntime(plan)
	}
	code := 0
	var errs []error
	for _, d := range plan.Denied {
		code = max(code, d.Exit)
		errs = append(errs, d.Err)
	}
	return &exitError{code, errors.Join(errs...)}
}

// needsRuntime returns an error if the plan has containers and nothing on this machine can run them.
func (a *app) needsRuntime(plan *planner.Plan) error {
	var names []string
	for _, n := range plan.Graph.Nodes {
		if call, ok := n.Op.(graph.Call); ok && call.Function.Runtime == krm.RuntimeContainer {
			names = append(names, "  "+n.ID+": "+call.Function.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if a.mountErr != nil {
		return a.mountErr
	}
	if _, err := container.Detect(a.runtime); err != nil {
		return fmt.Errorf("%w; these functions need one:\n%s", err, strings.Join(names, "\n"))
	}
	return nil
}

// pool starts executors when they are needed and ends them.
type pool struct {
	ctx     context.Context
	mu      sync.Mutex
	runtime string // of containers
	started map[krm.Runtime]*executors.Process
	errs    map[krm.Runtime]error
}

func newPool(ctx context.Context, runtime string) *pool {
	return &pool{ctx: ctx, runtime: runtime, started: map[krm.Runtime]*executors.Process{}, errs: map[krm.Runtime]error{}}
}

func (p *pool) get(r krm.Runtime) (executors.Executor, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x := p.started[r]; x != nil {
		return x, nil
	}
	if err := p.errs[r]; err != nil {
		return nil, err
	}
	program := executors.Program{Kind: string(r)}
	if r == krm.RuntimeContainer {
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

// functionExit returns the exit code of an error that a function or its executor caused, 0 for any other error.
func functionExit(err error) int {
	var results *scheduler.ResultsError
	if errors.As(err, &results) {
		return exitFunction
	}
	var fe *executors.Error
	if !errors.As(err, &fe) {
		return 0
	}
	switch fe.Code {
	case executors.Verification:
		return exitVerified
	case executors.Denied:
		return exitTrust
	case executors.Limit:
		return exitLimit
	case executors.Failed, executors.Timeout:
		return exitFunction
	case executors.Invalid:
		return exitInput
	}
	return exitInternal
}

// report prints what a function has said besides its list.
func (l *logger) report(r scheduler.CallReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := r.Node.ID
	if l.json {
		for _, x := range r.Results {
			l.z.Info().Str("node", name).Interface("result", x).Msg("result")
		}
		if len(r.Stderr) > 0 {
			l.z.Info().Str("node", name).Str("stderr", krm.Sanitise(string(r.Stderr))).Msg("stderr")
		}
		return
	}
	for _, x := range r.Results {
		fmt.Fprintf(l.w, "%s: %s\n", name, x)
	}
	if l.quiet {
		return
	}
	for _, w := range r.Warnings {
		l.warnings++
		fmt.Fprintf(l.w, "Warning: %s: %s\n", name, w)
	}
	for _, id := range r.Removed {
		fmt.Fprintf(l.w, "%s: removed %s\n", name, id)
	}
	for line := range strings.Lines(string(r.Stderr)) {
		fmt.Fprintf(l.w, "%s: %s\n", name, strings.TrimSuffix(line, "\n"))
	}
}

func executorCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "executor", Short: "Show the executors that run functions", Args: atMost(0)}
	list := &cobra.Command{
		Use: "list", Short: "List the executors and what isolates functions on this machine", Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			iso := isolation()
			if iso == "" {
				iso = "none: --allow-unsandboxed is needed"
			}
			engine := "none: install podman or docker"
			if e, err := container.Detect(""); err == nil {
				engine = e.Name + " " + e.Path
			}
			return a.print(fmt.Sprintf("exec       programs    isolation %s\ncontainer  images      runtime %s\n", iso, engine))
		},
	}
	serve := &cobra.Command{
		Use: "exec", Hidden: true, Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			x := exec.New()
			defer x.Close()
			executors.Serve("exec", x)
			return nil
		},
	}
	containers := &cobra.Command{
		Use: "container", Hidden: true, Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
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
		RunE: func(_ *cobra.Command, args []string) error { return container.Reap(a.stdin, args) },
	}
	cmd.AddCommand(list, serve, containers, reaper)
	return cmd
}
