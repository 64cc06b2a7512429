package affected

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/review/inputs"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// command is the affected command with its flags.
type command struct {
	*cli.Invocation
	in     []string
	since  string
	files  bool
	really bool
	null   bool
	form   string

	tree     *revision.Tree // nil unless --since is used
	ids      *records.IDs   // of files in the repository of tree
	recorded recorded
	// objects and was are the GitOps objects among the roots now and in the revision.
	objects, was engine.Objects
	naming       inputs.Naming
	failed       error // errors of roots that --really could not render
}

// Command returns the affected command.
func Command(a *cli.Invocation) *cobra.Command {
	c := &command{Invocation: a}
	cmd := &cobra.Command{
		Use:   "affected --against REV | --files FILE... | -",
		Short: "Print the roots that a change can affect",
		Long: `Print the roots whose output a change can affect, one per line, sorted. All roots below the working directory, or below the directories of
--in, are examined. They are not planned if an earlier run recorded their inputs. Nothing is executed unless --really is set.

The changes are the differences between a revision and the work tree, including untracked files; or the files named as arguments or on standard input,
relative to the working directory, or to the top of the repository if no such file exists there. A root is affected if it reads a changed file,
looked for it, or lists its directory; krmflow deps prints these inputs. New roots are affected. Deleted roots are reported on stderr and in JSON.

--really renders both sides and omits the roots whose output is equal. The exit code is 0 even if no root is affected.`,
		Example: `  krmflow affected --against origin/main
  krmflow affected --against HEAD~1 --really -o json
  git diff --name-only --no-renames -z origin/main | krmflow affected -
  krmflow affected --against HEAD --in overlays -0 | xargs -0 -r krmflow validate`,
		RunE: c.run,
	}
	a.RegisterRendering(cmd)
	a.RegisterShard(cmd)
	fs := cmd.Flags()
	recursive := fs.Lookup("recursive")
	recursive.Usage, recursive.DefValue = "find roots below the directories; =false: the directories are roots", "true"
	_ = recursive.Value.Set("true") // a bool accepts "true"
	fs.StringArrayVar(&c.in, "in", nil, "find roots in this `DIR`; may be repeated (default: .)")
	fs.StringVar(&c.since, "against", "", "compare the work tree with `REV`: a branch, a tag or a commit")
	fs.StringVar(&c.since, "since", "", "the same as --against")
	_ = fs.MarkHidden("since") // fails only for flags that do not exist
	fs.BoolVar(&c.files, "files", false, "the arguments are names of changed files")
	fs.BoolVar(&c.really, "really", false, "render both sides and omit roots whose output does not change")
	fs.BoolVarP(&c.null, "null", "0", false, "end names with a zero byte instead of a newline")
	fs.StringVarP(&c.form, "output", "o", "text", "output `format`: text, or json with reasons")
	_ = cmd.MarkFlagDirname("in")
	return cmd
}

func (c *command) run(cmd *cobra.Command, args []string) error {
	if err := c.check(cmd, args); err != nil {
		return err
	}
	c.KeepGoing = true // a root that cannot be planned may still be affected
	e, err := c.Engine(cmd)
	if err != nil {
		return err
	}
	changes, err := c.changes(cmd, e, args)
	if err != nil {
		return err
	}
	if changes == nil {
		if _, err := c.there(); err != nil {
			return err
		}
		if !c.Quiet {
			c.Result = "no changes: no root is affected"
		}
		return c.write(nil)
	}
	if c.tree != nil {
		defer c.tree.Close()
	}
	c.recorded = newRecorded(e, changes)
	run, err := c.plan(cmd)
	if err != nil {
		return err
	}
	var found render.Roots
	if run != nil {
		found = run.Scope().Roots
	}
	all, err := c.all(cmd, found, run, changes)
	if err != nil {
		return err
	}
	if c.tree != nil && (c.really || c.form == "json") {
		if all, err = c.compare(cmd, run, all, changes); err != nil {
			return err
		}
	}
	if err := c.record(cmd, run); err != nil {
		return err
	}
	c.tell(all, len(found))
	if err = c.write(all); run == nil {
		return err
	}
	return errors.Join(err, c.failed, c.StrictError())
}

// write prints the roots.
func (c *command) write(all []Root) (err error) {
	var b bytes.Buffer
	if c.form == "json" {
		err = WriteJSON(&b, all)
	} else {
		err = WriteText(&b, all, c.null)
	}
	if err == nil {
		_, err = b.WriteTo(c.Stdout)
	}
	return err
}

// plan plans the existing roots, except those that are unaffected according to their records. The
// run is nil if no root exists now, which is not an error if the revision has some.
func (c *command) plan(cmd *cobra.Command) (*engine.Run, error) {
	in, err := c.there()
	if err != nil || len(in) < len(c.in) && len(in) == 0 {
		return nil, err
	}
	run, err := c.Plan(cmd, engine.Request{Args: in, Observe: true, Unseen: true, Reuse: c.recorded.unaffected})
	if c.tree != nil && diag.CodeOf(err) == diag.NoRoots {
		err = nil
	}
	return run, err
}

