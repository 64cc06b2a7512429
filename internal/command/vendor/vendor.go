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
		Short: "Copy remote content into a folder to commit",
		Long: `Plan the directories and copy all remote content of their layers into a folder: repositories at their commits, files and artifacts with the digests of
the lock file or the references. Where the folder exists, other commands read remote layers from it, without network and cache.

The folder is as trusted as the tree around it, so catalogs and function programs are never read from it. Nothing is executed.`,
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
			cache := run.Scope().Sources.Cache
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
