// Package edit holds the commands below `edit` that change a kustomization file. Each reads its arguments and makes an [edit.Edit] of them; a
// Session runs all edits of one command line on one file, under a lock, and writes the file once.
package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Separator stands between two edits of one command line.
const Separator = "--and"

// Split splits a command line of `edit` into the first edit and those that follow it. Another command line stays whole.
func Split(args []string) (first []string, more [][]string) {
	if len(args) == 0 || args[0] != "edit" {
		return args, nil
	}
	start := 0
	for i, arg := range args {
		if arg == Separator {
			more = append(more, args[start:i])
			start = i + 1
		}
	}
	more = append(more, args[start:])
	return more[0], more[1:]
}

// A Session runs the edits of one command line.
type Session struct {
	// Stdout gets what a command prints, Stderr warnings.
	Stdout, Stderr io.Writer
	// More are the edits behind the first one, as they were typed.
	More [][]string
	// Usage makes an error one about the command line, FlagError one about a flag of a command.
	Usage     func(error) error
	FlagError func(*cobra.Command, error) error

	dir    string
	dryRun bool
	nested bool // an edit of More is being read
	edits  []edit.Edit
	others []other // files that are changed, too
}

// Commands returns the commands. cmd gets their common flags.
func (s *Session) Commands(cmd *cobra.Command) []*cobra.Command {
	s.flags(cmd.PersistentFlags())
	cmd.PersistentPreRunE = s.betweenEdits
	return []*cobra.Command{s.addCommand(), s.setCommand(), s.removeCommand(), s.fixCommand(), s.listCommand()}
}

func (s *Session) flags(set *pflag.FlagSet) {
	set.StringVarP(&s.dir, "directory", "C", s.dir, "edit the file in this `directory`, to which also paths in arguments are relative (default: the current one)")
	set.BoolVar(&s.dryRun, "dry-run", s.dryRun, "print what would change as a diff, and write nothing")
}

// Refuse returns an error if a command got one of the common flags that does not know them.
func (s *Session) Refuse(cmd *cobra.Command, _ []string) error {
	for _, name := range []string{"directory", "dry-run"} {
		if cmd.Flags().Changed(name) {
			return s.Usage(fmt.Errorf("%s has no --%s", cmd.Name(), name))
		}
	}
	return nil
}

// isEdit is the annotation of commands that make an edit.
const isEdit = "edit"

var errBetween = errors.New(Separator + " stands between two edits")

// betweenEdits returns an error if a command stands beside [Separator] and makes no edit.
func (s *Session) betweenEdits(cmd *cobra.Command, _ []string) error {
	switch {
	case len(s.More) == 0 || cmd.Annotations[isEdit] != "":
		return nil
	case cmd.HasSubCommands():
		return s.Usage(errBetween)
	}
	return s.Usage(fmt.Errorf("%w: %s is none", errBetween, cmd.Name()))
}

// group returns a command that has others below it.
func (s *Session) group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: s.noSuchCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}

// noSuchCommand refuses a first argument that is no command.
func (s *Session) noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	e := diag.Errorf(diag.Pos{}, "", "unknown command %q", args[0])
	e.Hints = diag.DidYouMean(args[0], names)
	return s.Usage(e)
}

// command returns a command that makes one edit of its arguments.
func (s *Session) command(use, short, example string, edit func(args []string) (edit.Edit, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Annotations: map[string]string{isEdit: "true"},
		RunE: func(_ *cobra.Command, args []string) error {
			e, err := edit(args)
			if err != nil {
				return s.Usage(err)
			}
			return s.add(e)
		},
	}
}

// add adds edits. The first one of the command line reads those that follow, and runs all.
func (s *Session) add(edits ...edit.Edit) error {
	s.edits = append(s.edits, edits...)
	if s.nested {
		return nil
	}
	s.nested = true
	for _, args := range s.More {
		if err := s.read(args); err != nil {
			return err
		}
	}
	return s.run()
}

// read reads one more edit.
func (s *Session) read(args []string) error {
	n, dir := len(s.edits), s.dir
	cmd := s.group("edit", "")
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(s.FlagError)
	cmd.SetOut(s.Stdout)
	cmd.SetErr(s.Stderr)
	cmd.AddCommand(s.Commands(cmd)...)
	cmd.SetArgs(args)
	if err := cmd.Execute(); err != nil {
		return err
	}
	switch {
	case len(s.edits) == n: // it has asked for help
		return s.Usage(errBetween)
	case dir != "" && dir != s.dir:
		return s.Usage(fmt.Errorf("the edits of one command are of one directory, not %s and %s", dir, s.dir))
	}
	return nil
}

