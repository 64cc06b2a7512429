package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

func fetchCommand(a *app.App) *cobra.Command {
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
			a.Refetches = true
			return fetchAll(a, cmd, args, true)
		},
	}
	a.RegisterRendering(cmd)
	return cmd
}

// fetchAll plans the directories, fetches the programs of functions if they are wanted, and prints what was fetched.
func fetchAll(a *app.App, cmd *cobra.Command, args []string, programs bool) error {
	_, plan, err := a.PlanRoots(cmd, args)
	if err != nil {
		return err
	}
	list := plan.Fetched()
	if programs {
		found, failed := render.Fetch(cmd.Context(), plan, a.Opts)
		list, err = append(list, found...), failed
	}
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s %s  %s\n", f.Verb(), diag.OneLine(f.Reference), f.Version)
	}
	return errors.Join(a.Print(diag.Sanitise(b.String())), plan.Err(), err, a.StrictError())
}

func vendorCommand(a *app.App) *cobra.Command {
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
			a.Refetches, a.Copies, a.Locked = true, true, true
			defer func() {
				if s := a.Opts.Sources; s != nil && s.Cache != nil { // which are there when planning has begun
					err = errors.Join(err, s.Cache.Close())
				}
			}()
			if err := fetchAll(a, cmd, args, false); err != nil {
				return err
			}
			if _, err := os.Lstat(dest); errors.Is(err, fs.ErrNotExist) && !a.Seen.Any() {
				return a.Print("nothing is remote: there is nothing to copy\n")
			}
			return a.Opts.Sources.Cache.CopyUsed(dest)
		},
	}
	a.RegisterRendering(cmd)
	cmd.Flags().StringVarP(&dest, "output", "o", app.VendorName, "the folder")
	return cmd
}
