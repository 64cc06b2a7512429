// Krmflow renders Kubernetes configuration. It compiles Kustomizations, Components and
// Compositions into a graph, prints the graph as a plan, and runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/cli/help"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/program"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/internal/command/affected"
	"github.com/krmflow/krmflow/internal/command/applyrender"
	"github.com/krmflow/krmflow/internal/command/bench"
	"github.com/krmflow/krmflow/internal/command/build"
	"github.com/krmflow/krmflow/internal/command/cache"
	"github.com/krmflow/krmflow/internal/command/catalog"
	"github.com/krmflow/krmflow/internal/command/config"
	"github.com/krmflow/krmflow/internal/command/convert"
	"github.com/krmflow/krmflow/internal/command/create"
	"github.com/krmflow/krmflow/internal/command/deps"
	"github.com/krmflow/krmflow/internal/command/diff"
	"github.com/krmflow/krmflow/internal/command/docs"
	"github.com/krmflow/krmflow/internal/command/edit"
	"github.com/krmflow/krmflow/internal/command/executor"
	"github.com/krmflow/krmflow/internal/command/explain"
	"github.com/krmflow/krmflow/internal/command/fetch"
	"github.com/krmflow/krmflow/internal/command/fn"
	"github.com/krmflow/krmflow/internal/command/graph"
	"github.com/krmflow/krmflow/internal/command/images"
	"github.com/krmflow/krmflow/internal/command/join"
	"github.com/krmflow/krmflow/internal/command/localize"
	"github.com/krmflow/krmflow/internal/command/lock"
	"github.com/krmflow/krmflow/internal/command/plan"
	"github.com/krmflow/krmflow/internal/command/postrender"
	"github.com/krmflow/krmflow/internal/command/push"
	"github.com/krmflow/krmflow/internal/command/run"
	"github.com/krmflow/krmflow/internal/command/schema"
	"github.com/krmflow/krmflow/internal/command/test"
	"github.com/krmflow/krmflow/internal/command/validate"
	"github.com/krmflow/krmflow/internal/command/vendor"
	"github.com/krmflow/krmflow/internal/command/version"
	"github.com/krmflow/krmflow/internal/command/view"
	"github.com/krmflow/krmflow/internal/command/why"
	"github.com/krmflow/krmflow/internal/command/wrap"
	"github.com/krmflow/krmflow/internal/engine/limits"
	krmschema "github.com/krmflow/krmflow/krm/schema"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// seeUsage adds a hint to an error of the command line that names the help of the command.
func seeUsage(cmd *cobra.Command, err error) error {
	var usage *options.Error
	if err = exit.AsUsage(err); !errors.As(err, &usage) || usage.Kind != options.Usage {
		return err
	}
	if e := diag.AsError(usage.Err); e.Pos.File != "" {
		return err // the user's settings file is wrong, and help would not explain it
	}
	if cmd.Name() == "help" {
		cmd = cmd.Root()
	}
	e := *diag.AsError(usage.Err)
	e.With(diag.Usage)
	e.Hints = append(slices.Clip(e.Hints), cli.Origins(cmd, &e)...)
	return options.UsageError(e.Hint("run '%s --help' for usage", cmd.CommandPath()))
}

func main() {
	makeTempAbsolute()
	name := program.CalledAs(os.Args[0])
	os.Exit(name.ExitStatus(start(name, program.Arguments(os.Args), os.Stdin, terminal.OpenStdout(), os.Stderr)))
}

// makeTempAbsolute makes TMPDIR absolute, because the programs that krmflow starts and their
// sandboxes have different working directories.
func makeTempAbsolute() {
	if dir := os.Getenv("TMPDIR"); dir != "" && !filepath.IsAbs(dir) {
		if abs, err := filepath.Abs(dir); err == nil {
			os.Setenv("TMPDIR", abs)
		}
	}
}

