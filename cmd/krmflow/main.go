// Krmflow renders Kubernetes configuration: it compiles Kustomizations and Components into a graph, prints it as a plan, and
// runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/krmflow/krmflow/krm"
	"github.com/spf13/cobra"
)

// The exit codes of krmflow.
const (
	exitInput    = 1   // the input or configuration is wrong
	exitUsage    = 2   // the command line is wrong
	exitChanged  = 10  // --check: the output would change
	exitLocked   = 9   // another run writes to the output
	exitInternal = 70  // a bug of krmflow
	exitOutput   = 74  // the output could not be written
	exitSignal   = 128 // plus the number of the signal that ended the run
)

// An exitError ends the command with a code. A nil Err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

func usageError(err error) error { return &exitError{exitUsage, err} }

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// signalError is the cause of a context that a signal has ended.
type signalError struct{ sig syscall.Signal }

func (e signalError) Error() string { return "interrupted by " + e.sig.String() }

// run runs one command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	collectSeldom()
	human := krm.SanitisingWriter(stderr)
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintln(human, "krmflow: internal error, please report it")
			if os.Getenv("KRMFLOW_DEBUG") != "" {
				fmt.Fprintf(human, "%v\n%s", p, debug.Stack())
			}
			code = exitInternal
		}
	}()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	defer signal.Stop(signals)
	go func() {
		for s := range signals {
			// A reader that went away shows as an error of the write.
			if s != syscall.SIGPIPE {
				cancel(signalError{s.(syscall.Signal)})
			}
		}
	}()
	cmd := newCommand(&app{stdin: stdin, stdout: stdout, stderr: human})
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(human)
	return report(human, cmd.ExecuteContext(ctx))
}

// collectSeldom lets the heap grow to 16 MB before anything is collected, which most runs never reach. The first collection
// makes the next ones come earlier: the peak of large runs counts more than the little time that they take.
func collectSeldom() {
	debug.SetGCPercent(400)
	runtime.SetFinalizer(new([64]byte), func(*[64]byte) { debug.SetGCPercent(150) })
}

// report prints what ended the command and returns its exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	code := exitInput
	var ee *exitError
	var sig signalError
	switch {
	case errors.As(err, &sig):
		code = exitSignal + int(sig.sig)
	case errors.As(err, &ee):
		code = ee.code
	case isUsage(err):
		code = exitUsage
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitOutput
	}
	if msg := err.Error(); msg != "" {
		for _, line := range strings.Split(msg, "\n") {
			if !strings.HasPrefix(line, "  ") {
				line = "Error: " + line
			}
			fmt.Fprintln(w, line)
		}
	}
	if code == exitUsage {
		fmt.Fprintln(w, "Run 'krmflow --help' for usage.")
	}
	return code
}

// isUsage recognises the errors of the command line parser that have no type.
func isUsage(err error) bool { return strings.HasPrefix(err.Error(), "unknown command") }

// app is what the commands share: the streams and the flags.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	flags
	rootFlags
	log *logger
}

func newCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "krmflow",
		Short: "Render Kubernetes configuration as a planned, parallel build",
		Long: `krmflow renders Kustomizations and Components to the bytes that kustomize 5.8 renders,
but plans the whole build as a graph first, prints that plan on request, and runs it in parallel.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError(err) })
	root.AddCommand(buildCommand(a), planCommand(a), renderCommand(a), graphCommand(a), versionCommand(a), benchCommand(a))
	return root
}

// atMost returns an argument check whose failure is a usage error.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := cobra.MaximumNArgs(n)(cmd, args); err != nil {
			return usageError(err)
		}
		return nil
	}
}
