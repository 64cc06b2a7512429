// Krmflow renders Kubernetes configuration: it compiles Kustomizations, Components and Compositions into a graph, prints it as a
// plan, and runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/console"
	"github.com/krmflow/krmflow/internal/editing"
	"github.com/krmflow/krmflow/internal/locking"
	"github.com/krmflow/krmflow/internal/progress"
	"github.com/krmflow/krmflow/internal/watchdog"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// seeUsage adds to a mistake in the command line where the usage of the command stands.
func seeUsage(cmd *cobra.Command, err error) error {
	var usage *exitError
	if !errors.As(err, &usage) || usage.code != exitUsage {
		return err
	}
	if cmd.Name() == "help" {
		cmd = cmd.Root()
	}
	e := *diag.AsError(usage.err)
	return usageError(e.Hint("run '%s --help' for usage", cmd.CommandPath()))
}

func main() {
	var stdout io.Writer = os.Stdout
	if stdoutClosed() {
		stdout = closedWriter{}
	}
	os.Exit(run(os.Args[1:], os.Stdin, stdout, os.Stderr))
}

// run runs one command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	watchdog.CollectSeldom()
	ctx, cancel := untilSignal()
	defer cancel(nil)
	status := progress.NewStatusWriter(stderr)
	human := diag.SanitisingWriter(status)
	end := console.Reporter{W: human, JSON: wantsJSON(args)}
	out := &stdoutWriter{ctx: ctx, w: stdout}
	args, more := editing.Split(args)
	a := &app{stdin: stdin, stdout: out, stderr: human, status: status, stop: cancel, edits: slices.Contains(args, "edit"), moreEdits: more}
	done := make(chan int, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- report(end, diag.Panicked("krmflow", p))
			}
		}()
		cmd := newCommand(a)
		cmd.SetArgs(args)
		cmd.SetOut(out)
		cmd.SetErr(human)
		used, err := cmd.ExecuteContextC(ctx)
		if out.err != nil {
			err = &exitError{exitOutput, fmt.Errorf("cannot write to stdout: %w", out.err)}
		}
		a.log.End()
		done <- report(end, seeUsage(used, err))
	}()
	return a.await(ctx, done, end)
}

// app is what the commands share: the streams and the flags.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	status         *progress.StatusWriter // below stderr
	flags
	functionFlags
	rootFlags
	log  *console.Logger
	opts render.Options // of the plan
	seen locking.Seen   // while planning

	edits     bool       // the command line is about edit, whose many commands are not made for others: that takes time
	moreEdits [][]string // of edit, behind the first one

	stop   context.CancelCauseFunc // ends the context of the command
	exits  exits
	used   watchdog.Usage
	steps  watchdog.Steps
	serves atomic.Bool // the command ends when somebody else says so, and not soon after its context
}

func newCommand(a *app) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "krmflow",
		Short: "Render Kubernetes configuration as a planned, parallel build",
		Long: `krmflow renders Kustomizations, Components and Compositions, the first two to the bytes of kustomize 5.8. It plans the
whole build as a graph first, prints that plan on request, and runs it in parallel.

` + exitHelp(120),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.print("krmflow " + moduleVersion() + "\n")
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	root.AddCommand(buildCommand(a), planCommand(a), renderCommand(a), graphCommand(a), versionCommand(a), benchCommand(a), executorCommand(a), viewCommand(a),
		trustCommand(a), lintCommand(a), catalogCommand(a), editCommand(a), lockCommand(a), fetchCommand(a), vendorCommand(a))
	root.SetOut(a.stdout) // which the next command takes over now
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch {
		case c.Name() == "help":
			c.Args = noSuchTopic
		case c.HasSubCommands():
			c.Args = noSuchCommand
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		for _, shell := range c.Commands() {
			if c.Name() == "completion" {
				shell.Args = atMost(0)
			}
		}
	}
	return root
}

// noSuchTopic refuses arguments of help that are no command.
func noSuchTopic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil {
		found, rest = cmd.Root(), args
	}
	return noSuchCommand(found, rest)
}

// noSuchCommand refuses a first argument that is no command.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	e := diag.Errorf(diag.Pos{}, "", "unknown command %q", args[0])
	e.Hints = diag.DidYouMean(args[0], names)
	return usageError(e)
}

// exactly returns an argument check whose failure is a usage error that says what is missing.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usageError(fmt.Errorf("%s needs %s", cmd.CommandPath(), what))
		}
		return atMost(n)(cmd, args)
	}
}

// atMost returns an argument check whose failure is a usage error.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		if n == 0 {
			return usageError(fmt.Errorf("%s takes no arguments, not %q", cmd.Name(), args[0]))
		}
		return usageError(fmt.Errorf("%s takes no more than %d argument; %q is too many", cmd.Name(), n, args[n]))
	}
}
