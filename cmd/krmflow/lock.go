package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
)

// readLock reads a lock file. Unless it must exist, there may be none.
func readLock(path string, must bool) (*lock.File, error) {
	data, err := loaders.ReadFile(path, yaml.MaxFile)
	var missing *loaders.NotFoundError
	switch {
	case errors.As(err, &missing) && !must:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("--lock-file: %w", err)
	}
	return lock.Parse(&yaml.Source{File: path, Data: data})
}

// seen collects what is fetched.
type seen struct {
	mu      sync.Mutex
	entries []lock.Entry
}

func (s *seen) add(e lock.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e)
}

// warnUnlocked says what has no entry, if there is a lock, and no version of its own.
func (a *app) warnUnlocked(file *lock.File) {
	if file == nil || a.learns {
		return
	}
	now := file.Without(nil)
	for _, c := range now.Learn(a.seen.entries, lock.Learning{}) {
		if e, _ := now.Get(c.Name); !e.Fixed() {
			a.log.warn(planner.Warning{Msg: fmt.Sprintf("%s is not in %s; it is %s now", c.Name, file.Path, c.New), Hints: []string{"krmflow lock adds it"}})
		}
	}
}

// locking is the command lock with the flags that are its alone.
type locking struct {
	*app
	update []string
	prune  bool
	check  bool
}

// everything is the value of --update without one.
const everything = "*"

func lockCommand(a *app) *cobra.Command {
	c := &locking{app: a}
	cmd := &cobra.Command{
		Use:   "lock [DIR...]",
		Short: "Write down which commits and digests remote references stand for",
		Long: `Plan the directories and write the lock file: for each remote reference the commit, or the digest of what was fetched. Commands that
plan or render take that, and exit with 4 if anything else comes. Nothing else writes to the file. Entries that exist stay as they are:
--update asks again for all that the directories use, --update=NAME for some. Entries that the directories do not use stay, too, as others may
use them. Nothing is executed.`,
		Example: "  krmflow lock -R overlays\n  krmflow lock -R overlays --update=https://github.com/org/bases\n  krmflow lock -R overlays --check",
		RunE:    c.run,
	}
	a.registerRendering(cmd)
	fs := cmd.Flags()
	fs.Var((*repeated)(&c.update), "update", "ask again what this reference stands for (with or without ?ref=), or all that the directories use; may be repeated")
	fs.Lookup("update").NoOptDefVal = everything
	fs.BoolVar(&c.prune, "prune", false, "remove entries that the directories do not use")
	fs.BoolVar(&c.check, "check", false, "write nothing, exit with 10 if the lock file would change")
	return cmd
}

func (c *locking) run(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("locked") {
		return usageError(errors.New("--locked takes nothing that is not locked, and krmflow lock adds it: leave one of them out"))
	}
	roots, err := c.roots(cmd.Context(), args)
	if err != nil {
		return err
	}
	if dir := outside(roots.Dirs()); dir != "" && !cmd.Flags().Changed("lock-file") {
		return usageError(fmt.Errorf("%s is not below the working directory: say with --lock-file which lock file is its", dir))
	}
	before, err := readLock(c.lockFile, false)
	if err == nil {
		err = c.checkNames(before)
	}
	if err != nil {
		return err
	}
	c.learns, c.refetches, c.again = true, true, c.updates
	plan, err := c.plan(cmd, roots.Dirs())
	if err == nil {
		err = errors.Join(plan.Err(), c.strictError())
	}
	if err != nil {
		return err
	}
	if !c.check {
		return c.write()
	}
	after := &lock.File{}
	if before != nil {
		after = before
	}
	changes := c.learn(after)
	err = c.report(after, changes)
	if err == nil && len(changes) > 0 {
		err = &exitError{exitChanged, fmt.Errorf("%s would change", c.lockFile)}
	}
	return err
}

// learn puts what was found into the lock.
func (c *locking) learn(file *lock.File) []lock.Change {
	return file.Learn(c.seen.entries, lock.Learning{Update: c.updates, Drop: c.goes})
}

// write puts what was found into the lock file as it is then: another run may have written to it.
func (c *locking) write() error {
	if _, err := os.Lstat(c.lockFile); errors.Is(err, fs.ErrNotExist) && len(c.seen.entries) == 0 {
		return c.print("nothing is remote: there is nothing to lock\n")
	}
	if err := output.CheckFile(c.lockFile); err != nil {
		return err
	}
	file := &lock.File{}
	var changes []lock.Change
	err := output.EditFile(c.lockFile, 0o666, func(old []byte) ([]byte, error) {
		if old != nil {
			var err error
			if file, err = lock.Parse(&yaml.Source{File: c.lockFile, Data: old}); err != nil {
				return nil, err
			}
		}
		if changes = c.learn(file); old != nil && len(changes) == 0 {
			return old, nil
		}
		return file.Text(), nil
	})
	if err != nil {
		return err
	}
	return c.report(file, changes)
}

// report prints what has changed, and how much has not.
func (c *locking) report(file *lock.File, changes []lock.Change) error {
	var b strings.Builder
	for _, change := range changes {
		fmt.Fprintln(&b, change)
	}
	unused := file.Without(func(e lock.Entry) bool {
		return slices.ContainsFunc(c.seen.entries, func(s lock.Entry) bool { return s.Name == e.Name })
	})
	fmt.Fprintf(&b, "%s: %d locked, %d changed", c.lockFile, len(file.Entries()), len(changes))
	if n := len(unused.Entries()); n > 0 {
		fmt.Fprintf(&b, ", %d not used by these directories (--prune removes them)", n)
	}
	return c.print(diag.Sanitise(b.String() + "\n"))
}

// updates reports whether an entry is to move.
func (c *locking) updates(e lock.Entry) bool {
	return slices.ContainsFunc(c.update, func(name string) bool { return name == everything || e.Is(name) })
}

// goes reports whether an entry is to go that the directories do not use.
func (c *locking) goes(e lock.Entry) bool { return c.prune || slices.ContainsFunc(c.update, e.Is) }

// checkNames refuses names that mean no entry.
func (c *locking) checkNames(file *lock.File) error {
	var names []string
	for _, e := range file.Entries() {
		names = append(names, e.Name)
	}
	for _, name := range c.update {
		if name != everything && !slices.ContainsFunc(file.Entries(), func(e lock.Entry) bool { return e.Is(name) }) {
			e := diag.Errorf(diag.Pos{}, "", "--update: %s has no entry %q", c.lockFile, diag.Redact(name))
			e.Hints = diag.DidYouMean(name, names)
			return usageError(e)
		}
	}
	return nil
}
