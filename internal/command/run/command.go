// Package run implements the run command. It runs the functions that the files of a directory
// configure, and writes their changes back to the files.
package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/command/run/merge"
	"github.com/krmflow/krmflow/internal/command/run/tree"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/sink"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output/rewrite"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// command is the run command with its flags.
type command struct {
	*cli.Invocation
	fnPaths     []string
	results     string
	pattern     string
	named       *pflag.Flag // the flag of pattern
	form        string
	dryRun      bool
	check       bool
	allowDelete bool
	verbose     bool

	tree        *tree.Tree
	calls       []*call
	comments    *comments
	before, now *merge.Memory // generated resources of earlier runs, and of this one
	said        []said        // reports of the functions that have run
	secrets     history.Secrets
	taken       int64 // number of bytes read
}

// Command returns the run command.
func Command(a *cli.Invocation) *cobra.Command {
	c := &command{Invocation: a}
	cmd := &cobra.Command{
		Use:   "run [DIR]",
		Short: "Run functions on the files of a directory, in place",
		Long: `Run the functions that the configurations in the directory and below declare, and the pipelines of Kptfiles, and write their results back to the files.
A function receives the resources of its own folder and the folders below; a folder named functions belongs to its parent. Functions in deeper folders
run first. Pipelines run after all functions, inner packages first.

Unchanged resources keep their bytes: comments, order, quotes and blank lines. If a function fails, no file changes. A killed run can leave old and new
files; the next run of the directory completes it, and until then other commands warn. When a function generates a resource again, your edits
are kept: .krmflow/generated.yaml has the previous version and belongs in version control. Files matched by .krmflowignore are not read.

A function runs if a trusted catalog lists it or flags allow it, as in all other commands.`,
		Example: `  krmflow fn run config/ --dry-run                    # functions, files that would change, and a diff
  krmflow fn run config/ --trusted-plugin-catalog=file:catalog.yaml
  krmflow fn run config/ --check                      # for CI: exit with 10 if a file would change
  krmflow fn run config/ --fn-path functions/         # functions from elsewhere, for all of config/`,
		Args: options.AtMost(1),
		RunE: c.run,
	}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	fs := cmd.Flags()
	fs.StringArrayVar(&c.fnPaths, "fn-path", nil, "run only the functions that `PATH` configures, on all of DIR; repeatable")
	fs.StringVar(&c.results, "results-dir", "", "write the results of each function to a file in this `DIR`")
	fs.StringVar(&c.pattern, "filename-pattern", "{name}_{kind}.yaml",
		"`pattern` for files of new resources: {name}, {kind} and {namespace}")
	c.named = fs.Lookup("filename-pattern")
	fs.StringVarP(&c.form, "output", "o", "text", "output `format` of --dry-run: text or json")
	fs.BoolVar(&c.dryRun, "dry-run", false, "run the functions and print the changes; write nothing")
	fs.BoolVar(&c.check, "check", false, "write nothing; exit with 10 if a file would change")
	fs.BoolVar(&c.allowDelete, "allow-delete", false, "allow functions to delete resources, and files that become empty")
	fs.BoolVar(&c.verbose, "verbose", false, "print skipped files with the reason")
	_ = cmd.MarkFlagDirname("results-dir") // fails only for an unknown flag
	return cmd
}

