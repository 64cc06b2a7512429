// Package postrender implements the post-render command.
package postrender

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/spf13/cobra"
)

// Command returns the post-render command.
func Command(a *cli.Invocation) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "post-render [DIR]",
		Short: "Render one directory with a file from stdin, as a helm post-renderer",
		Long: `Render one directory to stdout, as build does. The content of stdin stands for the file all.yaml in the directory, or for the file that --file names.
A layer must refer to that file, for example under resources. Nothing is written to the directory, and the file need not exist.

This makes krmflow a helm post-renderer: helm passes its manifests on stdin and uses the output.`,
		Example: `  helm template shop ./chart | krmflow post-render overlays/prod
  helm upgrade shop ./chart --post-renderer krmflow --post-renderer-args post-render --post-renderer-args overlays/prod`,
		Args: options.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			instead, err := readStdin(a, dir, file)
			if err != nil {
				return err
			}
			a.Helm.Hash = a.HoldHelm
			run, err := a.Plan(cmd, engine.Request{Dirs: []string{dir}, Instead: instead})
			if err != nil {
				return err
			}
			for _, data := range instead {
				if !slices.ContainsFunc(run.Plan().Files(), func(f *yaml.Source) bool { return bytes.Equal(f.Data, data) }) {
					return diag.Errorf(diag.Pos{}, "", "nothing in %q uses %s, which is what stdin has", dir, file).
						Hint("name it under resources in its kustomization file, or another one with --file")
				}
			}
			list, err := run.List(cmd.Context())
			if err != nil {
				return err
			}
			return list.WriteYAML(a.Stdout)
		},
	}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	cmd.Flags().StringVar(&file, "file", "all.yaml", "`name` of the file that stands for stdin")
	return cmd
}

// readStdin returns the content of stdin as the content of a file in dir.
func readStdin(a *cli.Invocation, dir, file string) (map[string][]byte, error) {
	if !filepath.IsLocal(file) || filepath.Base(file) != file || file == "." {
		return nil, options.UsageError(fmt.Errorf("--file is %q, not the name of a file in the directory", file))
	}
	data, err := io.ReadAll(io.LimitReader(a.Stdin, yaml.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read stdin: %w", err)
	}
	if len(data) > yaml.MaxFile {
		return nil, diag.Errorf(diag.Pos{}, "", "stdin has more than %s", diag.Size(yaml.MaxFile))
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil { // otherwise the planner reports the problem
		abs = real
	}
	return map[string][]byte{filepath.Join(abs, file): data}, nil
}
