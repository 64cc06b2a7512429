package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/sink"
	"github.com/krmflow/krmflow/internal/stdout"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// sink opens the output. What must not be written to is refused here, before anything is rendered.
func (c *applyRender) sink(ctx context.Context, roots render.Roots, plan *planner.Plan) (sink.Sink, error) {
	if c.output == "-" || c.output == stdout.Dev {
		if c.check {
			return nil, usageError(errors.New("--check needs -o with a folder or file"))
		}
		return sink.Stream(c.Stdout, roots), nil
	}
	info, err := os.Stat(c.output)
	folder := err == nil && info.IsDir() || strings.HasSuffix(c.output, "/") || len(roots) > 1 || c.Recursive
	if !folder {
		if err := refuseInput(c.App, c.output, plan, c.planFile); err != nil {
			return nil, err
		}
		return sink.File(c.output, roots, c.check)
	}
	if ext := filepath.Ext(c.output); info == nil && (ext == ".yaml" || ext == ".yml" || ext == ".json") {
		e := diag.Errorf(diag.Pos{}, "", "several roots are written to a folder, and %s looks like a file", diag.Redact(c.output))
		return nil, usageError(e.Hint("write -o %s/ if it is to be a folder", diag.Redact(c.output)))
	}
	o := output.Options{Context: ctx, Inputs: roots.Dirs(), Force: c.force, Check: c.check}
	return sink.Folder(c.output, o, func(changes output.Changes) { c.Log.Changes(c.output, changes) })
}

// refuseInput refuses to replace a file that the plan was made from, a program that it runs, or one of others.
func refuseInput(a *app.App, dest string, plan *planner.Plan, others ...string) error {
	dir, base := filepath.Split(dest)
	folder, err := os.Stat(filepath.Clean(dir))
	if err != nil {
		return nil // writing will say so
	}
	for _, src := range plan.Files() {
		others = append(others, src.File)
	}
	for call := range plan.Graph.Calls() {
		others = append(others, call.Function.Program, call.Function.Archive)
	}
	for _, p := range a.ThirdParty {
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