// record stores the inputs of the planned roots for later runs.
func (c *command) record(cmd *cobra.Command, run *engine.Run) error {
	if c.ids != nil {
		c.ids.Save()
	}
	if run == nil {
		return nil
	}
	for _, err := range run.Results(cmd.Context(), engine.Hooks{Only: func(string) bool { return false }}) {
		return err // nothing is rendered
	}
	return nil
}

// there returns the existing directories of --in. A directory that exists only in the revision
// is skipped: its roots are reported as deleted. A directory that exists on neither side is an
// error.
func (c *command) there() (dirs []string, err error) {
	for _, dir := range c.in {
		info, statErr := os.Stat(dir)
		switch {
		case c.tree != nil && statErr != nil && loaders.IsRemote(dir):
			return nil, &revision.RemoteError{Arg: dir, Tree: c.tree}
		case loaders.IsRemote(dir) || statErr == nil && info.IsDir() || dir == "": // the search for roots reports an empty name
			dirs = append(dirs, dir)
			continue
		case statErr == nil:
			return nil, diag.NotAFile.Errorf("--in %s is not a directory", diag.Redact(dir))
		}
		if c.tree != nil {
			name, err := c.tree.Name(dir)
			if err == nil {
				if was, err := fs.Stat(c.tree, name); err == nil && was.IsDir() {
					continue
				}
			}
		}
		return nil, diag.NoSuchFile.Errorf("--in %s: there is no such directory", diag.Redact(dir))
	}
	return dirs, nil
}

// check validates the flags and arguments.
func (c *command) check(cmd *cobra.Command, args []string) error {
	stdin := slices.Contains(args, "-")
	switch {
	case (cmd.Flags().Changed("since") || cmd.Flags().Changed("against")) && c.since == "":
		return options.UsageError(errors.New("--against must not be empty"))
	case slices.Contains(args, ""):
		return options.UsageError(errors.New("the name of a file must not be empty"))
	case c.form != "text" && c.form != "json":
		return options.UsageError(diag.FlagValue.Errorf("illegal value --output %s; legal values: text, json", diag.Redact(c.form)))
	case c.null && c.form == "json":
		return options.UsageError(errors.New("--null is for text"))
	case c.since != "" && (c.files || len(args) > 0):
		return options.UsageError(errors.New(
			"--against already names the changes: remove --files and the names; --in DIR selects where to find roots"))
	case c.since == "" && !c.files && !stdin:
		return options.UsageError(errors.New(
			"name the changes: --against REV compares with a revision, --files FILE... names files, - reads names from standard input"))
	case stdin && len(args) > 1:
		return options.UsageError(errors.New("- reads all names: remove the others; --in DIR selects where to find roots"))
	case c.files && len(args) == 0:
		return options.UsageError(errors.New("--files needs names of files, or - for standard input"))
	case c.really && c.since == "":
		return options.UsageError(errors.New("--really needs --against: it renders the revision"))
	}
	return nil
}

// changes returns the changes that the flags select, or nil for an empty list of names.
func (c *command) changes(cmd *cobra.Command, e *engine.Engine, args []string) (Changes, error) {
	if c.since != "" {
		dir := "."
		if len(c.in) > 0 {
			dir = c.in[0]
		}
		var err error
		if c.tree, err = revision.Open(cmd.Context(), dir, strings.TrimPrefix(c.since, revision.Prefix)); err != nil {
			return nil, err
		}
		c.ids = e.Objects(c.tree.Top())
		return Since(c.tree, c.ids), nil
	}
	if args[0] == "-" {
		list, err := io.ReadAll(c.Stdin)
		if err != nil {
			return nil, diag.NotReadable.Errorf("cannot read standard input: %w", err)
		}
		if args, err = ReadNames(list); err != nil || len(args) == 0 {
			return nil, err
		}
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, diag.NotReadable.Errorf("the working directory does not exist")
	}
	return Files(absolute(args, cwd)), nil
}

// absolute returns the paths that names can refer to: relative to cwd or, where that path does
// not exist, also relative to the top of the repository.
func absolute(names []string, cwd string) (paths []string) {
	top := repository(cwd)
	for _, name := range names {
		if filepath.IsAbs(name) {
			paths = append(paths, name)
			continue
		}
		path := filepath.Join(cwd, name)
		paths = append(paths, path)
		if _, err := os.Lstat(path); err != nil && top != "" && top != cwd {
			paths = append(paths, filepath.Join(top, name))
		}
	}
	return paths
}

