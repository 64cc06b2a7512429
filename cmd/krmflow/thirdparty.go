package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/spf13/cobra"
)

// registerExecutors adds the flag by which a program of a third party takes the place of one of krmflow's executors.
func registerExecutors(cmd *cobra.Command, f *functionFlags) {
	cmd.Flags().Var((*repeated)(&f.executors), "executor",
		"NAME=PATH@sha256:HEX: the program that runs the functions of the runtime NAME: exec or container, in place of krmflow's own executor, or another one")
}

// parseExecutors reads the values of --executor and verifies the programs: none that is not what the user said gets any
// further.
func (f *functionFlags) parseExecutors() error {
	f.thirdParty = map[function.Runtime]executors.Program{}
	for _, text := range f.executors {
		name, place, ok := strings.Cut(text, "=")
		runtime := function.Runtime(name)
		switch _, twice := f.thirdParty[runtime]; {
		case !ok:
			return usageError(fmt.Errorf("--executor %s: expected NAME=PATH@sha256:HEX", diag.Redact(text)))
		case !runtime.Valid(), name == "starlark", name == "builtin":
			return usageError(fmt.Errorf("--executor %s: no function has the runtime %q; expected exec, container or a name in lower-case letters", diag.Redact(text), diag.Redact(name)))
		case twice:
			return usageError(fmt.Errorf("--executor %s: there is another executor for %s", text, name))
		}
		ref, err := parseRefFlag("--executor "+name, place)
		var bad *catalog.RefError
		switch {
		case errors.As(err, &bad) && !bad.Pin:
			return usageError(fmt.Errorf("--executor %s: %s; expected NAME=PATH@sha256:HEX", name, bad.Msg))
		case err != nil:
			return err
		case ref.Remote():
			return usageError(fmt.Errorf("--executor %s: %s is not the path of a program", name, ref.Show()))
		}
		program := executors.Program{Kind: name, Path: ref.Location, Digest: ref.Pin}
		if err := program.Verify(); err != nil {
			return err
		}
		f.thirdParty[runtime] = program
	}
	return nil
}

// executorList returns what executor list prints.
func (f *functionFlags) executorList() string {
	iso := exec.Probe()
	how := "isolation " + iso.String()
	if !iso.Enough() {
		how += ": --allow-unsandboxed is needed"
	}
	engine := "none: install podman or docker"
	if e, err := container.Detect(""); err == nil {
		engine = e.Name + " " + e.Path
	}
	var b strings.Builder
	for _, x := range []struct {
		runtime function.Runtime
		runs    string
		how     string
	}{{function.RuntimeExec, "programs", how}, {function.RuntimeContainer, "images", "runtime " + engine}} {
		if p, ok := f.thirdParty[x.runtime]; ok {
			x.how = "executor " + p.Path + " " + p.Digest.String()
		}
		fmt.Fprintf(&b, "%-10s %-11s %s\n", x.runtime, x.runs, x.how)
	}
	for _, r := range slices.Sorted(maps.Keys(f.thirdParty)) {
		if p := f.thirdParty[r]; r != function.RuntimeExec && r != function.RuntimeContainer {
			fmt.Fprintf(&b, "%-10s %-11s executor %s %s\n", r, "programs", p.Path, p.Digest)
		}
	}
	return b.String()
}
