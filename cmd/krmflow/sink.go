package main

import (
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
	"github.com/krmflow/krmflow/internal/console"
	"github.com/krmflow/krmflow/internal/spool"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// A sink takes the results of a run.
type sink interface {
	// put takes the list of a root. It may be called from several goroutines.
	put(r render.Root, list *krm.List) error
	// keep says that a root has failed.
	keep(r render.Root) error
	// commit makes the results visible.
	commit() error
	// abort drops what put has taken. It does nothing after commit.
	abort()
}

// sink opens the output. What must not be written to is refused here, before anything is rendered.
func (c *applyRender) sink(ctx context.Context, roots render.Roots, plan *planner.Plan) (sink, error) {
	if c.output == "-" || c.output == devStdout {
		if c.check {
			return nil, usageError(errors.New("--check needs -o with a folder or file"))
		}
		return &streamSink{roots: roots, write: func(text func(io.Writer) error, _ fs.FileMode) error { return text(c.stdout) }}, nil
	}
	info, err := os.Stat(c.output)
	folder := err == nil && info.IsDir() || strings.HasSuffix(c.output, "/") || len(roots) > 1 || c.recursive
	if !folder {
		return c.fileSink(roots, plan)
	}
	if ext := filepath.Ext(c.output); info == nil && (ext == ".yaml" || ext == ".yml" || ext == ".json") {
		e := diag.Errorf(diag.Pos{}, "", "several roots are written to a folder, and %s looks like a file", diag.Redact(c.output))
		return nil, usageError(e.Hint("write -o %s/ if it is to be a folder", diag.Redact(c.output)))
	}
	out, err := output.Open(c.output, output.Options{Context: ctx, Inputs: roots.Dirs(), Force: c.force, Check: c.check})
	if err != nil {
		return nil, err
	}
	return &folderSink{out: out, name: c.output, check: c.check, log: c.log}, nil
}

// fileSink opens an output that is one file.
func (c *applyRender) fileSink(roots render.Roots, plan *planner.Plan) (sink, error) {
	if err := c.refuseInput(c.output, plan, c.planFile); err != nil {
		return nil, err
	}
	if err := output.CheckFile(c.output); err != nil && !c.check {
		return nil, err
	}
	return &streamSink{roots: roots, write: func(text func(io.Writer) error, perm fs.FileMode) error {
		var b bytes.Buffer
		if err := text(&b); err != nil {
			return err
		}
		return c.writeFile(b.Bytes(), perm)
	}}, nil
}

// writeFile writes the output file, or with --check compares it.
func (c *applyRender) writeFile(data []byte, perm fs.FileMode) error {
	if !c.check {
		return output.WriteFileAtomic(c.output, data, perm)
	}
	old, err := loaders.ReadFile(c.output, yaml.MaxFile)
	var missing *loaders.NotFoundError
	switch {
	case err != nil && !errors.As(err, &missing):
		return err
	case err == nil && string(old) == string(data):
		return nil
	}
	return &exitError{exitChanged, fmt.Errorf("%s would change", c.output)}
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
	for call := range plan.Graph.Calls() {
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
			return &output.RefusedError{Path: dest, Reason: "is an input of this run"}
		}
	}
	return nil
}

// streamSink makes one YAML stream of all roots, in the order they were given.
type streamSink struct {
	roots render.Roots
	write func(text func(io.Writer) error, perm fs.FileMode) error
	only  *krm.List // of the only root
	texts spool.Spool
}

func (s *streamSink) put(r render.Root, list *krm.List) error {
	if len(s.roots) == 1 {
		s.only = list
		return nil
	}
	return s.texts.Put(r.Dir, list.WriteYAML)
}

func (s *streamSink) keep(render.Root) error { return nil }
func (s *streamSink) abort()                 { s.texts.Close() }

func (s *streamSink) commit() error {
	if s.only != nil {
		return s.write(s.only.WriteYAML, output.FilePerm(s.only))
	}
	return s.write(func(w io.Writer) error { return s.texts.WriteYAML(w, s.roots.Dirs()) }, 0o666)
}

// folderSink writes one file per resource.
type folderSink struct {
	mu    sync.RWMutex // abort may come while others use out
	out   *output.Dir
	name  string
	check bool
	log   *console.Logger
}

func (s *folderSink) put(r render.Root, list *krm.List) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.out.Put(r.Out, list)
}

func (s *folderSink) keep(r render.Root) error { return s.out.Keep(r.Out) }

func (s *folderSink) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Abort()
}

func (s *folderSink) commit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes, err := s.out.Commit()
	switch {
	case err != nil:
		return err
	case !s.check:
		s.log.Changes(s.name, changes)
	case !changes.None():
		return &exitError{exitChanged, describe(changes)}
	}
	return nil
}

// describe lists what would change, at most a few files of each kind.
func describe(c output.Changes) *diag.Error {
	e := diag.Errorf(diag.Pos{}, "", "the output would be changed: %d added, %d changed, %d removed, %d unchanged", len(c.Added), len(c.Changed), len(c.Removed), c.Unchanged)
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