// start runs one command line and returns the exit code.
func start(name program.Name, args []string, stdin io.Reader, product, stderr io.Writer) int {
	began := time.Now()
	runtime.MemProfileRate = 0 // --pprof sets it again
	limits.CollectSeldom()
	args, more := edit.Split(args)
	a := &cli.Invocation{Began: began, Name: name, Stdin: stdin, MoreEdits: more, CommandLine: args, Perform: perform}
	a.Screen = terminal.NewScreen(product, stderr, a.Pager)
	ctx, cancel := untilSignal(a.Screen)
	defer cancel(nil)
	a.Stop, a.Stdout, a.Stderr = cancel, terminal.NewStdout(ctx, a.Screen.Stdout()), diag.SanitisingWriter(a.Screen.Stderr())
	_ = a.Color.Set(flagValue(args, "color")) // for mistakes of the command line; the parser reports a wrong value
	end := a.Reporter(flagValue(args, "log-format") == "json")
	done := make(chan int, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- report(end, diag.Panicked("krmflow", p))
			}
		}()
		done <- perform(ctx, a)
	}()
	code := await(ctx, a, done, end)
	paged := a.Screen.Paging()
	if paged && code == exit.OK { // Ctrl-C before all output was written; afterwards it is for the pager
		code = signaled(ctx, syscall.SIGINT)
	}
	if err := a.Screen.Close(); err != nil && code == exit.OK {
		code = report(end, lostStdout(err))
	}
	if paged && code == exit.OK {
		code = signaled(ctx, syscall.SIGTERM)
	}
	return code
}

// signaled returns the exit code for a signal if it has canceled ctx, otherwise OK.
func signaled(ctx context.Context, signal syscall.Signal) int {
	var sig exit.Signaled
	if errors.As(context.Cause(ctx), &sig) && sig.Signal == signal {
		return exit.Signal + int(signal)
	}
	return exit.OK
}

// lostStdout returns the error for a failed write to stdout.
func lostStdout(err error) error {
	return &exit.Error{Code: exit.Output, Err: fmt.Errorf("cannot write to stdout: %w", err)}
}

// perform runs the command line of an Invocation, prints errors, reports and the result line,
// and returns the exit code. The Stdout of the Invocation must be a [*terminal.Stdout].
func perform(ctx context.Context, a *cli.Invocation) (code int) {
	out := a.Stdout.(*terminal.Stdout)
	cmd := newCommand(a, a.CommandLine)
	cmd.SetArgs(a.CommandLine)
	cmd.SetOut(out)
	cmd.SetErr(a.Stderr)
	used, err := execute(ctx, cmd, a.CommandLine)
	a.Exits.Run() // cleanup of resources that outlive the command but not the run
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, diag.ErrLimit) && diag.AsError(err).Pos.File == "" {
		err = a.Steps.Stopped(cause) // the error occurred between two steps and has no position yet
	}
	if lost := out.Err(); lost != nil {
		err = lostStdout(lost)
	}
	a.Log.End()
	a.Ended = err
	end := a.Reporter(flagValue(a.CommandLine, "log-format") == "json" || a.LogFormat == "json")
	code = report(end, seeUsage(used, err))
	code = max(code, report(end, a.WriteReports(err)), report(end, a.WriteProfile()))
	if t := a.Tally; len(t.All) > 0 {
		end.Roots(t.Result, t.What, t.Done(), len(t.All), t.LeftOut)
	}
	if a.Result != "" {
		end.Result(a.Result)
	}
	return code
}

// execute runs the command named by args and returns it.
func execute(ctx context.Context, root *cobra.Command, args []string) (*cobra.Command, error) {
	if cmd, rest, err := root.Find(args); err == nil {
		if err := options.OneDash(cmd, rest); err != nil {
			return cmd, err
		}
	}
	return root.ExecuteContextC(ctx)
}

