package applyrender

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/engine/sink"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// registerOutput adds the flags for the destination and form of the output.
func (c *applyRender) registerOutput(fs *pflag.FlagSet) {
	fs.StringVarP(&c.output, "output", "o", "-", "write to `DEST`: a folder, a .yaml or .json file, or - for stdout")
	fs.BoolVar(&c.force, "force", false, "replace changed files and files that krmflow did not write; see docs")
	fs.BoolVar(&c.check, "check", false, "write nothing; exit with 10 if the output would change")
	fs.StringVar(&c.against, "against", "", "with --check, compare with `REV`, a folder or a file instead of -o")
	fs.BoolVar(&c.prune, "prune", false, "remove files of roots that this run does not render")
	c.folder.Register(fs)
	fs.BoolVar(&c.failOnSecrets, "fail-on-secrets", false, "write nothing and exit with 1 if a Secret has values")
}

// forFolders lists the flags that need a folder as output.
var forFolders = []string{"prune", "only-these", "layout", "names"}

// checkFlags returns an error for flags that exclude each other.
func (c *applyRender) checkFlags(cmd *cobra.Command) error {
	switch {
	case c.output == "":
		return options.UsageError(errors.New("--output must not be empty; - means stdout"))
	case c.planFile == "" && cmd.Flags().Changed("plan"):
		return options.UsageError(errors.New("--plan must not be empty"))
	case cmd.Flags().Changed("against") && (c.against == "" || !c.check):
		return options.UsageError(errors.New("--against names the other side of --check: add --check"))
	case c.against != "" && cmd.Flags().Changed("output"):
		return options.UsageError(errors.New("--against replaces -o for --check: remove one of them"))
	case c.prune && c.folder.OnlyThese:
		return options.UsageError(errors.New("--prune removes the files that --only-these keeps: choose one"))
	case c.Sharded() && c.folder.OnlyThese && !c.check:
		return options.UsageError(errors.New("the folder of a shard has only its own roots: remove --only-these"))
	case c.folder.Redact && c.failOnSecrets:
		return options.UsageError(errors.New("--fail-on-secrets refuses the Secrets that --redact-secrets writes: choose one"))
	}
	if err := c.folder.Check(); err != nil {
		return options.UsageError(err)
	}
	return nil
}

// isStream reports whether the output is stdout.
func (c *applyRender) isStream() bool { return c.output == "-" || c.output == terminal.StdoutDevice }

// isFolder reports whether the output is a folder. An existing path stays a file or a folder. A
// new path is a folder if there are several roots, or if it does not have the extension of a
// YAML or JSON file.
func (c *applyRender) isFolder(roots render.Roots) bool {
	if c.isStream() {
		return false
	}
	if len(roots) > 1 || c.Recursive || c.Sharded() || strings.HasSuffix(c.output, "/") {
		return true
	}
	info, err := os.Stat(c.output)
	if err != nil {
		_, err = os.Lstat(c.output) // a dangling link is replaced
		return err != nil && !isFileName(c.output)
	}
	return info.IsDir()
}

// isFileName reports whether path has the extension of a resource file.
func isFileName(path string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path)))
}

// open opens the output, for [engine.Writing.Open]. It fails if krmflow must not write there.
func (c *applyRender) open(cmd *cobra.Command, run *engine.Run, inputs iter.Seq[string], files *known.Files) (sink.Sink, error) {
	roots := run.Scope().Roots
	info, _ := os.Stat(c.output)
	stream, folder := c.isStream(), c.isFolder(roots)
	for _, flag := range forFolders {
		if cmd.Flags().Changed(flag) && !folder {
			return nil, options.UsageError(errors.New("--" + flag + " needs -o with a folder; write -o out/ for a new one"))
		}
	}
	switch {
	case stream && c.check:
		return nil, options.UsageError(errors.New("--check needs -o with a folder or file, or --against REV"))
	case stream:
		return sink.Stream(c.Stdout, roots), nil
	case !folder:
		if err := c.RefuseInput(c.output, run.Plan(), c.planFile); err != nil {
			return nil, err
		}
		return c.openFile(roots, run.LastWrite(c.output))
	}
	if info == nil && isFileName(c.output) {
		e := diag.Errorf(diag.Pos{}, "", "several roots are written to a folder, and %s looks like a file", diag.Redact(c.output))
		return nil, options.UsageError(e.Hint("write -o %s/ if it is to be a folder", diag.Redact(c.output)))
	}
	o, err := c.folder.Options(roots)
	if err != nil {
		return nil, options.UsageError(err)
	}
	if err := c.ShardFolder(cmd, &o); err != nil {
		return nil, err
	}
	o.Context, o.Known = cmd.Context(), files
	o.Inputs, o.Places = append(o.Inputs, filesIn(c.output, inputs)...), run.Scope().Sources.Places
	return c.openFolder(o)
}

func (c *applyRender) openFile(roots render.Roots, last *records.LastWrite) (sink.Sink, error) {
	o := sink.FileOptions{Check: c.check}
	if !c.force {
		o.Mine = last.Is
	}
	o.Wrote = func(change output.Change, sum krm.Digest) {
		if change != output.Streamed {
			last.Save(sum)
			c.Log.Wrote(c.output, change)
		}
	}
	return sink.File(c.output, roots, o)
}

func (c *applyRender) openFolder(o output.Options) (sink.Sink, error) {
	if !c.force {
		if err := c.RefuseReports(c.output); err != nil {
			return nil, err
		}
	}
	o.Command = cli.CommandLine(c.Name.String(), os.Args[1:])
	o.Prune, o.Force, o.Check, o.Again = c.prune, c.force, c.check, c.Watch != nil
	return sink.Folder(c.output, o, c.folder.Form(), func(changes output.Changes) { c.Log.Changes(c.output, changes) })
}

// filesIn returns the files that are inside folder, at most one per directory: the caller only
// needs to know which directories contain inputs.
func filesIn(folder string, files iter.Seq[string]) []string {
	top, err := filepath.Abs(folder)
	if err != nil {
		return nil
	}
	wd, err := os.Getwd()
	if err != nil {
		return nil
	}
	var in []string
	seen := map[string]bool{}
	for file := range files {
		dir := filepath.Dir(file)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		abs := dir
		if !filepath.IsAbs(dir) {
			abs = filepath.Join(wd, dir)
		}
		if diag.Within(abs, top) {
			in = append(in, file)
		}
	}
	return in
}
