// Package wrap implements krmflow wrap, which turns a command that prints resources into a
// function. The command receives the fields of its configuration as environment variables and
// the resources on stdin. Its output is merged into the list.
package wrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/command/fn/resourcelist"
	krmyaml "github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Environment variables that control the call, as in kustomize's config.
const (
	mergeVariable    = "KUST_MERGE"           // any value but true and 1: the output replaces the list
	overrideVariable = "KUST_OVERRIDE_DIR"    // directory with resources to merge at the end
	configVariable   = "KUST_FUNCTION_CONFIG" // the configuration, for the command
)

// fileNames is the pattern for the files of new resources (WR-04).
const fileNames = "config/%n_%k.yaml"

// NotePrefix starts each line that a Call itself prints to stderr.
const NotePrefix = "wrap: "

// A Call is one run of a command.
type Call struct {
	// Args are the program and its arguments.
	Args []string
	// Env is the environment of this process.
	Env []string
	// Names are the variables that hold fields of the configuration. If it is nil,
	// [function.FieldsVariable] of Env must name the fields.
	Names          []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// MaxOutput is the maximum size of the output of the command in bytes.
	MaxOutput int64
	// JSON passes JSON to the command instead of YAML.
	JSON bool
}

// Run reads a ResourceList, runs the command, and writes the list merged with the output of the
// command.
func (c *Call) Run(ctx context.Context) error {
	list, err := c.read()
	if err != nil {
		return err
	}
	env, notes, err := c.environment(list.Config)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(c.Stderr, NotePrefix+diag.OneLine(note))
	}
	var all strings.Builder
	if err := (kio.ByteWriter{Writer: &all, KeepReaderAnnotations: true, WrappingAPIVersion: "v1", WrappingKind: "List"}).Write(
		list.Items); err != nil {
		return err
	}
	input, err := c.text(all.String(), nil)
	if err != nil {
		return err
	}
	printed, err := c.execute(ctx, env, input)
	if err != nil {
		return err
	}
	made, err := resourcelist.Read("the output of "+diag.OneLine(path.Base(c.Args[0])), printed)
	if err != nil {
		return err
	}
	items := made.Items
	if on, _ := c.lookup(mergeVariable); on == "" || on == "true" || on == "1" {
		if items, err = resourcelist.Merge(slices.Concat(list.Items, items)); err != nil {
			return err
		}
	}
	if items, err = c.override(items); err != nil {
		return err
	}
	if err := place(items); err != nil {
		return err
	}
	if err := resourcelist.Format(items); err != nil {
		return err
	}
	out := &resourcelist.List{APIVersion: list.APIVersion, Items: items, Results: made.Results}
	return out.Write(c.Stdout)
}

// read reads the list from stdin.
func (c *Call) read() (*resourcelist.List, error) {
	data, err := io.ReadAll(io.LimitReader(c.Stdin, resourcelist.MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > resourcelist.MaxSize {
		return nil, diag.Limitf("stdin has more than %s", diag.Size(resourcelist.MaxSize))
	}
	list, err := resourcelist.Read("stdin", data)
	if err != nil {
		return nil, err
	}
	if list.APIVersion == "" {
		return nil, diag.Errorf(diag.Pos{}, "", "stdin has no ResourceList").With(diag.BadList).
			Hint("call wrap in place of a function: in a catalog entry, in an image, or in a script that wraps itself once").
			Hint("to try it: krmflow fn source DIR --function-config FILE | krmflow wrap -- COMMAND")
	}
	return list, nil
}

// text returns YAML in the form that the command receives: unchanged or as JSON. err is passed
// through.
func (c *Call) text(data string, err error) ([]byte, error) {
	if err != nil || !c.JSON {
		return []byte(data), err
	}
	v, err := (&krmyaml.Source{File: "stdin", Data: []byte(data)}).Content()
	if err != nil {
		return nil, err
	}
	return append(krmyaml.AppendJSON(nil, v), '\n'), nil
}

// override merges the resources of a directory into the items (WR-09).
func (c *Call) override(items []*yaml.RNode) ([]*yaml.RNode, error) {
	dir, _ := c.lookup(overrideVariable)
	if dir == "" {
		return items, nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, diag.Errorf(diag.Pos{File: dir}, "", "%s does not name a directory", overrideVariable).With(diag.NoSuchFile)
	}
	more, err := resourcelist.ReadDir(dir, resourcelist.Unannotated)
	if err != nil {
		return nil, err
	}
	return resourcelist.Merge(slices.Concat(items, more))
}

// place assigns resources without a file to one, and sorts all resources by file and index.
func place(items []*yaml.RNode) error {
	next := map[string]int{}
	in := func(n *yaml.RNode) (file string, index int) {
		file, number, _ := kioutil.GetFileAnnotations(n) // never returns an error
		index, _ = strconv.Atoi(number)
		return file, index
	}
	for _, n := range items {
		if f, i := in(n); f != "" {
			next[f] = max(next[f], i+1)
		}
	}
	for _, n := range items {
		if f, _ := in(n); f != "" {
			continue
		}
		f := resourcelist.FileName(fileNames, n)
		if err := resourcelist.SetPlace(n, f, next[f]); err != nil {
			return err
		}
		next[f]++
	}
	slices.SortStableFunc(items, func(a, b *yaml.RNode) int {
		f, i := in(a)
		g, j := in(b)
		return cmp.Or(slices.Compare(strings.Split(f, "/"), strings.Split(g, "/")), cmp.Compare(i, j))
	})
	return nil
}

// notFound returns the error for a command whose program does not exist or cannot be run.
func notFound(name string, err error) error {
	switch {
	case errors.Is(err, os.ErrPermission):
		return &exit.Error{Code: 126, Err: diag.Errorf(diag.Pos{}, "", "%s cannot be run: permission denied",
			diag.OneLine(name)).With(diag.BadProgram).Hint("make it executable with chmod +x")}
	case loaders.Exists(name) && !strings.ContainsAny(name, `/\`):
		return &exit.Error{Code: 127, Err: diag.Errorf(diag.Pos{}, "", "no program %s on PATH",
			diag.OneLine(name)).With(diag.NoSuchFile).Hint("did you mean ./%s?", diag.OneLine(name))}
	}
	return &exit.Error{Code: 127, Err: diag.Errorf(diag.Pos{}, "", "no program %s", diag.OneLine(name)).With(diag.NoSuchFile)}
}
