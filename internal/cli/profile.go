package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"

	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/program"
	"github.com/krmflow/krmflow/internal/engine/profile"
	"github.com/krmflow/krmflow/output"
	"github.com/spf13/cobra"
)

// profileFlags are the destinations of the profiles of a command.
type profileFlags struct {
	trace, pprof string
	command      string
	cpu          *os.File // nil unless a CPU profile is being written
}

// RegisterProfile adds the profiling flags to a command, which must call
// [Invocation.StartProfile].
func (a *Invocation) RegisterProfile(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&a.profile.trace, "profile", "", "write a trace of the run to this `FILE`, for Perfetto")
	fs.StringVar(&a.profile.pprof, "pprof", "", "write cpu.pprof and heap.pprof to this `DIR`, for go tool pprof")
}

// StartProfile starts the profiles requested by the flags. It returns an error for a
// destination that cannot be written, before anything runs.
func (a *Invocation) StartProfile(cmd *cobra.Command) error {
	for _, flag := range []string{"profile", "pprof"} {
		if f := cmd.Flags().Lookup(flag); f.Changed && f.Value.String() == "" {
			return options.UsageError(fmt.Errorf("--%s must not be empty", flag))
		}
	}
	a.profile.command = cmd.Name()
	if a.profile.trace != "" {
		if err := CheckOwn(a.profile.trace, profile.TraceBegins, "a trace"); err != nil {
			return err
		}
		a.Recorder = profile.New(a.Began, a.Jobs, a.Calls())
	}
	if a.profile.pprof == "" {
		return nil
	}
	runtime.MemProfileRate = 512 << 10
	if err := os.MkdirAll(a.profile.pprof, 0o777); err != nil {
		return fmt.Errorf("--pprof: %w", err)
	}
	var err error
	if a.profile.cpu, err = os.Create(filepath.Join(a.profile.pprof, "cpu.pprof")); err != nil {
		return fmt.Errorf("--pprof: %w", err)
	}
	return pprof.StartCPUProfile(a.profile.cpu)
}

// WriteProfile writes the profiles of a command that has ended, successfully or not.
func (a *Invocation) WriteProfile() error {
	var errs []error
	if f := a.profile.cpu; f != nil {
		pprof.StopCPUProfile()
		runtime.GC() // a collection makes the figures of memory in use exact
		var heap bytes.Buffer
		errs = append(errs, f.Close(), pprof.Lookup("allocs").WriteTo(&heap, 0),
			os.WriteFile(filepath.Join(a.profile.pprof, "heap.pprof"), heap.Bytes(), 0o666))
	}
	if a.Recorder != nil {
		var p *profile.Profile
		if plan := a.planned; plan != nil {
			p = a.Recorder.Profile(plan.Graph, plan.Files())
		} else {
			p = a.Recorder.Profile(nil, nil)
		}
		p.Version, p.Command, p.MemoryLimit = program.Version(), a.profile.command, int64(a.memory)
		var text bytes.Buffer
		if err := profile.WriteTrace(&text, p); err != nil {
			errs = append(errs, err)
		} else {
			errs = append(errs, output.WriteFileAtomic(a.profile.trace, text.Bytes(), 0o666))
		}
	}
	return errors.Join(errs...)
}

// CheckOwn returns an error if the file at path is not empty and does not start with begins,
// because it is then a file of the user that must not be replaced. The argument what names the
// expected kind of file in the message.
func CheckOwn(path, begins, what string) error {
	if err := output.CheckFile(path); err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return &output.RefusedError{Path: path, Reason: "cannot be read, so that nobody knows whether it is " + what}
	}
	defer f.Close()
	start := make([]byte, len(begins))
	if _, _ = io.ReadFull(f, start); string(start) != begins {
		return &output.RefusedError{Path: path, Reason: "is not " + what + ", and would be replaced by one",
			Hint: "choose another file, or remove it"}
	}
	return nil
}
