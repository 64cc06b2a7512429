package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/search"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine/shard"
	"github.com/krmflow/krmflow/planner/roots"
	"github.com/spf13/cobra"
)

// RootFlags select the directories to render.
type RootFlags struct {
	// Recursive finds all roots at or below the directories.
	Recursive bool
	// KeepGoing continues with the other roots if one fails.
	KeepGoing bool

	selection roots.Selection
	shard     shard.Shard
}

// RegisterRendering adds the flags shared by all commands that plan or render several roots.
func (a *Invocation) RegisterRendering(cmd *cobra.Command) {
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	a.RegisterRoots(cmd, "find every Kustomization and Composition at or below the directories")
	a.gitops.Mode = search.Auto
	cmd.Flags().Var((*gitopsMode)(&a.gitops.Mode), "gitops",
		"with -R, also render objects of `CONTROLLER`: argocd, flux, all, auto or none")
	cmd.Flags().BoolVar(&a.KeepGoing, "keep-going", false, "continue with the other roots after a failure")
}

// RegisterRoots adds the flags that select directories to a command. The argument recursive is
// the help of -R.
func (f *RootFlags) RegisterRoots(cmd *cobra.Command, recursive string) {
	fs := cmd.Flags()
	fs.BoolVarP(&f.Recursive, "recursive", "R", false, recursive)
	fs.Var((*leaves)(&f.selection), "leaves", "with -R, only roots that no other layer uses; =`PATTERN` keeps these bases")
	fs.Lookup("leaves").NoOptDefVal = "true"
	fs.Var((*options.Repeated)(&f.selection.Only), "only", "with -R, only roots at or below this `PATH`; * and ** match; repeatable")
	fs.Var((*options.Repeated)(&f.selection.Exclude), "exclude", "with -R, no roots at or below this `PATH`; * and ** match; repeatable")
	fs.BoolVar(&f.selection.Hidden, "hidden", false, "with -R, also search directories whose name starts with a dot")
}

// RegisterShard adds the flag that distributes the roots.
func (f *RootFlags) RegisterShard(cmd *cobra.Command) {
	cmd.Flags().Var(&f.shard, "shard", "use only the roots of shard `I/N`, such as 1/4; see docs/scale.md")
}

// gitopsMode is the value of --gitops.
type gitopsMode search.Mode

// String returns the value of the flag.
func (m *gitopsMode) String() string { return string(*m) }

// Type returns the name of the value in help.
func (*gitopsMode) Type() string { return "string" }

// Set sets the value of the flag.
func (m *gitopsMode) Set(value string) error {
	if !slices.Contains(search.Modes, search.Mode(value)) {
		return fmt.Errorf("must be argocd, flux, all, auto or none, not %q", value)
	}
	*m = gitopsMode(value)
	return nil
}

// tracking is the value of --tracking.
type tracking gitops.Tracking

// String returns the value of the flag.
func (t *tracking) String() string { return string(*t) }

// Type returns the name of the value in help.
func (*tracking) Type() string { return "string" }

// Set sets the value of the flag.
func (t *tracking) Set(value string) error {
	switch gitops.Tracking(value) {
	case gitops.TrackNone, gitops.Annotation, gitops.Label, gitops.Both:
		*t = tracking(value)
		return nil
	}
	return fmt.Errorf("must be annotation, label or annotation+label, not %q", value)
}

// sourceDirs is the value of --source.
type sourceDirs struct{ dirs *map[string]string }

// String returns the value of the flag.
func (s *sourceDirs) String() string {
	if s.dirs == nil {
		return ""
	}
	var list []string
	for _, url := range slices.Sorted(maps.Keys(*s.dirs)) {
		list = append(list, url+"="+(*s.dirs)[url])
	}
	return strings.Join(list, ",")
}

// Type returns the name of the value in help.
func (*sourceDirs) Type() string { return "string" }

// Set adds a repository.
func (s *sourceDirs) Set(value string) error {
	i := strings.LastIndexByte(value, '=')
	if i <= 0 || i == len(value)-1 {
		return fmt.Errorf("must be URL=DIR, not %q", value)
	}
	if *s.dirs == nil {
		*s.dirs = map[string]string{}
	}
	(*s.dirs)[value[:i]] = value[i+1:]
	return nil
}

// leaves is the value of --leaves: true, false, or patterns. Roots that match a pattern are
// selected even if other layers use them.
type leaves roots.Selection

// String returns the value of the flag.
func (l *leaves) String() string {
	if l.Leaves && len(l.Keep) > 0 {
		return strings.Join(l.Keep, ",")
	}
	return strconv.FormatBool(l.Leaves)
}

// Type returns the name of the value in help.
func (*leaves) Type() string { return "bool" }

// Set sets the value of the flag.
func (l *leaves) Set(value string) error {
	if on, err := strconv.ParseBool(value); err == nil {
		l.Leaves, l.Keep = on, nil
		return nil
	}
	if value == "" {
		return errors.New("the pattern must not be empty")
	}
	l.Leaves, l.Keep = true, append(l.Keep, strings.Split(value, ",")...)
	return nil
}

// Filtered reports whether flags exclude some of the roots that -R finds.
func (f *RootFlags) Filtered() bool {
	return f.selection.Leaves || len(f.selection.Only)+len(f.selection.Exclude) > 0
}

// checkSelection returns an error if a flag that filters the roots of -R is set without -R.
func (f *RootFlags) checkSelection(cmd *cobra.Command) error {
	if f.Recursive {
		return nil
	}
	for _, name := range []string{"leaves", "only", "exclude", "hidden", "gitops"} {
		if cmd.Flags().Changed(name) {
			return options.UsageError(fmt.Errorf("--%s is about the roots that -R finds: add -R", name))
		}
	}
	return nil
}

// checkArgs returns an error for an empty directory name.
func checkArgs(args []string) error {
	for i, dir := range args {
		if dir == "" {
			return options.UsageError(fmt.Errorf("argument %d: the directory must not be empty", i+1))
		}
	}
	return nil
}
