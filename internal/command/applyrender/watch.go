package applyrender

import (
	"errors"

	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/output"
	"github.com/spf13/cobra"
)

// registerWatch adds the --watch flag.
func (c *applyRender) registerWatch(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.watch, "watch", false, "render again whenever a local input changes, until Ctrl-C")
}

// checkWatch returns an error for flags that make no sense together with --watch.
func (c *applyRender) checkWatch(cmd *cobra.Command) error {
	switch {
	case c.isStream():
		return options.UsageError(errors.New("--watch needs -o with a folder or file"))
	case c.check:
		return options.UsageError(errors.New("--watch writes what --check only compares: choose one"))
	case cmd.Flags().Changed("profile"), cmd.Flags().Changed("pprof"):
		return options.UsageError(errors.New("--profile and --pprof are about one run, --watch makes many: choose one"))
	case c.planFile != "":
		return options.UsageError(errors.New("--plan is about one run, --watch makes many: choose one"))
	}
	return nil
}

// untilStopped renders, and renders again whenever an input changes. It gives up after the
// first round if only a different command line would help: a usage error, a refused output or a
// locked output.
func (c *applyRender) untilStopped(cmd *cobra.Command) error {
	if err := c.checkWatch(cmd); err != nil {
		return err
	}
	code, err := c.Rounds(cmd.Context(), c.output, func(code int, err error) bool {
		return code == exit.Usage || errors.As(err, new(*output.RefusedError)) || errors.As(err, new(*output.LockedError))
	})
	if err != nil {
		return err
	}
	return &exit.Error{Code: code, Err: &exit.Told{Err: errNotBegun}}
}

// errNotBegun is returned if watching never started. The first round has already printed the
// cause.
var errNotBegun = errors.New("nothing was rendered")
