package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/locking"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

func fetchCommand(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fetch [DIR...]",
		Short: "Fetch what is remote into the cache, and do nothing else",
		Long: `Plan the directories, so that everything remote that they need is in the cache, also the programs of functions that may run, and print
what that is. With it there, and a lock file, later runs need no network. Images of functions are left to podman or docker. Nothing is
executed.`,
		Example: "  krmflow fetch -R overlays\n  krmflow build overlays/prod --offline",
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.NoCache {
				return usageError(errors.New("--no-cache keeps nothing, and krmflow fetch does nothing else"))
			}
			_, err := fetchAll(a, cmd, args, engine.LockUse{Refetch: true}, true)
			return err
		},
	}
	a.RegisterRendering(cmd)
	return cmd
}

// fetchAll plans the directories, fetches the programs of functions if they are wanted, and prints what was fetched.
func fetchAll(a *cli.Invocation, cmd *cobra.Command, args []string, use engine.LockUse, programs bool) (*engine.Run, error) {
	if err := refuseVendor(a, cmd); err != nil {
		return nil, err
	}
	run, err := a.Plan(cmd, engine.Request{Args: args, Lock: use})
	if err != nil {
		return nil, err
	}
	plan := run.Plan()
	list := plan.Fetched()
	if programs {
		found, failed := render.Fetch(cmd.Context(), plan, run.Options())
		list, err = append(list, found...), failed
	}
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s %s  %s\n", f.Verb(), diag.OneLine(f.Reference), f.Version)
	}
	return run, errors.Join(a.Print(diag.Sanitise(b.String())), plan.Err(), err, a.StrictError())
}

// refuseVendor refuses --vendor for a command that fetches anew.
func refuseVendor(a *cli.Invocation, cmd *cobra.Command) error {
	if f := cmd.Flags().Lookup("vendor"); f.Changed && f.Value.String() != "" {
		return usageError(fmt.Errorf("%s takes nothing from a vendor folder: leave --vendor out", cmd.CommandPath()))
	}
	return nil
}

func vendorCommand(a *cli.Invocation) *cobra.Command {
	var dest string
	cmd := &cobra.Command{
		Use:   "vendor [DIR...]",
		Short: "Copy what is remote into a folder that can be committed",
		Long: `Plan the directories and copy what they refer to elsewhere into a folder: repositories at the commits, files and artifacts with the
digests that the lock file or the references have. Where the folder is, other commands take what layers refer to from there, without a
network and without a cache. It is as trusted as the tree that it is part of: catalogs and programs of functions never come from there.
Nothing is executed.`,
		Example: "  krmflow lock -R overlays && krmflow vendor -R overlays\n  krmflow build overlays/prod --offline",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if cmd.Flags().Changed("locked") && !a.Locked {
				return usageError(errors.New("krmflow vendor copies only what is locked: leave --locked=false out"))
			}
			seen := &locking.Seen{}
			run, err := fetchAll(a, cmd, args, engine.LockUse{Seen: seen, Refetch: true, Copy: true, Only: true}, false)
			if run == nil {
				return err
			}
			cache := run.Options().Sources.Cache
			defer func() { err = errors.Join(err, cache.Close()) }()
			if err != nil {
				return err
			}
			if _, err := os.Lstat(dest); errors.Is(err, fs.ErrNotExist) && !seen.Any() {
				return a.Print("nothing is remote: there is nothing to copy\n")
			}
			return cache.CopyUsed(dest)
		},
	}
	a.RegisterRendering(cmd)
	cmd.Flags().StringVarP(&dest, "output", "o", cli.VendorName, "the folder")
	return cmd
}
