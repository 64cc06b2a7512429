package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/bench"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/krmflow/krmflow/internal/command/bench/page"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/output"
	"github.com/spf13/cobra"
)

// profile measures renders of directories.
func (m *measuring) profile(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	old, err := m.prepare()
	if err != nil {
		return err
	}
	roots, _, err := m.Find(cmd, engine.Search{Args: args})
	if err != nil {
		return err
	}
	both, ours := m.passedOn(cmd)
	flags := slices.Concat(both, ours)
	o := profile.Options{Program: m.o.Krmflow, Flags: flags, Shown: shown(flags), Dirs: args, Folder: len(roots) > 1 || m.Recursive,
		KeepGoing: m.KeepGoing, Roots: len(roots), Runs: m.o.Runs, Work: m.o.Keep,
		OwnCache: settings.IsSet(cmd.Flags(), "offline") || settings.IsSet(cmd.Flags(), "no-cache") || cmd.Flags().Changed("cache-dir")}
	if !m.Quiet {
		o.Log = func(line string) { fmt.Fprintln(m.Stderr, line) }
	} else {
		m.o.Log = nil
	}
	report, err := profile.Measure(ctx, o)
	if err == nil && m.pprof != "" {
		err = profile.PProf(ctx, o, m.pprof)
	}
	var differs error
	if err == nil && (m.versus != "" || m.o.Kustomize != "") {
		m.o.Dirs, m.o.Together, m.o.Flags, m.o.KrmflowFlags, m.o.OwnCache = roots.Dirs(), m.Recursive, both, m.ofBuild(ours), o.OwnCache
		report.Against = cmp.Or(m.versus, m.o.Kustomize+" build")
		report.Versus, differs = bench.Measure(ctx, m.o)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	if old != nil {
		report.Changes = profile.Compare(old, report)
	}
	return errors.Join(differs, m.write(report))
}

// shown returns the flags with secrets removed from their values: reports are files that people
// share.
func shown(flags []string) (list []string) {
	for _, flag := range flags {
		name, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		list = append(list, "--"+name+"="+settings.WithoutSecrets(name, value))
	}
	return list
}

// prepare looks up the programs, reads the baseline, and fails if an output file cannot be
// written.
func (m *measuring) prepare() (old *profile.Report, err error) {
	m.o.Versus = strings.Fields(m.versus)
	if m.o.Krmflow == "" {
		m.o.Krmflow, err = os.Executable()
	} else {
		m.o.Krmflow, err = exec.LookPath(m.o.Krmflow)
	}
	if err != nil {
		return nil, err
	}
	if m.versus != "" {
		if _, err := exec.LookPath(m.o.Versus[0]); err != nil {
			return nil, fmt.Errorf("--vs: %w", err)
		}
	}
	for _, f := range []struct{ path, begins, what string }{{m.trace, profile.TraceBegins, "a trace"},
		{m.html, page.Begins, "such a page"}} {
		if f.path != "" {
			if err := cli.CheckOwn(f.path, f.begins, f.what); err != nil {
				return nil, err
			}
		}
	}
	if m.baseline == "" {
		return nil, nil
	}
	f, err := os.Open(m.baseline)
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	defer f.Close()
	if old, err = profile.ReadReport(f); err != nil {
		return nil, fmt.Errorf("--baseline %s: %w", diag.Redact(m.baseline), err)
	}
	return old, nil
}

// ofBuild returns the flags that the build command has.
func (m *measuring) ofBuild(flags []string) []string {
	build := m.flags("build")
	return slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		return build.Lookup(name) == nil
	})
}

// write writes the report in every form that the flags request.
func (m *measuring) write(r *profile.Report) error {
	var errs []error
	file := func(path string, write func(io.Writer) error) {
		var b bytes.Buffer
		if path == "" {
			return
		}
		if err := write(&b); err != nil {
			errs = append(errs, err)
			return
		}
		errs = append(errs, output.WriteFileAtomic(path, b.Bytes(), 0o666))
	}
	file(m.trace, func(w io.Writer) error { return profile.WriteTrace(w, r.Profile) })
	file(m.html, func(w io.Writer) error { return page.Write(w, r) })
	if m.form == "html" {
		return errors.Join(append(errs, page.Write(m.Stdout, r))...)
	}
	if m.o.JSON {
		return errors.Join(append(errs, r.WriteJSON(m.Stdout))...)
	}
	return errors.Join(append(errs, r.WriteText(m.Stdout))...)
}
