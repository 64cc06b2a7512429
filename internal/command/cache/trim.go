package cache

import (
	"errors"
	"strings"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/spf13/cobra"
)

func trimCommand(a *cli.Invocation) *cobra.Command {
	var most options.Size
	t := cache.Trim{Max: -1}
	cmd := &cobra.Command{
		Use:   "trim",
		Short: "Remove the least recently used content of the cache",
		Long: `Remove the least recently used content until the cache has the size of --max, by default that of --cache-max. --older also removes content that was
not used for this time, whatever the size. Content that was fetched or used in the last two hours stays, because running commands may need it;
krmflow cache clean removes it.`,
		Example: "  krmflow cache trim --max 1GiB\n  krmflow cache trim --older 720h --dry-run",
		RunE: func(cmd *cobra.Command, _ []string) error {
			older, max := cmd.Flags().Changed("older"), cmd.Flags().Changed("max")
			switch {
			case max:
				t.Max = int64(most)
			case !older:
				t.Max = a.CacheMax()
			}
			if older && t.Older <= 0 {
				return options.UsageError(errors.New("--older must be more than 0"))
			}
			c, err := existing(a)
			if err != nil {
				return err
			}
			var done cache.Trimmed
			if c != nil {
				done, err = c.Trim(t)
			}
			return errors.Join(a.Print(trimmed(done, t.DryRun)), err)
		},
	}
	cmd.Flags().Var(&most, "max", "target size of the cache (default: --cache-max)")
	cmd.Flags().DurationVar(&t.Older, "older", 0*time.Second, "remove entries that were not used for this long")
	cmd.Flags().BoolVar(&t.DryRun, "dry-run", false, "remove nothing; print what would be removed")
	return cmd
}

func cleanCommand(a *cli.Invocation) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove the whole content of the cache",
		Long: `Remove the content of the cache. While other runs are fetching, content that was fetched or used in the last two hours stays, so that they can continue.
A folder that is not a krmflow cache is refused.`,
		Example: "  krmflow cache clean",
		RunE: func(*cobra.Command, []string) error {
			c, err := existing(a)
			var done cache.Trimmed
			if err == nil && c != nil {
				done, err = c.Clean(dryRun)
			}
			if err != nil {
				return err
			}
			return a.Print(trimmed(done, dryRun))
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "remove nothing; print what would be removed")
	return cmd
}

func trimmed(done cache.Trimmed, dryRun bool) string {
	var b strings.Builder
	verb := "removed "
	if dryRun {
		verb = "would remove "
	}
	b.WriteString(verb + amount(done.Removed) + "; " + amount(done.Left))
	if done.Left.Files == 1 {
		b.WriteString(" stays")
	} else {
		b.WriteString(" stay")
	}
	if done.InUse.Files > 0 {
		b.WriteString(", of which " + amount(done.InUse) + " may be in use")
	}
	return b.String() + "\n"
}

func amount(u cache.Usage) string { return diag.Count(u.Files, "file") + " (" + size(u.Bytes) + ")" }
