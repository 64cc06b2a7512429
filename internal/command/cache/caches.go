// Package cache implements the cache commands, which show, verify and shrink the user's cache.
package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/spf13/cobra"
)

// Command returns the cache command with its subcommands.
func Command(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Show, verify and clean the cache",
		Long: `The cache holds fetched content and results of earlier runs, each file under its digest. All of it can be fetched or computed again. These commands need
no tree and are safe while other runs use the cache.`,
	}
	cmd.AddCommand(usageCommand(a), verifyCommand(a), trimCommand(a), cleanCommand(a), folderCommand(a))
	for _, c := range cmd.Commands() {
		c.Args = options.AtMost(0)
		a.RegisterCache(c)
	}
	return cmd
}

// existing opens the cache that the flags name. It returns nil without an error if the cache
// does not exist.
func existing(a *cli.Invocation) (*cache.Cache, error) {
	dir, err := a.Fetching().CacheFolder()
	if err != nil {
		return nil, diag.CacheFolder.Of(err)
	}
	c, err := cache.Existing(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c, diag.CacheFolder.Of(err)
}

func folderCommand(a *cli.Invocation) *cobra.Command {
	return &cobra.Command{
		Use:     "dir",
		Short:   "Print the path of the cache",
		Example: "  krmflow cache dir",
		RunE: func(*cobra.Command, []string) error {
			dir, err := a.Fetching().CacheFolder()
			if err != nil {
				return diag.CacheFolder.Of(err)
			}
			return a.Print(diag.Sanitise(dir) + "\n")
		},
	}
}

// A report is the output of krmflow cache du -o json.
type report struct {
	Folder string        `json:"folder"`
	Files  int           `json:"files"`
	Bytes  int64         `json:"bytes"`
	Max    int64         `json:"max"`
	Kinds  []cache.Usage `json:"kinds"`
}

func usageCommand(a *cli.Invocation) *cobra.Command {
	var asJSON bool
	var form string
	cmd := &cobra.Command{
		Use:   "du",
		Short: "Print the content and size of the cache",
		Long: `Print the number of files, the size and the times of use for each kind of content. Blobs are fetched files, trees are repositories and archives, entries
map names to them, and kept/… are results of earlier runs. Times are accurate to an hour; sizes are disk usage.`,
		Example: "  krmflow cache du\n  krmflow cache du -o json",
		RunE: func(*cobra.Command, []string) error {
			if form != "text" && form != "json" {
				return options.UsageError(diag.FlagValue.Errorf("illegal value --output %s; legal values: text, json", diag.Redact(form)))
			}
			dir, err := a.Fetching().CacheFolder()
			if err != nil {
				return diag.CacheFolder.Of(err)
			}
			r := report{Folder: dir, Max: a.CacheMax(), Kinds: []cache.Usage{}}
			c, err := existing(a)
			if err == nil && c != nil {
				r.Kinds, err = c.Usage()
			}
			if err != nil {
				return err
			}
			for _, u := range r.Kinds {
				r.Files, r.Bytes = r.Files+u.Files, r.Bytes+u.Bytes
			}
			if asJSON || form == "json" {
				text, err := json.MarshalIndent(r, "", "  ")
				return errors.Join(err, a.Print(string(text)+"\n"))
			}
			return a.Print(r.text())
		},
	}
	cmd.Flags().StringVarP(&form, "output", "o", "text", "output `format`: text or json")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as -o json")
	_ = cmd.Flags().MarkHidden("json") // fails only for flags that do not exist
	return cmd
}

func (r report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s, at most %s\n", diag.Sanitise(r.Folder), size(r.Bytes), diag.Count(r.Files, "file"), size(r.Max))
	if len(r.Kinds) == 0 {
		return b.String()
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tFILES\tSIZE\tOLDEST USE\tLAST USE")
	for _, u := range r.Kinds {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", diag.Sanitise(u.Kind), u.Files, size(u.Bytes), u.Oldest.Format(time.DateTime),
			u.Latest.Format(time.DateTime))
	}
	w.Flush()
	return b.String()
}

// size formats a number of bytes with a binary unit and at most one decimal place.
func size(n int64) string {
	f, unit := float64(n), "KiB"
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if f /= 1024; f < 1000 {
			break
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") + " " + unit
}

func verifyCommand(a *cli.Invocation) *cobra.Command {
	var dryRun, roots bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify every file of the cache and remove damaged ones",
		Long: `Hash every file and compare the result with its name or its recorded digest. Damaged files are printed and removed, and the exit code is 1. A run
never uses a damaged file: it fetches or computes the content again.

--roots also reads the recorded inputs of roots. A run assumes that a file with unchanged size and times is unchanged, but a program that writes through
a shared memory map can change a file without a trace. Such files are printed, and their roots are rendered again.`,
		Example: "  krmflow cache verify\n  krmflow cache verify --dry-run\n  krmflow cache verify --roots",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := existing(a)
			if err != nil {
				return err
			}
			if c == nil {
				return a.Print(verified(0, 0, roots))
			}
			files, err := verifyFiles(cmd.Context(), a, c, dryRun)
			n := 0
			if roots && (err == nil || diag.CodeOf(err) == diag.CacheDamaged) {
				var wrong error
				n, wrong = verifyRoots(cmd.Context(), a, c, dryRun)
				err = errors.Join(err, wrong)
			}
			if err != nil {
				return err
			}
			return a.Print(verified(files, n, roots))
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "remove nothing")
	cmd.Flags().BoolVar(&roots, "roots", false, "also verify the recorded inputs of roots")
	return cmd
}

func verified(files, roots int, both bool) string {
	text := diag.Count(files, "file")
	if both {
		text += " and the inputs of " + diag.Count(roots, "root")
	}
	return text + " verified\n"
}

// verifyFiles verifies the files of the cache and returns their number.
func verifyFiles(ctx context.Context, a *cli.Invocation, c *cache.Cache, dryRun bool) (all int, err error) {
	damaged := 0
	all, err = c.Verify(ctx, dryRun, func(path string, why error) {
		damaged++
		_ = a.Print(diag.Sanitise(fmt.Sprintf("%s: %v\n", path, why)))
	})
	if err != nil || damaged == 0 {
		return all, err
	}
	return all, diag.CacheDamaged.Errorf("damaged and %s: %d of %s in the cache", done("removed", dryRun), damaged, diag.Count(all, "file"))
}

// verifyRoots verifies the inputs of remembered roots and returns the number of roots.
func verifyRoots(ctx context.Context, a *cli.Invocation, c *cache.Cache, dryRun bool) (all int, err error) {
	changed := 0
	all, err = records.VerifyRoots(ctx, c, dryRun, func(path string) {
		changed++
		_ = a.Print(diag.Sanitise(path) + ": its content has changed, its size and times have not\n")
	})
	if err != nil || changed == 0 {
		return all, err
	}
	return all, diag.CacheDamaged.Errorf("changed unnoticed: %s; the roots rendered from them are %s", diag.Count(changed, "file"),
		done("forgotten", dryRun))
}

func done(what string, dryRun bool) string {
	if dryRun {
		return "not " + what
	}
	return what
}
