package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/plandoc"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/spf13/cobra"
)

// renderFlags are those of apply-render alone.
type renderFlags struct {
	output string
	force  bool
	check  bool
	plan   string
}

func renderCommand(a *app) *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:   "apply-render [DIR...]",
		Short: "Render directories to a folder, a file or stdout",
		Long: `Plan the directories and, if all of them can be planned, render them. A folder receives one file per
resource, each root below its own path if there are several: relative to DIR with -R DIR, else to the working directory,
or to the deepest folder that holds all of them. The folder changes in one step when everything is rendered: a run that is
killed leaves what was there. Files that an earlier run wrote and that are no longer made are removed. Files that krmflow did
not write are never touched; if the render needs their place, it is refused. It is also refused if it would replace a file that
was changed since krmflow wrote it, unless you add --force.`,
		Example: "  krmflow apply-render overlays/prod -o out/\n  krmflow apply-render -R overlays -o out/ --keep-going\n  krmflow apply-render overlays/prod -o out/ --check",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.output == "" {
				return usageError(errors.New("--output must not be empty; - means stdout"))
			}
			if f.plan == "" && cmd.Flags().Changed("plan") {
				return usageError(errors.New("--plan must not be empty"))
			}
			dirs, plan, err := a.planRoots(cmd, args)
			if err != nil {
				return err
			}
			if err := errors.Join(drift(plan, f.plan), a.denied(plan), a.strictPlan(plan)); err != nil {
				return err
			}
			sink, err := a.sink(cmd.Context(), f, dirs, plan)
			if err != nil {
				return err
			}
			return a.render(cmd.Context(), plan, dirs, sink)
		},
	}
	a.flags.register(cmd)
	a.functionFlags.register(cmd)
	a.registerRoots(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&f.output, "output", "o", "-", "folder, file or - for stdout; an existing folder, a trailing /, several roots or -R mean a folder")
	fs.BoolVar(&f.force, "force", false, "replace files that were changed since krmflow wrote them, and write to a folder that holds other files; these stay: a render that needs their names is refused (a link in the place of one is replaced, never followed), and a run that is killed is completed by the next one")
	fs.StringVar(&f.plan, "plan", "", "file from plan -o json: run only if every input, function and grant is the planned one, else exit with 4")
	fs.BoolVar(&f.check, "check", false, "write nothing, exit with 10 if the output would change")
	return cmd
}

// drift compares the plan with the one in a file, if there is a file.
func drift(plan *planner.Plan, file string) error {
	if file == "" {
		return nil
	}
	before, err := os.ReadFile(file) // not by loaders: it may be a pipe, and is no input of the plan
	var pe *fs.PathError
	if errors.As(err, &pe) {
		pe.Path = diag.Redact(pe.Path) // somebody may have meant an address
	}
	if err != nil {
		return fmt.Errorf("--plan: %w", err)
	}
	lines, err := plandoc.Drift(plan, before)
	if err != nil {
		return fmt.Errorf("--plan %s: %w", file, err)
	}
	if len(lines) == 0 {
		return nil
	}
	e := diag.Errorf(diag.Pos{}, "", "this is not what %s planned; nothing was executed", file)
	e.Hints = lines
	return &exitError{exitVerified, e}
}

// A sink takes the results of a run.
type sink interface {
	// put takes the list of a root. It may be called from several goroutines.
	put(d rootDir, list *krm.List) error
	// keep says that a root has failed.
	keep(d rootDir) error
	// commit makes the results visible.
	commit() error
	// abort drops what put has taken. It does nothing after commit.
	abort()
}

