package validation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/probe"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
)

// celProgram is the program that evaluates CEL rules. It is a function, see functions/cel.
const celProgram = "krmflow-cel"

// A program is krmflow-cel with its digest.
type program struct {
	path   string
	digest krm.Digest
}

// findProgram returns the krmflow-cel that was released together with this krmflow, or else the one
// on PATH. If there is none, it returns nil and hints.
func findProgram(a *cli.Invocation) (*program, []string) {
	if isolation, missing := probe.Isolation(); isolation == "" {
		if f, err := a.Planner(); err != nil || !f.Policy.AllowUnsandboxed {
			return nil, []string{"this machine cannot isolate " + celProgram + ": " + missing,
				"to run it nevertheless add --allow-unsandboxed"}
		}
	}
	if p := shippedProgram(); p != nil {
		return p, nil
	}
	path, err := osexec.LookPath(celProgram)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, []string{"they need the program " + celProgram +
			": put the one in the folder functions of a release, or of make functions, " +
			"on PATH"}
	}
	held, err := executors.Hold(path)
	if err != nil {
		return nil, []string{fmt.Sprintf("cannot use %s: %v", path, err)}
	}
	return &program{path, held.Digest()}, nil
}

// shippedProgram returns the program beside the catalog of this release, with the digest that the
// catalog pins. It returns nil if there is none.
func shippedProgram() *program {
	place, _, ok := strings.Cut(settings.ShippedCatalog(), "#")
	if !ok {
		return nil
	}
	data, err := loaders.ReadFile(place, yaml.MaxFile)
	if err != nil {
		return nil
	}
	c, err := catalog.Parse(&yaml.Source{File: place, Data: data}, catalog.Ref{Location: place})
	if err != nil {
		return nil
	}
	for _, e := range c.Entries {
		for _, p := range e.Exec {
			if strings.TrimSuffix(p.Bin, ".exe") == celProgram && p.OS == runtime.GOOS && p.Arch == runtime.GOARCH {
				return &program{filepath.Join(filepath.Dir(place), p.Bin), p.Pin.Digest}
			}
		}
	}
	return nil
}

// run calls the program with a ResourceList and returns its results. The executor verifies the
// digest and runs the program in the sandbox of all functions, without a network or files.
func (p *program) run(ctx context.Context, a *cli.Invocation, list yaml.Chunks) ([]result, error) {
	planned, err := a.Planner()
	if err != nil {
		return nil, err
	}
	x, err := executors.Start(ctx, a.Program(function.RuntimeExec))
	if err != nil {
		return nil, err
	}
	defer a.Exits.Add(func() { x.Close() })()
	f := function.Function{Name: celProgram, Node: "cel", Runtime: function.RuntimeExec, Program: p.path, Root: filepath.Dir(p.path),
		Digest: p.digest, Unsandboxed: planned.Policy.AllowUnsandboxed, Limits: planned.Policy.Limits}
	failed := func(err error) error {
		e := diag.Errorf(diag.Pos{}, "", "cannot evaluate CEL rules: %w", err).With(diag.FunctionFailed)
		return e
	}
	if err := x.Prepare(ctx, f); err != nil {
		return nil, failed(err)
	}
	out, err := x.Execute(ctx, f, list)
	if err != nil {
		if said := strings.TrimSpace(string(out.Stderr)); said != "" {
			err = errors.Join(err, errors.New(diag.Sanitise(said)))
		}
		return nil, failed(err)
	}
	var answer struct{ Results []result }
	if err := json.Unmarshal(out.List.Join(), &answer); err != nil {
		return nil, failed(fmt.Errorf("%s: %w", celProgram, err))
	}
	return answer.Results, nil
}