func (c *command) run(cmd *cobra.Command, args []string) error {
	dir := "."
	if len(args) > 0 {
		dir = args[0]
	}
	if err := c.checkFlags(dir); err != nil {
		return err
	}
	writes := !c.dryRun && !c.check
	var to *rewrite.Dir
	if writes {
		var err error
		if to, err = rewrite.Open(dir, merge.File); err != nil {
			return err
		}
		defer c.Exits.Add(to.Close)()
	} else if rewrite.Pending(dir) {
		return diag.Interrupted.Errorf(
			"%s: a run was interrupted while writing: to complete it, run krmflow run without --dry-run and --check", dir)
	}
	files, err := c.read(cmd.Context(), dir)
	if err != nil {
		return err
	}
	run, err := c.Plan(cmd, engine.Request{Dirs: []string{dir}, Files: []*planner.Files{files}, Taken: c.taken})
	if err != nil {
		return err
	}
	plan := run.Plan()
	if err := c.checkFnPaths(plan); err != nil {
		return err
	}
	c.notices(dir, to, plan)
	if denied := run.Denied(); denied != nil {
		if c.dryRun {
			denied = errors.Join(c.print(plan, nil), denied)
		}
		return denied
	}
	changes, err := c.execute(cmd.Context(), run)
	if failed := c.writeResults(plan); err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return c.finish(plan, changes, to)
}

func (c *command) checkFlags(dir string) error {
	switch info, err := os.Stat(dir); {
	case c.form != "text" && c.form != "json":
		return options.UsageError(diag.FlagValue.Errorf("illegal value --output %s; legal values: text, json", c.form))
	case c.form == "json" && !c.dryRun:
		return options.UsageError(errors.New("--output json needs --dry-run"))
	case c.dryRun && c.check:
		return options.UsageError(errors.New("--dry-run and --check cannot be combined"))
	case !isPattern(c.pattern):
		return options.UsageError(fmt.Errorf(
			"--filename-pattern %q must have {name} or {kind}, nothing else in braces but {namespace}, stay below the folder, and end with .yaml or .yml", c.pattern))
	case err != nil:
		return diag.NoSuchFile.Errorf("%s: %w", dir, errors.Unwrap(err))
	case !info.IsDir():
		return diag.NotAFile.Errorf("%s is not a directory", dir)
	}
	return nil
}

// kptPattern is the pattern for new resources of pipelines. kpt uses the same names.
const kptPattern = "{namespace}/{kind}_{name}.yaml"

// isPattern reports whether a pattern is valid for the files of new resources.
func isPattern(pattern string) bool {
	example := strings.NewReplacer("{name}", "n", "{kind}", "k").Replace(pattern)
	if example == pattern {
		return false
	}
	example = strings.ReplaceAll(example, "{namespace}", "s")
	return !strings.ContainsAny(example, "{}") && tree.CheckPath(example) == nil
}

// finish writes, prints or compares the result of a run.
func (c *command) finish(plan *planner.Plan, changes *tree.Changes, to *rewrite.Dir) error {
	for _, n := range changes.Notes {
		c.Log.Warn(planner.WarningOf(n))
	}
	var err error
	if c.dryRun {
		err = c.print(plan, changes)
	}
	if !c.allowDelete && len(changes.Removed) > 0 {
		return errors.Join(err, vanished(changes.Removed), c.StrictError())
	}
	if err = errors.Join(err, c.StrictError()); err != nil || c.dryRun {
		return err
	}
	if c.check {
		if len(changes.Files) == 0 {
			c.Nothing("no file would change")
			return nil
		}
		e := diag.Errorf(diag.Pos{}, "", "%w: %s", sink.ErrChanged, diag.Plural(len(changes.Files), "file")).With(diag.OutputDiffers)
		for _, f := range changes.Files {
			e.Hints = append(e.Hints, what(f)+" "+f.Path)
		}
		return e
	}
	files := make([]rewrite.File, len(changes.Files))
	for i, f := range changes.Files {
		files[i] = rewrite.File(f)
	}
	if err := to.Write(files); err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range changes.Files {
		fmt.Fprintf(&b, "%s %s\n", what(f), diag.Sanitise(filepath.Join(c.tree.Dir, filepath.FromSlash(f.Path))))
	}
	if len(files) == 0 {
		c.Nothing("no file changed")
	}
	return c.Print(b.String())
}

// what returns the type of change of a file.
func what(f tree.Change) string {
	switch {
	case f.Old == nil:
		return "added"
	case f.New == nil:
		return "removed"
	}
	return "changed"
}

