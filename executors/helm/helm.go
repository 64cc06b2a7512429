// Package helm renders helm charts: it runs the program helm as package executors/exec runs all programs, in a sandbox without a
// network, on a copy of the chart that nobody else has.
package helm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/executors/internal/dirs"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Executor runs helm. Make one with [New].
type Executor struct{ *exec.Executor }

var _ executors.Executor = Executor{}

// New returns an executor. Like that of package exec, there may be one in a process.
func New() Executor { return Executor{exec.New()} }

// NewHeld is New for a process that was started with the variable [executors.HeldVariable], which has this value.
func NewHeld(variable string) Executor { return Executor{exec.NewHeld(variable)} }

// Execute runs helm once. What it gets is no ResourceList but a chart, as [chart.Chart.Pack] packs it, and what it answers are the
// resources that helm has made. The working directory is the folder of the chart; helm's own folders are below a home that is made for it.
func (x Executor) Execute(ctx context.Context, f function.Function, packed yaml.Chunks) (executors.Output, error) {
	dir, err := os.MkdirTemp("", "krmflow-chart-")
	if err != nil {
		return executors.Output{}, err
	}
	defer dirs.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return executors.Output{}, err
	}
	if err := unpack(packed, dir); err != nil {
		return executors.Output{}, err
	}
	f.Dir, f.Mounts = dir, []function.Mount{{Type: "bind", Source: dir, Dest: dir}}
	out, err := x.Executor.Execute(ctx, f, nil)
	var failed *executors.Error
	if errors.As(err, &failed) && failed.Code == executors.Failed {
		// What helm has printed all the same is what it says with --debug: manifests that it cannot read.
		said := append(out.List.Join(), out.Stderr...)
		out = executors.Output{Stderr: said[max(0, len(said)-executors.StderrTail):]}
		if !slices.Contains(f.Args, "--debug") {
			failed.Hint("--helm-debug lets helm say more, and shows what its templates make that is no YAML")
		}
	}
	return out, err
}
