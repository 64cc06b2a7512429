// Package helm renders helm charts. It runs the helm program as package executors/exec runs all
// programs, in a sandbox without a network, on a private copy of the chart.
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

// An Executor runs helm. Use [New] to create one.
type Executor struct{ *exec.Executor }

var _ executors.Executor = Executor{}

// New returns an executor. As with package exec, a process must not have more than one.
func New() Executor { return Executor{exec.New()} }

// NewHeld is like [New] for a process started with the variable [executors.HeldVariable], whose
// value is variable.
func NewHeld(variable string) Executor { return Executor{exec.NewHeld(variable)} }

// Execute runs helm once. Its input is not a ResourceList, but a chart packed by
// [chart.Chart.Pack], and its output is the resources that helm rendered. The working directory
// is the directory of the chart; helm's own directories are in a temporary home.
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
		// With --debug a failing helm prints the manifests that it cannot parse to standard output.
		said := append(out.List.Join(), out.Stderr...)
		out = executors.Output{Stderr: said[max(0, len(said)-executors.StderrTail):]}
		if !slices.Contains(f.Args, "--debug") {
			failed.Hint("--helm-debug makes helm more verbose, and shows template output that is not YAML")
		}
	}
	return out, err
}