// vanished returns the error for resources that no function returned.
func vanished(list []tree.Removed) error {
	e := diag.FilesVanish.Errorf("%s would be removed, because a function does not return them; nothing was written",
		diag.Plural(len(list), "resource"))
	at := diag.AsError(e)
	for i, r := range list {
		if i == diag.MaxMistakes {
			at.Hint("... and %d more", len(list)-i)
			break
		}
		at.Hint("%s: %s", r.Pos, r.ID)
	}
	return at.Hint("to remove them, add --allow-delete")
}

// notices prints observations that are not errors.
func (c *command) notices(dir string, to *rewrite.Dir, plan *planner.Plan) {
	if to != nil && (to.Completed || to.Discarded) {
		msg := "a run was interrupted before it changed a file; its prepared files were removed"
		if to.Completed {
			msg = "a run was interrupted while writing; it is now complete"
		}
		c.Log.Notice(planner.Warning{Msg: dir + ": " + msg, Code: diag.Interrupted})
	}
	for _, e := range c.tree.Missed {
		c.Log.Warn(planner.WarningOf(e))
	}
	for _, e := range c.tree.Left {
		if c.verbose && !slices.Contains(c.tree.Missed, e) {
			c.Log.Notice(planner.WarningOf(e))
		}
	}
	for range plan.Graph.Calls() {
		return
	}
	c.Log.Notice(planner.Warning{Msg: dir + " has no function configuration: nothing is run", Hints: []string{noFunction},
		Code: diag.NoResource})
}

// read reads the directory and returns the calls to plan.
func (c *command) read(ctx context.Context, dir string) (*planner.Files, error) {
	load := func(path string) ([]byte, error) {
		data, err := loaders.ReadFile(path, yaml.MaxFile)
		if c.taken += int64(len(data)); c.taken > c.MaxInput() {
			return nil, diag.Limitf("the files below %s have more than %s",
				dir, diag.Count(int(c.MaxInput()), "byte")).Hint("--max-input sets how much a run may read")
		}
		return data, err
	}
	var err error
	if c.tree, err = tree.Read(ctx, dir, load); err != nil {
		return nil, err
	}
	if err = c.complete(); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, filepath.FromSlash(merge.File))
	text, err := load(file)
	if err != nil && !isMissing(file) {
		return nil, err
	}
	if c.before, err = merge.Parse(file, text); err != nil {
		return nil, err
	}
	piped, used, err := pipelines(c.tree)
	if err != nil {
		return nil, err
	}
	if len(c.fnPaths) == 0 {
		c.calls = append(configs(c.tree, used), piped...)
	}
	for _, p := range c.fnPaths {
		others, err := c.elsewhere(ctx, p, load)
		if err != nil {
			return nil, err
		}
		c.calls = append(c.calls, others...)
	}
	if len(c.fnPaths) == 0 {
		c.inherit()
	}
	c.now, c.comments = &merge.Memory{}, newComments(c.tree)
	files := &planner.Files{Read: reading{c.tree}}
	for _, x := range c.calls {
		x.pattern, x.before, x.now, x.comments = c.pattern, c.before, c.now, c.comments
		if x.object == nil && !c.named.Changed {
			x.pattern = kptPattern
		}
		x.sent, x.got = map[*krm.Origin]inplace.Comments{}, map[*krm.Resource]inplace.Comments{}
		files.Calls = append(files.Calls, x.plan)
	}
	return files, nil
}

// inherit assigns the generated resources of a renamed or moved configuration to its new name,
// so that edits of them are preserved. If several configurations could be the new one, none
// inherits.
func (c *command) inherit() {
	gone := c.before.Functions()
	for _, x := range c.calls {
		delete(gone, x.key)
	}
	heirs := map[string][]string{}
	for _, x := range c.calls {
		if _, known := c.before.Functions()[x.key]; x.object == nil || known {
			continue
		}
		for key := range gone {
			if x.follows(key) {
				heirs[key] = append(heirs[key], x.key)
			}
		}
	}
	for key, list := range heirs {
		if len(list) == 1 {
			c.before.Rename(key, list[0])
		}
	}
}

