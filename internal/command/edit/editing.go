// Package edit implements the edit commands, which change a kustomization file. Each command
// turns its arguments into an [edit.Edit]. A Session applies all edits of one command line to
// one file, under a lock, and writes the file once.
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

// Separator separates two edits on one command line.
const Separator = "--and"

// Split splits a command line of edit into the first edit and the edits that follow it. Other
// command lines are returned unchanged.
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
	// Stdout receives the output of commands, Stderr their warnings.
	Stdout, Stderr io.Writer
	// More are the edits after the first one, as typed.
	More [][]string
	// Usage turns an error into a usage error. FlagError does so for an error about a flag of a
	// command.
	Usage     func(error) error
	FlagError func(*cobra.Command, error) error

	dir    string
	dryRun bool
	nested bool // reading an edit of More
	edits  []edit.Edit
	others []other // additional files to change
}

// Commands returns the edit commands, and adds their common flags to cmd.
func (s *Session) Commands(cmd *cobra.Command) []*cobra.Command {
	s.flags(cmd.PersistentFlags())
	cmd.PersistentPreRunE = s.betweenEdits
	return []*cobra.Command{s.addCommand(), s.setCommand(), s.removeCommand(), s.syncCommand(), s.fixCommand(), s.listCommand()}
}

func (s *Session) flags(set *pflag.FlagSet) {
	set.StringVarP(&s.dir, "directory", "C", s.dir, "edit the file in this `DIR`; paths are relative to it (default: .)")
	set.BoolVar(&s.dryRun, "dry-run", s.dryRun, "print the change as a diff and write nothing")
}

// Refuse returns an error if one of the common flags is set on a command that does not support
// it.
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

var errBetween = errors.New(Separator + " must be between two edits")

// betweenEdits returns an error if a command is combined with [Separator] but does not make an
// edit.
func (s *Session) betweenEdits(cmd *cobra.Command, _ []string) error {
	switch {
	case len(s.More) == 0 || cmd.Annotations[isEdit] != "":
		return nil
	case cmd.HasSubCommands():
		return s.Usage(errBetween)
	}
	return s.Usage(fmt.Errorf("%w: %s is not an edit", errBetween, cmd.Name()))
}

// group returns a command with subcommands.
func (s *Session) group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: s.noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(commands...)
	return cmd
}

// noSuchCommand returns an error if the first argument is not a subcommand.
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

// command returns a command that makes one edit from its arguments.
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

// add adds edits. The first edit of the command line then parses the following ones and runs
// all of them.
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

// read parses one more edit.
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
	case len(s.edits) == n: // --help was given
		return s.Usage(errBetween)
	case dir != "" && dir != s.dir:
		return s.Usage(fmt.Errorf("all edits of one command must be in one directory, not %s and %s", dir, s.dir))
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
		for _, o := range s.others { // check first, so that either all files or none are written
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

// preview prints the changes as a diff.
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

// write replaces a file atomically. It follows links.
func write(path string, apply func([]byte) ([]byte, error)) error {
	path, err := replaceable(path)
	if err != nil {
		return err
	}
	return output.EditFile(path, 0o666, apply)
}

// replaceable resolves the links in a path and returns an error if the user may not write the
// file. The check is necessary because write access to the directory would suffice to replace
// the file.
func replaceable(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err == nil {
		err = output.CheckFile(path)
	}
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // opening a pipe could block forever
		return path, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return "", diag.Errorf(diag.Pos{File: path}, "", "cannot be written: %w", errors.Unwrap(err))
	}
	return path, f.Close()
}

// parse parses a file and verifies that it is a Kustomization, a Component or a Composition.
func parse(name string, data []byte) (*inplace.Document, error) {
	if len(data) > layerfile.MaxSize {
		return nil, diag.TooLargef(diag.Pos{File: name}, "", "is larger than %s", diag.Size(layerfile.MaxSize))
	}
	src := &yaml.Source{File: name, Data: data}
	if slices.Contains(layerfile.CompositionNames, filepath.Base(name)) {
		if !layerfile.IsComposition(src) {
			return nil, diag.Errorf(diag.Pos{File: name}, "", "does not contain a Composition")
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

// find returns the only editable file of a directory.
func find(dir string) (string, error) {
	var found []string
	for _, name := range slices.Concat(layerfile.Names, layerfile.CompositionNames) {
		if len(found) > 0 && slices.Contains(layerfile.CompositionNames, name) && slices.Contains(layerfile.Names, found[0]) {
			break // either a different tool's file, or rendering reports the conflict
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", diag.Errorf(diag.Pos{}, "", "no %s in %s", layerfile.Names[0], shown(dir)).Hint("name its directory with -C")
	case 1:
		return filepath.Join(dir, found[0]), nil
	}
	return "", diag.Errorf(diag.Pos{}, "", "only one of %s may be in %s", diag.Some(found), shown(dir))
}

// shown returns the name of a directory for messages.
func shown(dir string) string {
	if dir == "" {
		return "the current directory"
	}
	return dir
}