// all returns the roots that the changes can affect, sorted.
func (c *command) all(cmd *cobra.Command, found render.Roots, run *engine.Run, changes Changes) (all []Root, err error) {
	if c.naming, err = c.names(run, found.Dirs()); err != nil {
		return nil, err
	}
	e, err := c.Engine(cmd)
	if err != nil {
		return nil, err
	}
	c.objects = e.GitOps(nil)
	before := map[string]bool{} // roots of the revision, by their current names
	if c.tree != nil {
		if before, err = c.before(cmd, found.Dirs()); err != nil {
			return nil, err
		}
	}
	var planned []inputs.Root
	claimed := map[string]bool{}
	if run != nil {
		planned = inputs.Planned(c.Invocation, run)
		for _, dir := range found.Dirs() {
			known := run.Known(dir)
			if known.Record != nil {
				planned = append(planned, inputs.Root{Dir: diag.Redact(dir)})
			}
			claimed[diag.Redact(dir)] = known.Claimed
		}
	}
	for _, r := range planned {
		root := Root{Dir: r.Dir, State: Changed, Failed: r.Failed, Reasons: Why(r, changes, c.naming)}
		if claimed[r.Dir] && len(root.Reasons) > 0 {
			return nil, diag.NotDeterministic.Errorf("%s: the cache says that the changes do not affect this root, but they do", r.Dir)
		}
		root.Reasons = append(root.Reasons, c.objectReasons(r.Dir, changes)...)
		switch {
		case c.tree != nil && !before[r.Dir]:
			if root.State, err = c.stateOfNew(r.Dir); err != nil {
				return nil, err
			}
		case c.tree == nil && r.Failed && len(root.Reasons) == 0:
			root.Reasons = []Reason{{r.Dir, "root", Unknown}} // its references may have had other names
		}
		if root.State != Changed || len(root.Reasons) > 0 {
			all = append(all, root)
		}
		delete(before, r.Dir)
	}
	for dir := range before {
		all = append(all, Root{Dir: dir, State: Deleted})
	}
	slices.SortFunc(all, func(a, b Root) int { return strings.Compare(a.Dir, b.Dir) })
	return all, nil
}

// objectReasons returns the reasons why a root that is a GitOps object is affected: its object
// differs or, without a revision to compare with, a file of its objects has changed.
func (c *command) objectReasons(root string, changes Changes) (all []Reason) {
	if c.tree != nil {
		if file, changed := c.objects.Change(c.was, root); changed {
			all = append(all, Reason{file, inputs.File, Changed})
		}
		return all
	}
	for _, file := range c.objects.Files(root) {
		path, err := filepath.Abs(file)
		if err != nil {
			continue
		}
		for _, change := range changes.Of(inputs.Input{Path: path, Kind: inputs.File}) {
			all = append(all, Reason{c.naming.Name(change.Path), inputs.File, change.How})
		}
	}
	return all
}

// stateOfNew returns the state of a root that the revision does not list. The state is
// [Unknown] if the revision does not record the directory, as in a submodule: the root may not
// be new.
func (c *command) stateOfNew(dir string) (string, error) {
	if c.objects.Has(dir) {
		return Added, nil
	}
	name, err := c.tree.Name(dir)
	if err != nil {
		return "", err
	}
	if _, err := c.tree.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Unknown, nil
	}
	return Added, nil
}

// names returns the naming for paths in the output.
func (c *command) names(run *engine.Run, dirs []string) (inputs.Naming, error) {
	if run != nil {
		return inputs.NamingOf(run.Scope().Plan.Cwd, dirs), nil
	}
	cwd, err := os.Getwd()
	if err == nil {
		cwd, err = filepath.EvalSymlinks(cwd)
	}
	return inputs.Naming{Dir: cwd}, err
}

// before returns the roots of the revision by their current names. A root that also exists in
// dirs keeps its name there.
func (c *command) before(cmd *cobra.Command, dirs []string) (map[string]bool, error) {
	names, _, err := c.Find(cmd, engine.Search{Args: c.in, Tree: c.tree})
	if err != nil {
		return nil, err
	}
	e, err := c.Engine(cmd)
	if err != nil {
		return nil, err
	}
	c.was = e.GitOps(c.tree)
	called := map[string]string{}
	for _, dir := range dirs {
		if name, err := c.objects.NameIn(c.tree, dir); err == nil {
			called[name] = diag.Redact(dir)
		}
	}
	before := map[string]bool{}
	for _, name := range names.Dirs() {
		dir, ok := called[name]
		if !ok && c.was.Has(name) {
			dir = name
		} else if !ok {
			dir = c.naming.Name(filepath.Join(c.tree.Top(), filepath.FromSlash(name)))
		}
		before[dir] = true
	}
	return before, nil
}

// tell sets the final line on stderr: the number of affected roots, and the deleted and failed
// ones, which text output does not mark.
func (c *command) tell(all []Root, roots int) {
	if c.Quiet {
		return
	}
	var gone, failed []string
	n := 0
	for _, r := range all {
		switch {
		case r.State == Deleted:
			gone = append(gone, inputs.Line(r.Dir))
			continue
		case r.Failed:
			failed = append(failed, inputs.Line(r.Dir))
		}
		n++
	}
	c.Result = fmt.Sprintf("%d of %s affected", n, diag.Count(roots, "root"))
	if len(gone) > 0 {
		c.Result += "; gone: " + diag.Some(gone)
	}
	if len(failed) > 0 {
		c.Result += "; with mistakes: " + diag.Some(failed)
	}
}

// repository returns the top directory of the repository that contains dir, or "".
func repository(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
