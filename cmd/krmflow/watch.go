package main

import (
	"errors"

	"github.com/krmflow/krmflow/output"
	"github.com/spf13/cobra"
)

// registerWatch adds the flag that renders again what changes.
func (c *applyRender) registerWatch(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.watch, "watch", false, "render, then wait, and render again what a saved file changes, until Ctrl-C; what is remote is not watched")
}

// checkWatch refuses what makes no sense together with --watch.
func (c *applyRender) checkWatch(cmd *cobra.Command) error {
	switch {
	case c.isStream():
		return usageError(errors.New("--watch needs -o with a folder or file"))
	case c.check:
		return usageError(errors.New("--watch writes what --check only compares: choose one"))
	case cmd.Flags().Changed("profile"), cmd.Flags().Changed("pprof"):
		return usageError(errors.New("--profile and --pprof are about one run, --watch makes many: choose one"))
	case c.planFile != "":
		return usageError(errors.New("--plan is about one run, --watch makes many: choose one"))
	}
	return nil
}

// untilStopped renders, and again whenever that would make something else. A first round that nothing but another command line helps ends it.
func (c *applyRender) untilStopped(cmd *cobra.Command) error {
	if err := c.checkWatch(cmd); err != nil {
		return err
	}
	code, err := c.Rounds(cmd.Context(), c.output, grace, func(code int, err error) bool {
		return code == exitUsage || errors.As(err, new(*output.RefusedError)) || errors.As(err, new(*output.LockedError))
	})
	if err != nil {
		return err
	}
	return &exitError{code, &toldError{errNotBegun}}
}

// errNotBegun is why nothing is watched, which the round has told.
var errNotBegun = errors.New("nothing was rendered")