// commands are all commands, in the order of help. Complete commands have all rendering flags.
// The other commands, of which some also read a tree or fetch content, take the defaults of the
// flags that they lack from the complete ones.
var commands = []struct {
	name     string
	make     func(*cli.Invocation) *cobra.Command
	complete bool
}{
	{"build", build.Command, true},
	{"post-render", postrender.Command, true},
	{"plan", plan.Command, true},
	{"apply-render", applyrender.Command, true},
	{"validate", validate.Command, true},
	{"diff", diff.Command, true},
	{"graph", graph.Command, true},
	{"images", images.Command, true},
	{"deps", deps.Command, true},
	{"affected", affected.Command, true},
	{"why", why.Command, true},
	{"test", test.Command, true},
	{"run", hide(run.Command, "run"), true},
	{"lock", lock.Command, true},
	{"fetch", fetch.Command, true},
	{"vendor", vendor.Command, true},
	{"localize", localize.Command, true},
	{"join", join.Command, false},
	{"version", version.Command, false},
	{"bench", benchCommand, false},
	{"executor", executor.Command, false},
	{"view", view.Command, false},
	{"config", config.Command, false},
	{"cache", cache.Command, false},
	{"trust", catalog.TrustCommand, false},
	{"catalog", catalog.Command, false},
	{"lint", hide(catalog.LintCommand, "lint"), false},
	{"push", push.Command, false},
	{"convert", convert.Command, false},
	{"create", create.Command, false},
	{"edit", edit.Command, false},
	{"schema", schema.Command, false},
	{"explain", explain.Command, false},
	{"fn", fnCommand, false},
	{"wrap", hide(wrap.Command, "wrap"), false},
}

// hide returns a command under another name that help does not show: an earlier name, or one that a
// specification or kustomize uses.
func hide(command func(*cli.Invocation) *cobra.Command, name string) func(*cli.Invocation) *cobra.Command {
	return func(a *cli.Invocation) *cobra.Command {
		cmd := command(a)
		_, words, _ := strings.Cut(cmd.Use, " ")
		cmd.Use, cmd.Aliases, cmd.Hidden = strings.TrimSpace(name+" "+words), nil, true
		return cmd
	}
}

func fnCommand(a *cli.Invocation) *cobra.Command {
	cmd := fn.Command(a)
	cmd.AddCommand(run.Command(a), wrap.Command(a))
	return cmd
}

func benchCommand(a *cli.Invocation) *cobra.Command {
	return bench.Command(a, func(name string) *pflag.FlagSet {
		if name == "build" {
			return build.Command(&cli.Invocation{}).Flags()
		}
		return applyrender.Command(&cli.Invocation{}).Flags()
	})
}

// newCommand returns the root command for a command line. If args begin with the name of a
// complete command, only that command is added: building the flags and help texts of all
// commands takes a tenth of the time of the smallest render.
func newCommand(a *cli.Invocation, args []string) *cobra.Command {
	a.AllFlags = settingFlags
	root := rootCommand(a)
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	if name == "render" {
		name = "apply-render"
	}
	root.SetOut(a.Stdout) // completion commands capture the writer when they are added
	for _, c := range commands {
		if c.complete && name == c.name {
			a.Complete = true
			root.AddCommand(c.make(a))
			root.CompletionOptions.DisableDefaultCmd = true
		}
	}
	if !root.HasSubCommands() {
		root.Long = about + a.Name.ExitHelp(exitHelp(120))
		for _, c := range commands {
			root.AddCommand(c.make(a))
		}
		root.AddCommand(docs.Command(a))
		root.InitDefaultCompletionCmd()
		root.InitDefaultHelpCmd()
		if strings.HasPrefix(name, cobra.ShellCompRequestCmd) {
			help.Complete(root)
		}
	}
	for _, c := range root.Commands() {
		switch {
		case c.Name() == "help":
			c.Args = noSuchTopic
			topic := c.Run
			c.Run = func(cmd *cobra.Command, args []string) {
				if len(args) == 1 && args[0] == "all" {
					_ = a.Print(help.All(root, helpWidth())) // Stdout records errors
					return
				}
				topic(cmd, args)
			}
		case c.HasSubCommands():
			c.Args = noSuchCommand
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		for _, shell := range c.Commands() {
			if c.Name() == "completion" {
				shell.Args = options.AtMost(0)
				if shell.Name() == "bash" {
					help.CompleteInBash(shell)
				}
			}
		}
	}
	return root
}

// settingFlags returns the flags of all complete commands, which the user's settings file and
// variables can set: see package settings.
func settingFlags() *pflag.FlagSet {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(cli.TerminalFlags).Register(all)
	for _, c := range commands {
		if c.complete {
			all.AddFlagSet(c.make(&cli.Invocation{Stdout: io.Discard, Stderr: io.Discard}).Flags())
		}
	}
	return all
}

const about = `krmflow renders Kustomizations, Components and Compositions, the first two to the bytes of kustomize 5.8. It plans the
whole build as a graph first, prints that plan on request, and runs it in parallel.

`

func rootCommand(a *cli.Invocation) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:           "krmflow",
		Short:         "Render Kubernetes configuration as a planned, parallel build",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: a.Name.String()},
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.Print("krmflow " + program.Version() + "\n")
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	a.TerminalFlags.Register(root.PersistentFlags())
	var dir string
	root.PersistentFlags().StringVarP(&dir, "directory", "C", "", "run as if started in this `DIR`")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if f := root.PersistentFlags().Lookup("directory"); f.Changed && a.Watch == nil { // later rounds of a watch are there already
			if err := os.Chdir(dir); err != nil {
				return options.UsageError(diag.NoSuchFile.Errorf("-C %s: cannot change to this directory: %w", diag.Redact(dir),
					errors.Unwrap(err)))
			}
		}
		return a.ReadSettings(cmd)
	}
	root.PersistentFlags().Bool("stack-trace", false, "accepted for compatibility; errors say where they are")
	// The flag does nothing, so it needs no documentation.
	_ = root.PersistentFlags().MarkHidden("stack-trace")
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		cmd.Example = a.Name.Example(cmd.Example, strings.TrimPrefix(cmd.CommandPath(), a.Name.String()))
		cmd.InitDefaultHelpFlag()
		text := help.Full(cmd, helpWidth())
		if wantsBrief(a.CommandLine) {
			text = help.Brief(cmd)
		}
		_ = a.Print(text) // Stdout records errors
	})
	root.SetUsageFunc(help.Usage)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		all := newCommand(&cli.Invocation{Name: a.Name, Stdout: io.Discard, Stderr: io.Discard}, nil)
		return options.FlagError(cmd, all, err)
	})
	return root
}