// run runs the edits.
func (s *Session) run() error {
	path, err := find(s.dir)
	if err != nil {
		return err
	}
	file := filepath.Base(path)
	apply := func(old []byte) ([]byte, error) {
		d, err := parse(path, old)
		if err != nil {
			return nil, err
		}
		d, err = edit.Apply(d, file, s.env(), s.edits...)
		if err != nil {
			return nil, err
		}
		return d.Text(), nil
	}
	if s.dryRun {
		return s.preview(path, apply)
	}
	err = write(path, func(old []byte) ([]byte, error) {
		text, err := apply(old)
		for _, o := range s.others { // all are written, or none
			if _, denied := replaceable(o.path); err == nil {
				err = denied
			}
		}
		return text, err
	})
	if err != nil {
		return err
	}
	for _, o := range s.others {
		err := write(o.path, func(old []byte) ([]byte, error) {
			if !bytes.Equal(old, o.old) {
				return nil, fmt.Errorf("%s was changed in the meantime", o.path)
			}
			return o.new, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// preview prints what would change.
func (s *Session) preview(path string, apply func([]byte) ([]byte, error)) error {
	old, err := readRegular(path)
	if err != nil {
		return err
	}
	text, err := apply(old)
	if err != nil {
		return err
	}
	for _, o := range append([]other{{path, old, text}}, s.others...) {
		if _, err := s.Stdout.Write(diff.Diff(o.path, o.old, o.path, o.new)); err != nil {
			return err
		}
	}
	return nil
}

// write replaces a file in one step. A link is followed.
func write(path string, apply func([]byte) ([]byte, error)) error {
	path, err := replaceable(path)
	if err != nil {
		return err
	}
	return output.EditFile(path, 0o666, apply)
}

// replaceable returns the path of a file without links. What the user may not write is not replaced, although its directory could get another file of
// its name.
func replaceable(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err == nil {
		err = output.CheckFile(path)
	}
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // opening it could wait for ever
		return path, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return "", diag.Errorf(diag.Pos{File: path}, "", "cannot be written: %w", errors.Unwrap(err))
	}
	return path, f.Close()
}

// parse parses a file and checks that it is a Kustomization, a Component or a Composition.
func parse(name string, data []byte) (*inplace.Document, error) {
	if len(data) > layerfile.MaxSize {
		return nil, diag.TooLargef(diag.Pos{File: name}, "", "is larger than %s", diag.Size(layerfile.MaxSize))
	}
	src := &yaml.Source{File: name, Data: data}
	if slices.Contains(layerfile.CompositionNames, filepath.Base(name)) {
		if !layerfile.IsComposition(src) {
			return nil, diag.Errorf(diag.Pos{File: name}, "", "holds no Composition")
		}
		return inplace.Parse(name, data, edit.CompositionFields)
	}
	d, err := inplace.Parse(name, data, edit.Fields)
	if err != nil {
		return nil, err
	}
	if !d.Value().Exists() {
		return d, nil
	}
	var mistakes diag.Mistakes
	if v, err := src.Value(); err == nil {
		for _, m := range yaml.Decode(v, &layerfile.Kustomization{}) {
			mistakes.Add(m.In(src))
		}
	}
	return d, errors.Join(mistakes.Errors()...)
}

// find returns the one file of a directory that is to be edited.
func find(dir string) (string, error) {
	var found []string
	for _, name := range slices.Concat(layerfile.Names, layerfile.CompositionNames) {
		if len(found) > 0 && slices.Contains(layerfile.CompositionNames, name) && slices.Contains(layerfile.Names, found[0]) {
			break // it is the file of another tool, or else rendering refuses it
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", diag.Errorf(diag.Pos{}, "", "there is no %s in %s", layerfile.Names[0], shown(dir)).Hint("name its directory with -C")
	case 1:
		return filepath.Join(dir, found[0]), nil
	}
	return "", diag.Errorf(diag.Pos{}, "", "only one of %s may be in %s", diag.Some(found), shown(dir))
}

// shown returns a directory as messages show it.
func shown(dir string) string {
	if dir == "" {
		return "the current directory"
	}
	return dir
}
