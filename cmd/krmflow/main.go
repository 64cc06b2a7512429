// Krmflow renders Kubernetes configuration: it compiles Kustomizations and Components into a graph, prints it as a plan, and
// runs it.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/krmflow/krmflow/graph"
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

// run runs one command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	collectSeldom()
	human := krm.SanitisingWriter(stderr)
	defer func() {
		if p := recover(); p != nil {
			code = report(human, &graph.PanicError{Node: "krmflow", Value: p, Stack: debug.Stack()})
		}
	}()
	ctx, release := untilSignal()
	defer release()
	out := &stdoutWriter{ctx: ctx, w: stdout}
	cmd := newCommand(&app{stdin: stdin, stdout: out, stderr: human})
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(human)
	err := cmd.ExecuteContext(ctx)
	if out.err != nil {
		err = writeFailure(fmt.Errorf("cannot write to stdout: %w", out.err))
	}
	return report(human, err)
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
	var bug *graph.PanicError
	if errors.As(err, &bug) {
		return reportBug(w, bug)
	}
	var sig signalError
	if errors.As(err, &sig) {
		fmt.Fprintln(w, "Error:", sig)
		return exitSignal + int(sig.sig)
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitOutput
	}
	code := exitInput
	var ee *exitError
	switch {
	case errors.As(err, &ee):
		code = ee.code
	case functionExit(err) != 0:
		code = functionExit(err)
	case isUsage(err):
		code = exitUsage
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

// reportBug prints that krmflow is wrong. What it was working on may be secret, so a stack is only printed on demand.
func reportBug(w io.Writer, bug *graph.PanicError) int {
	fmt.Fprintf(w, "Error: %v: this is a bug of krmflow, please report it\n", bug)
	if os.Getenv("KRMFLOW_DEBUG") != "" {
		fmt.Fprintf(w, "%v\n%s", bug.Value, bug.Stack)
	} else {
		fmt.Fprintln(w, "  KRMFLOW_DEBUG=1 shows where; look for secrets in it before you pass it on")
	}
	return exitInternal
}

// isUsage recognises the errors of the command line parser that have no type.
func isUsage(err error) bool { return strings.HasPrefix(err.Error(), "unknown command") }

// app is what the commands share: the streams and the flags.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	flags
	functionFlags
	rootFlags
	log *logger
}

func newCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "krmflow",
		Short: "Render Kubernetes configuration as a planned, parallel build",
		Long: `krmflow renders Kustomizations and Components to the bytes that kustomize 5.8 renders,
but plans the whole build as a graph first, prints that plan on request, and runs it in parallel.

Exit codes: 0 done, 1 the input is wrong, 2 the command line is wrong, 9 another run writes the output, 10 --check found a
difference, 70 a bug of krmflow, 74 the output could not be written, 130 and 143 interrupted.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	root.AddCommand(buildCommand(a), planCommand(a), renderCommand(a), graphCommand(a), versionCommand(a), benchCommand(a), executorCommand(a))
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
