// Package images implements the images command. It lists the container images of rendered
// resources with the places that set them, and compares them with another state.
package images

import (
	"errors"
	"io"
	"os"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/command/diff"
	"github.com/krmflow/krmflow/internal/command/graph"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/spf13/cobra"
)

// listing is the images command with its own flags.
type listing struct {
	*cli.Invocation
	form, against string
	exitCode      bool
}

// errDiffers reports differences with --exit-code.
var errDiffers = errors.New("there are differences")

// Command returns the images command.
func Command(a *cli.Invocation) *cobra.Command {
	c := &listing{Invocation: a}
	cmd := &cobra.Command{
		Use:   "images [DIR...]",
		Short: "List the container images of rendered resources",
		Long: `Render the directories and list the images of all containers, init containers, ephemeral containers and image volumes, at any depth of any kind,
with the number of their uses. CustomResourceDefinitions have no images. -o json adds the uses of each image: root, resource, container and field, and
the file and line that set it, which is an images entry, a patch or the file of the resource. Nothing is written. Functions run as in build.

--against compares the images with another state, as diff does, and lists the added, removed and changed images of each resource. The state is a
revision of git, a directory or earlier output.`,
		Example: `  krmflow images -R overlays
  krmflow images overlays/prod -o json
  krmflow images -R overlays --against origin/main`,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := c.run(cmd, args)
			if c.exitCode && err != nil && exit.Code(err) == exit.Input && !errors.Is(err, errDiffers) {
				return &exit.Error{Code: exit.Trouble, Err: err}
			}
			return err
		},
	}
	a.RegisterRendering(cmd)
	a.RegisterReport(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&c.form, "output", "o", "text", "output `format`: text or json")
	fs.StringVar(&c.against, "against", "", "list the differences from `REV`, a directory or output")
	fs.BoolVar(&c.exitCode, "exit-code", false, "exit with 1 if there are differences, and with 128 after an error")
	return cmd
}

func (c *listing) run(cmd *cobra.Command, args []string) error {
	switch {
	case c.form != "text" && c.form != "json":
		return graph.IllegalForm(cmd, c.form, "text", "json")
	case c.against == "" && cmd.Flags().Changed("against"):
		return options.UsageError(errors.New("--against must not be empty"))
	case c.exitCode && c.against == "":
		return options.UsageError(errors.New("--exit-code needs --against"))
	case c.against != "":
		return c.compare(cmd, args)
	}
	run, err := c.Plan(cmd, engine.Request{Args: args, Key: "images " + c.form})
	if err != nil {
		return err
	}
	return run.Print(c.Stdout, func(w io.Writer) error {
		found, failed := c.collect(cmd, run)
		if failed != nil && (!c.KeepGoing || cmd.Context().Err() != nil) {
			return failed
		}
		if c.form == "json" {
			return errors.Join(failed, writeJSON(w, found))
		}
		if len(found) == 0 && failed == nil {
			c.Nothing("no images")
		}
		return errors.Join(failed, writeText(w, found))
	})
}

func (c *listing) compare(cmd *cobra.Command, args []string) error {
	against, err := cli.Against(cmd.Context(), cli.AgainstDir(args), c.against)
	if err != nil {
		return err
	}
	result, err := diff.Compare(c.Invocation, cmd, args, against, nil)
	if result == nil {
		return err
	}
	d := differencesOf(result)
	if c.form == "json" {
		err = errors.Join(d.writeJSON(diag.SanitisingWriter(c.Stdout)), err)
	} else {
		err = errors.Join(d.writeText(c.Stdout, c.Color.On(os.Stdout)), err)
	}
	err = errors.Join(err, c.StrictError())
	if err == nil && c.exitCode && len(d.roots) > 0 {
		return &exit.Told{Err: &exit.Error{Code: exit.Input, Err: errDiffers}}
	}
	return err
}
