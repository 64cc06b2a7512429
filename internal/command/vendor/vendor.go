// Package vendor implements the vendor command.
package vendor

import (
	"errors"
	"io/fs"
	"os"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/command/fetch"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/lockfile"
	"github.com/spf13/cobra"
)

// Command returns the vendor command.
func Command(a *cli.Invocation) *cobra.Command {
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
				return options.UsageError(errors.New("krmflow vendor copies only what is locked: leave --locked=false out"))
			}
			seen := &lockfile.Seen{}
			run, err := fetch.All(a, cmd, args, engine.LockUse{Seen: seen, Refetch: true, Copy: true, Only: true}, false)
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
	cmd.Flags().StringVarP(&dest, "output", "o", cli.VendorName, "`DIR` to write")
	return cmd
}