// sink opens the output. What must not be written to is refused here, before anything is rendered.
func (a *app) sink(ctx context.Context, f renderFlags, dirs rootDirs, plan *planner.Plan) (sink, error) {
	if f.output == "-" || f.output == devStdout {
		if f.check {
			return nil, usageError(errors.New("--check needs -o with a folder or file"))
		}
		return &stream{dirs: dirs, done: func(write func(io.Writer) error, _ fs.FileMode) error { return a.writeWith(write) }}, nil
	}
	info, err := os.Stat(f.output)
	folder := err == nil && info.IsDir() || strings.HasSuffix(f.output, "/") || len(dirs) > 1 || a.recursive
	if !folder {
		return a.fileSink(f, dirs, plan)
	}
	if ext := filepath.Ext(f.output); info == nil && (ext == ".yaml" || ext == ".yml" || ext == ".json") {
		e := diag.Errorf(diag.Pos{}, "", "several roots are written to a folder, and %s looks like a file", diag.Redact(f.output))
		return nil, usageError(e.Hint("write -o %s/ if it is to be a folder", diag.Redact(diag.Redact(f.output))))
	}
	out, err := output.Open(f.output, output.Options{Context: ctx, Inputs: dirs.names(), Force: f.force, Check: f.check})
	if err != nil {
		return nil, writeFailure(err)
	}
	return &folderSink{out: out, name: f.output, check: f.check, log: a.log}, nil
}

// fileSink opens an output that is one file.
func (a *app) fileSink(f renderFlags, dirs rootDirs, plan *planner.Plan) (sink, error) {
	if err := a.refuseInput(f.output, plan, f.plan); err != nil {
		return nil, err
	}
	if err := output.CheckFile(f.output); err != nil && !f.check {
		return nil, writeFailure(err)
	}
	return &stream{dirs: dirs, done: func(write func(io.Writer) error, perm fs.FileMode) error {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		return writeFile(f, b.Bytes(), perm)
	}}, nil
}

// refuseInput refuses to replace a file that the plan was made from, a program that it runs, or one of others.
func (a *app) refuseInput(dest string, plan *planner.Plan, others ...string) error {
	dir, base := filepath.Split(dest)
	folder, err := os.Stat(filepath.Clean(dir))
	if err != nil {
		return nil // writing will say so
	}
	for _, src := range plan.Files() {
		others = append(others, src.File)
	}
	for call := range calls(plan.Graph) {
		others = append(others, call.Function.Program)
	}
	for _, p := range a.thirdParty {
		others = append(others, p.Path)
	}
	for _, file := range others {
		if filepath.Base(file) != base {
			continue
		}
		if info, err := os.Stat(filepath.Dir(file)); err == nil && os.SameFile(info, folder) {
			return writeFailure(&output.RefusedError{Path: dest, Reason: "is an input of this run"})
		}
	}
	return nil
}

func writeFile(f renderFlags, data []byte, perm fs.FileMode) error {
	if !f.check {
		return writeFailure(output.WriteFileAtomic(f.output, data, perm))
	}
	old, err := loaders.ReadFile(f.output, yaml.MaxFile)
	var missing *loaders.NotFoundError
	switch {
	case err != nil && !errors.As(err, &missing):
		return err
	case err == nil && string(old) == string(data):
		return nil
	}
	return &exitError{exitChanged, fmt.Errorf("%s would change", f.output)}
}

// writeFailure gives an error of the output its exit code.
func writeFailure(err error) error {
	var locked *output.LockedError
	var refused *output.RefusedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &locked):
		return &exitError{exitLocked, err}
	case errors.As(err, &refused):
		return &exitError{exitInput, err}
	}
	return &exitError{exitOutput, err}
}