// complete returns an error if a run in a subfolder was killed while it wrote: only some of the
// files there are new.
func (c *command) complete() error {
	seen := map[string]bool{".": true} // rewrite.Open has checked the directory itself
	for _, f := range c.tree.Files {
		for folder := path.Dir(f.Path); !seen[folder]; folder = path.Dir(folder) {
			seen[folder] = true
			if name := filepath.Join(c.tree.Dir, filepath.FromSlash(folder)); rewrite.Pending(name) {
				return diag.Interrupted.Errorf("%s: a run was interrupted while writing: to complete it, run krmflow run %s", name, name)
			}
		}
	}
	return nil
}

func isMissing(file string) bool {
	_, err := os.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// elsewhere returns the calls of the functions that a file or folder outside the directory
// configures. Their scope is the whole directory.
func (c *command) elsewhere(ctx context.Context, p string, load tree.ReadFile) ([]*call, error) {
	info, err := os.Stat(p)
	if err != nil {
		return nil, diag.NoSuchFile.Errorf("--fn-path %s: %w", p, errors.Unwrap(err))
	}
	folder := p
	if !info.IsDir() {
		folder = filepath.Dir(p)
	}
	t, err := tree.Read(ctx, folder, load)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		t.Files = slices.DeleteFunc(t.Files, func(f *tree.File) bool { return f.Path != filepath.Base(p) })
	}
	calls := configs(t, nil)
	for _, x := range calls {
		x.from, x.key = p, "--fn-path "+x.key
		x.scope, x.home, x.tree = ".", ".", c.tree
	}
	return calls, nil
}

// checkFnPaths returns an error if a --fn-path does not configure any function: the user
// expects it to.
func (c *command) checkFnPaths(plan *planner.Plan) error {
	found := map[string]bool{}
	for op := range plan.Graph.Calls() {
		if x, ok := op.Files.(*call); ok {
			found[x.from] = true
		}
	}
	for _, p := range c.fnPaths {
		if !found[p] {
			return diag.Errorf(diag.Pos{}, "", "--fn-path %s configures no function", p).With(diag.BadFunction).Hint(noFunction)
		}
	}
	return nil
}

// noFunction is a hint on how to configure a function.
const noFunction = "a configuration must name its function, or a trusted catalog must have a function for its kind"

// reading creates the list of resources from the files.
type reading struct{ tree *tree.Tree }

func (r reading) Transform(list *krm.List, _ diag.Warn) error {
	list.Replace(r.tree.Resources())
	return nil
}

// execute runs the functions and returns the changes of the files.
func (c *command) execute(ctx context.Context, run *engine.Run) (*tree.Changes, error) {
	var list *krm.List
	for result, err := range run.Results(ctx, engine.Hooks{Call: c.listen(c.Log.Call), Seen: c.secrets.Seen}) {
		if err != nil {
			return nil, err
		}
		list = result.List
	}
	changes, err := c.tree.Changes(list, c.comments.all(list))
	if err != nil {
		return nil, err
	}
	return changes, c.remember(changes)
}

// remember adds the file with the generated resources to the changes. Entries of functions that
// did not run are kept: this run may trust a different catalog than the next one.
func (c *command) remember(changes *tree.Changes) error {
	c.now.Keep(c.before, func(key string) bool {
		return slices.ContainsFunc(c.calls, func(x *call) bool { return x.ran && x.key == key })
	})
	text, file := c.now.Text(), filepath.Join(c.tree.Dir, filepath.FromSlash(merge.File))
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if string(old) == string(text) {
		return nil
	}
	f := tree.Change{Path: merge.File, Old: old, New: text, Mode: 0o644}
	if old != nil {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		f.Mode = info.Mode().Perm()
	}
	changes.Files = append(changes.Files, f)
	return nil
}
