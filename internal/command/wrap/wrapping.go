// Package wrap makes a function of a command that prints resources: krmflow wrap. The command gets the fields of its configuration as variables
// and the resources on stdin; what it prints is merged into the list.
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

// The variables that change what is done, as in kustomize's config.
const (
	mergeVariable    = "KUST_MERGE"           // anything but true and 1: the output takes the place of the list
	overrideVariable = "KUST_OVERRIDE_DIR"    // a directory with resources that are merged in at the end
	configVariable   = "KUST_FUNCTION_CONFIG" // what the command finds its configuration in
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
	// MaxOutput is how many bytes the command may print.
	MaxOutput int64
	// JSON gives the command JSON in the place of YAML.
	JSON bool
}

// Run reads a ResourceList, runs the command, and writes the list with what that has printed.
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
	if err := (kio.ByteWriter{Writer: &all, KeepReaderAnnotations: true, WrappingAPIVersion: "v1", WrappingKind: "List"}).Write(list.Items); err != nil {
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

// read reads the list on stdin.
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
			Hint("wrap is called where a function is: by a catalog entry, an image, or a script that wraps itself once").
			Hint("to try it: krmflow fn source DIR --function-config FILE | krmflow wrap -- COMMAND")
	}
	return list, nil
}

// text returns YAML as the command gets it: as it is, or as JSON. err is that of making the YAML.
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
		return nil, diag.Errorf(diag.Pos{File: dir}, "", "%s names no directory", overrideVariable).With(diag.NoSuchFile)
	}
	more, err := resourcelist.ReadDir(dir, resourcelist.Unannotated)
	if err != nil {
		return nil, err
	}
	return resourcelist.Merge(slices.Concat(items, more))
}

// place gives resources without a file one, and sorts all by file and place.
func place(items []*yaml.RNode) error {
	next := map[string]int{}
	in := func(n *yaml.RNode) (file string, index int) {
		file, number, _ := kioutil.GetFileAnnotations(n) // it has no errors
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

// notFound says that there is no program for the command.
func notFound(name string, err error) error {
	switch {
	case errors.Is(err, os.ErrPermission):
		return &exit.Error{Code: 126, Err: diag.Errorf(diag.Pos{}, "", "%s cannot be run: permission denied", diag.OneLine(name)).With(diag.BadProgram).Hint("chmod +x makes it a program")}
	case loaders.Exists(name) && !strings.ContainsAny(name, `/\`):
		return &exit.Error{Code: 127, Err: diag.Errorf(diag.Pos{}, "", "there is no program %s on PATH", diag.OneLine(name)).With(diag.NoSuchFile).Hint("did you mean ./%s?", diag.OneLine(name))}
	}
	return &exit.Error{Code: 127, Err: diag.Errorf(diag.Pos{}, "", "there is no program %s", diag.OneLine(name)).With(diag.NoSuchFile)}
}