// render runs the plan into the sink.
func (a *app) render(ctx context.Context, plan *planner.Plan, dirs rootDirs, to sink) error {
	defer a.exits.add(to.abort)()
	byName := map[string]rootDir{}
	for _, d := range dirs {
		byName[d.name] = d
	}
	p := a.progress(plan.Graph, len(plan.Failed))
	defer p.stop()
	var mu sync.Mutex
	done := map[string]bool{}
	event := func(e scheduler.Event) {
		a.log.node(e)
		if e.Err != nil {
			p.fail(e.Node)
		}
	}
	runErr := a.run(ctx, plan, event, func(r graph.Root, list *krm.List) error {
		if err := to.put(byName[r.Dir], list); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		done[r.Dir] = true
		p.done()
		return nil
	})
	p.stop()
	runErr = errors.Join(plan.Err(), runErr)
	if runErr != nil && (!a.keepGoing || ctx.Err() != nil) {
		return runErr
	}
	for _, d := range dirs {
		if !done[d.name] {
			if err := to.keep(d); err != nil {
				return errors.Join(runErr, writeFailure(err))
			}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := a.strictError(); err != nil {
		return errors.Join(runErr, err)
	}
	err := to.commit()
	var changed *exitError
	if runErr != nil && errors.As(err, &changed) && changed.code == exitChanged {
		err = changed.err // a root that failed counts more than an output that would change
	}
	return errors.Join(runErr, err)
}

// stream is one YAML stream of all roots, in the order they were given.
type stream struct {
	dirs  rootDirs
	done  func(write func(io.Writer) error, perm fs.FileMode) error
	only  *krm.List // of the only root
	spool spool
	mu    sync.Mutex
	texts map[string][]section
}

func (s *stream) put(d rootDir, list *krm.List) error {
	if len(s.dirs) == 1 {
		s.only = list
		return nil
	}
	text := sections{spool: &s.spool}
	if err := list.WriteYAML(&text); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string][]section{}
	}
	s.texts[d.name] = text.list
	return nil
}

// sections takes a text that nobody needs in one piece.
type sections struct {
	spool *spool
	list  []section
}

func (s *sections) Write(text []byte) (int, error) {
	s.list = append(s.list, s.spool.keep(text))
	return len(text), nil
}

func (s *stream) keep(rootDir) error { return nil }
func (s *stream) abort()             { s.spool.close() }

func (s *stream) commit() error {
	if s.only != nil {
		return s.done(s.only.WriteYAML, output.FilePerm(s.only))
	}
	return s.done(s.writeAll, 0o666)
}

func (s *stream) writeAll(w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10)
	first := true
	for _, d := range s.dirs {
		for i, x := range s.texts[d.name] {
			if i == 0 && !first {
				b.WriteString("---\n")
			}
			first = false
			if err := s.spool.writeTo(b, x); err != nil {
				return err
			}
		}
	}
	return b.Flush() // says what went wrong before, too
}

// folderSink writes one file per resource.
type folderSink struct {
	mu    sync.RWMutex // abort may come while others use out
	out   *output.Dir
	name  string
	check bool
	log   *logger
}

func (s *folderSink) put(d rootDir, list *krm.List) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return writeFailure(s.out.Put(filepath.ToSlash(d.out), list))
}
func (s *folderSink) keep(d rootDir) error { return s.out.Keep(filepath.ToSlash(d.out)) }

func (s *folderSink) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Abort()
}

func (s *folderSink) commit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.check {
		changes, err := s.out.Check()
		if err != nil {
			return writeFailure(err)
		}
		if changes.None() {
			return nil
		}
		return &exitError{exitChanged, describe(changes, "would be")}
	}
	changes, err := s.out.Commit()
	if err == nil {
		s.log.changes(s.name, changes)
	}
	return writeFailure(err)
}

// describe lists what changes, at most a few files of each kind.
func describe(c output.Changes, verb string) *diag.Error {
	e := diag.Errorf(diag.Pos{}, "", "the output %s changed: %d added, %d changed, %d removed, %d unchanged", verb, len(c.Added), len(c.Changed), len(c.Removed), c.Unchanged)
	for _, k := range []struct {
		sign  string
		files []string
	}{{"+", c.Added}, {"~", c.Changed}, {"-", c.Removed}} {
		for i, f := range k.files {
			if i == 20 {
				e.Hint("%s ... and %d more", k.sign, len(k.files)-i)
				break
			}
			e.Hint("%s %s", k.sign, f)
		}
	}
	return e
}
