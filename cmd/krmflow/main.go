// Krmflow renders Kubernetes configuration: it compiles Kustomizations, Components and Compositions into a graph, prints it as a
// plan, and runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/console"
	"github.com/krmflow/krmflow/internal/editing"
	"github.com/krmflow/krmflow/internal/locking"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/internal/program"
	"github.com/krmflow/krmflow/internal/progress"
	"github.com/krmflow/krmflow/internal/stdout"
	"github.com/krmflow/krmflow/internal/watchdog"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// seeUsage adds to a mistake in the command line where the usage of the command stands.
func seeUsage(cmd *cobra.Command, err error) error {
	var usage *options.Error
	if !errors.As(err, &usage) || usage.Kind != options.Usage {
		return err
	}
	if cmd.Name() == "help" {
		cmd = cmd.Root()
	}
	e := *diag.AsError(usage.Err)
	return usageError(e.Hint("run '%s --help' for usage", cmd.CommandPath()))
}

func main() {
	name := program.CalledAs(os.Args[0])
	os.Exit(name.ExitStatus(run(name, os.Args[1:], os.Stdin, stdout.Open(), os.Stderr)))
}

// run runs one command line and returns the exit code.
func run(name program.Name, args []string, stdin io.Reader, product, stderr io.Writer) int {
	watchdog.CollectSeldom()
	ctx, cancel := untilSignal()
	defer cancel(nil)
	status := progress.NewStatusWriter(stderr)
	human := diag.SanitisingWriter(status)
	end := console.Reporter{W: human, JSON: wantsJSON(args)}
	out := stdout.New(ctx, product)
	args, more := editing.Split(args)
	a := &app{name: name, stdin: stdin, stdout: out, stderr: human, status: status, stop: cancel, moreEdits: more}
	done := make(chan int, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- report(end, diag.Panicked("krmflow", p))
			}
		}()
		cmd := newCommand(a, args)
		cmd.SetArgs(args)
		cmd.SetOut(out)
		cmd.SetErr(human)
		used, err := cmd.ExecuteContextC(ctx)
		if lost := out.Err(); lost != nil {
			err = &exitError{exitOutput, fmt.Errorf("cannot write to stdout: %w", lost)}
		}
		a.log.End()
		done <- report(end, seeUsage(used, err))
	}()
	return a.await(ctx, done, end)
}

// app is what the commands share: the streams and the flags.
type app struct {
	name           program.Name
	stdin          io.Reader
	stdout, stderr io.Writer
	status         *progress.StatusWriter // below stderr
	flags
	options.Functions
	rootFlags
	log   *console.Logger
	opts  render.Options // of the plan
	seen  locking.Seen   // while planning
	fetch loaders.Fetch  // what fetches for a plan, nil for one of its own

	instead map[string][]byte // files that a plan reads with other contents

	moreEdits [][]string // of edit, behind the first one

	stop   context.CancelCauseFunc // ends the context of the command
	exits  watchdog.Exits
	used   watchdog.Usage
	steps  watchdog.Steps
	serves atomic.Bool // the command ends when somebody else says so, and not soon after its context
}

// commands are all commands by their names. Those that have all flags of rendering are complete: the others, which read a tree or fetch
// something as well, take the defaults of the flags that they do not have from those.
var commands = []struct {
	name     string
	make     func(*app) *cobra.Command
	complete bool
}{
	{"build", buildCommand, true},
	{"post-render", postRenderCommand, true},
	{"plan", planCommand, true},
	{"apply-render", renderCommand, true},
	{"graph", graphCommand, true},
	{"lock", lockCommand, true},
	{"fetch", fetchCommand, true},
	{"vendor", vendorCommand, true},
	{"localize", localizeCommand, true},
	{"version", versionCommand, false},
	{"bench", benchCommand, false},
	{"executor", executorCommand, false},
	{"view", viewCommand, false},
	{"trust", trustCommand, false},
	{"lint", lintCommand, false},
	{"catalog", catalogCommand, false},
	{"convert", convertCommand, false},
	{"create", createCommand, false},
	{"edit", editCommand, false},
	{"schema", schemaCommand, false},
}

// newCommand returns what runs a command line. If that begins with the name of a complete command, it knows no other one: the flags of
// all and their help texts are a tenth of the smallest render.
func newCommand(a *app, args []string) *cobra.Command {
	root := rootCommand(a)
	root.SetOut(a.stdout) // which the next command takes over now
	for _, c := range commands {
		if c.complete && len(args) > 0 && args[0] == c.name {
			root.AddCommand(c.make(a))
			root.CompletionOptions.DisableDefaultCmd = true
		}
	}
	if !root.HasSubCommands() {
		root.Long = about + a.name.ExitHelp(exitHelp(120))
		for _, c := range commands {
			root.AddCommand(c.make(a))
		}
		root.InitDefaultCompletionCmd()
		root.InitDefaultHelpCmd()
	}
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

const about = `krmflow renders Kustomizations, Components and Compositions, the first two to the bytes of kustomize 5.8. It plans the
whole build as a graph first, prints that plan on request, and runs it in parallel.

`

func rootCommand(a *app) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:           "krmflow",
		Short:         "Render Kubernetes configuration as a planned, parallel build",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: a.name.String()},
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.print("krmflow " + program.Version() + "\n")
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return options.FlagError(err) })
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) { // examples are written with the name krmflow
		words := strings.TrimPrefix(cmd.CommandPath(), a.name.String())
		cmd.Example = strings.ReplaceAll(cmd.Example, root.Use+words, cmd.CommandPath())
		help(cmd, args)
	})
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