// helpWidth returns the width of help in columns: the width of the terminal, at most 100.
func helpWidth() int {
	if w := terminal.Width(os.Stdout); w > 0 {
		return max(40, min(w, 100))
	}
	return 80
}

// wantsBrief reports whether a command line asks for help with -h, not with --help or help.
func wantsBrief(args []string) bool {
	for _, arg := range args {
		switch {
		case arg == "--":
			return false
		case arg == "-h":
			return true
		}
	}
	return false
}

// noSuchTopic rejects arguments of help that do not name a command.
func noSuchTopic(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] == "all" {
		return nil
	}
	found, rest, err := cmd.Root().Find(args)
	if err != nil {
		found, rest = cmd.Root(), args
	}
	return noSuchCommand(found, rest)
}

// noSuchCommand rejects a first argument that is not a command.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := diag.Errorf(diag.Pos{}, "", "unknown command %q", args[0]).With(diag.UnknownCommand)
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if e.Hints = elsewhere(cmd, args, names); e.Hints == nil {
		e.Hints = diag.DidYouMean(args[0], names)
	}
	return options.UsageError(e)
}

// elsewhere returns a hint for a word that is a command in other programs, or that lacks the
// subcommand before it.
func elsewhere(cmd *cobra.Command, args, names []string) []string {
	var hint string
	switch args[0] {
	case "apply":
		hint = "krmflow renders, kubectl applies: krmflow build DIR | kubectl apply -f-"
	case "openapi":
		return []string{"to write a file for the field openapi, with merge keys of custom kinds: krmflow schema openapi CRD.yaml -o openapi.json",
			"to print the schema of a cluster, as openapi fetch does: kubectl get --raw /openapi/v2",
			"the built-in schema, which openapi info prints, is that of Kubernetes " + krmschema.BuiltinVersion}
	case "template", "kustomize":
		hint = "krmflow build DIR prints the rendered resources; krmflow apply-render DIR -o FOLDER writes them"
	}
	if hint != "" && slices.Contains(names, "apply-render") {
		hints := []string{hint}
		if args[0] == "apply" {
			hints = append(hints, "for all directories below one: krmflow apply-render -R DIR | kubectl apply -f-")
		}
		return hints
	}
	if slices.Contains(names, "composition") {
		names = []string{"composition"}
	}
	if _, err := os.Stat(args[0]); err == nil && len(names) == 1 {
		return []string{fmt.Sprintf("did you mean '%s %s %s'?", cmd.CommandPath(), names[0], diag.ShellWord(args[0]))}
	}
	return nil
}
