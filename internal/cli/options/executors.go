package options

import (
	"errors"
	"fmt"
	"maps"
	"os"
	osexec "os/exec"
	"slices"
	"strings"
	"time"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/spf13/cobra"
)

// RegisterExecutors adds the flag that replaces one of krmflow's executors with a third-party
// program.
func RegisterExecutors(cmd *cobra.Command, f *Functions) {
	cmd.Flags().Var((*Repeated)(&f.executors), "executor",
		"`executor` for a runtime: NAME=PATH@sha256:HEX[,cache]; may be repeated")
}

// A ThirdParty is the program of a third-party executor.
type ThirdParty struct {
	executors.Program
	Cached bool // its answers may be reused
}

// ParseExecutors parses the values of --executor and verifies the digests of the programs. A
// program that does not match its digest is never used.
func (f *Functions) ParseExecutors() error {
	f.ThirdParty = map[function.Runtime]ThirdParty{}
	for _, text := range f.executors {
		name, place, ok := strings.Cut(text, "=")
		runtime := function.Runtime(name)
		switch _, twice := f.ThirdParty[runtime]; {
		case !ok:
			return UsageError(fmt.Errorf("--executor %s: expected NAME=PATH@sha256:HEX", diag.Redact(text)))
		case !runtime.Valid(), name == "starlark", name == "builtin":
			return UsageError(fmt.Errorf(
				"--executor %s: no function has the runtime %q; expected exec, container or a name in lower-case letters",
				diag.Redact(text), diag.Redact(name)))
		case twice:
			return UsageError(fmt.Errorf("--executor %s: duplicate executor for %s", text, name))
		}
		place, cached := strings.CutSuffix(place, ",cache")
		ref, err := ParseRef("--executor "+name, place)
		var bad *catalog.RefError
		switch {
		case errors.As(err, &bad) && !bad.Pin:
			return UsageError(fmt.Errorf("--executor %s: %s; expected NAME=PATH@sha256:HEX", name, bad.Msg))
		case err != nil:
			return err
		case ref.Remote():
			return UsageError(fmt.Errorf("--executor %s: %s is not the path of a program", name, ref.Show()))
		}
		program := executors.Program{Kind: name, Path: ref.Location, Digest: ref.Pin}
		if err := program.Verify(); err != nil {
			return err
		}
		f.ThirdParty[runtime] = ThirdParty{program, cached}
	}
	return nil
}

// ExecutorList returns the output of executor list.
func (f *Functions) ExecutorList() string {
	iso := exec.Probe()
	how := "isolation " + iso.String()
	if !iso.Enough() {
		how += ": --allow-unsandboxed is needed"
	}
	engine := "none: install podman or docker"
	if e, err := container.Detect(""); err == nil {
		engine = e.Name + " " + e.Path
	}
	charts := "program none: install helm, or name it with --helm-command"
	if found, err := osexec.LookPath("helm"); err == nil {
		charts = "program " + found + ", " + how
	}
	var b strings.Builder
	for _, x := range []struct {
		runtime function.Runtime
		runs    string
		how     string
	}{{function.RuntimeExec, "programs", how}, {function.RuntimeContainer, "images", "runtime " + engine},
		{function.RuntimeHelm, "charts", charts}} {
		if p, ok := f.ThirdParty[x.runtime]; ok {
			x.how = "executor " + p.Path + " " + p.Digest.String()
		}
		fmt.Fprintf(&b, "%-10s %-11s %s\n", x.runtime, x.runs, x.how)
	}
	for _, r := range slices.Sorted(maps.Keys(f.ThirdParty)) {
		if p := f.ThirdParty[r]; !slices.Contains([]function.Runtime{function.RuntimeExec, function.RuntimeContainer, function.RuntimeHelm},
			r) {
			fmt.Fprintf(&b, "%-10s %-11s executor %s %s\n", r, "programs", p.Path, p.Digest)
		}
	}
	return b.String()
}

// RuntimeVariable is the environment variable that passes the requested container runtime to
// the container executor.
const RuntimeVariable = "KRMFLOW_CONTAINER_RUNTIME"

// HoldHelm opens helm's program for the executor that will run it, and returns its digest.
func (f *Functions) HoldHelm(path string) (digest krm.Digest, err error) {
	if f.helm, err = executors.Hold(path); err != nil {
		return digest, err
	}
	return f.helm.Digest(), nil
}

// Program returns the executor for the functions of a runtime: krmflow itself, unless the user
// has configured a different program.
func (f *Functions) Program(runtime function.Runtime) executors.Program {
	p := executors.Program{Kind: string(runtime)}
	if third, ok := f.ThirdParty[runtime]; ok {
		p = third.Program
	}
	if runtime == function.RuntimeContainer {
		p.Env = append(container.Environment(os.Environ()), RuntimeVariable+"="+f.Runtime)
		p.Linger = 5 * time.Second
	}
	if runtime == function.RuntimeHelm {
		p.Env = f.helm.Env()
	}
	return p
}
