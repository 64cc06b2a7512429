// Package lock implements the lock command.
package lock

import (
	"errors"
	"fmt"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/lockfile"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
)

// warnUnknown warns about functions that may not run here. Their dependencies are unknown and
// therefore not locked.
func warnUnknown(a *cli.Invocation, plan *planner.Plan) {
	for _, d := range plan.Denied {
		if dec := plan.Decisions[d.Node]; dec != nil && dec.Entry == nil {
			a.Log.Warn(planner.Warning{Msg: fmt.Sprintf("the dependencies of %s are not locked: the function may not run here", d.Node),
				Hints: []string{"krmflow plan shows why"}, Code: diag.Denied})
		}
	}
}

// unlockable returns an error for content that cannot be locked: content that does not match
// its digest, and unavailable content of functions that may run here. The result is nil if
// everything can be locked.
func unlockable(plan *planner.Plan) error {
	wrong := slices.DeleteFunc(slices.Clone(plan.Denied), func(d planner.Denial) bool {
		dec := plan.Decisions[d.Node]
		return d.Reason != trust.Mismatch && (dec == nil || !dec.Allowed)
	})
	return render.Denied(&planner.Plan{Denied: wrong})
}

// everything is the value of --update without an argument.
const everything = "*"

// Command returns the lock command.
func Command(a *cli.Invocation) *cobra.Command {
	var u lockfile.Update
	var check bool
	cmd := &cobra.Command{
		Use:   "lock [DIR...]",
		Short: "Pin remote references to commits and digests",
		Long: `Plan the directories and write the lock file: the commit or content digest of each remote reference, and the digests of the catalogs, programs (for all
platforms) and images that functions need. Commands that plan or render use these versions, and exit with 4 if they get anything else. No other
command writes the lock file. Nothing is executed.

Existing entries stay. --update resolves all references of the directories again, --update=NAME only some. Entries that the directories do not
use also stay, because other directories may use them; --prune removes them.`,
		Example: "  krmflow lock -R overlays\n  krmflow lock -R overlays --update=https://github.com/org/bases\n  krmflow lock -R overlays --check",
		RunE: func(cmd *cobra.Command, args []string) error {
			u.All = slices.Contains(u.Names, everything)
			u.Names = slices.DeleteFunc(u.Names, func(name string) bool { return name == everything })
			return writeLock(a, cmd, args, u, check)
		},
	}
	a.RegisterRendering(cmd)
	fs := cmd.Flags()
	fs.Var((*options.Repeated)(&u.Names), "update", "resolve this `reference` again, or all of them; may be repeated")
	fs.Lookup("update").NoOptDefVal = everything
	fs.BoolVar(&u.Prune, "prune", false, "remove entries that the directories do not use")
	fs.BoolVar(&check, "check", false, "write nothing; exit with 10 if the lock file would change")
	return cmd
}

// writeLock plans the directories and writes the versions of remote references to the lock
// file. With check set it only reports the changes.
func writeLock(a *cli.Invocation, cmd *cobra.Command, args []string, u lockfile.Update, check bool) error {
	if cmd.Flags().Changed("locked") {
		return options.UsageError(errors.New("krmflow lock adds entries to the lock file, which --locked forbids: leave out --locked"))
	}
	if a.LockFile == "" {
		return options.UsageError(errors.New("--lock-file must name the file to write"))
	}
	if err := a.RefuseVendor(cmd); err != nil {
		return err
	}
	roots, _, err := a.Find(cmd, engine.Search{Args: args})
	if err != nil {
		return err
	}
	if dir := lockfile.Outside(roots.Dirs()); dir != "" && !cmd.Flags().Changed("lock-file") {
		return options.UsageError(fmt.Errorf("%s is not below the working directory: name its lock file with --lock-file", dir))
	}
	file, err := lockfile.Read(a.LockFile, false)
	if err != nil {
		return err
	}
	if err := u.Check(file); err != nil {
		return options.UsageError(diag.Errorf(diag.Pos{}, "", "--update: %w", err))
	}
	seen := &lockfile.Seen{}
	run, err := a.Plan(cmd, engine.Request{Roots: roots, Lock: engine.LockUse{Seen: seen, Learn: true, Refetch: true, Again: u.Moves}})
	if err == nil {
		warnUnknown(a, run.Plan())
		err = errors.Join(run.Plan().Err(), seen.Ambiguous(), unlockable(run.Plan()), a.StrictError())
	}
	if err != nil {
		return err
	}
	var changes []lock.Change
	if check {
		if file == nil {
			file = &lock.File{Path: a.LockFile}
		}
		changes, err = u.Learn(file, seen)
	} else {
		file, changes, err = u.Write(a.LockFile, seen)
	}
	if err != nil {
		return err
	}
	err = a.Print(diag.Sanitise(seen.Report(file, changes)))
	if err == nil && check && len(changes) > 0 {
		err = &exit.Error{Code: exit.Changed, Err: fmt.Errorf("%s would change", a.LockFile)}
	}
	return err
}
