// Package caches has the commands about the cache of the user: what is in it, whether it is whole, and how it gets smaller.
package caches

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/spf13/cobra"
)

// Command returns the command with all of them below.
func Command(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Show, verify and empty the cache",
		Long: `The cache has what was fetched and what earlier runs have made, each file by a digest: all of it can be had again. These commands need no
tree, and any of them can be used while other runs use the cache.`,
	}
	cmd.AddCommand(usageCommand(a), verifyCommand(a), trimCommand(a), cleanCommand(a), folderCommand(a))
	for _, c := range cmd.Commands() {
		c.Args = options.AtMost(0)
		a.RegisterCache(c)
	}
	return cmd
}

// existing opens the cache that the flags name. It is nil if there is none, which the user is told.
func existing(a *app.App) (*cache.Cache, error) {
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

func folderCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "dir",
		Short:   "Print the folder of the cache",
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

// A report is what krmflow cache du --json prints.
type report struct {
	Folder string        `json:"folder"`
	Files  int           `json:"files"`
	Bytes  int64         `json:"bytes"`
	Max    int64         `json:"max"`
	Kinds  []cache.Usage `json:"kinds"`
}

func usageCommand(a *app.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "du",
		Short: "Print what is in the cache, and how much it is",
		Long: `Print files and bytes of each kind of content, and when it was used: blobs are files that were fetched, trees are repositories and archives,
entries say which of them a name stands for, and kept/… is what earlier runs have made. Times are right to an hour, bytes are those of
a disk.`,
		Example: "  krmflow cache du\n  krmflow cache du --json",
		RunE: func(*cobra.Command, []string) error {
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
			if asJSON {
				text, err := json.MarshalIndent(r, "", "  ")
				return errors.Join(err, a.Print(string(text)+"\n"))
			}
			return a.Print(r.text())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
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
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", diag.Sanitise(u.Kind), u.Files, size(u.Bytes), u.Oldest.Format(time.DateTime), u.Latest.Format(time.DateTime))
	}
	w.Flush()
	return b.String()
}

// size shows bytes with a unit and one digit more than the point.
func size(n int64) string {
	f, unit := float64(n), "KiB"
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if f /= 1024; f < 1000 {
			break
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") + " " + unit
}

func verifyCommand(a *app.App) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every file of the cache, and remove what is damaged",
		Long: `Hash every file and compare that with its name, or with what it says. A file that is damaged is never used: a run that needs it fetches or
makes it again. Here it is printed and removed. The exit code is 1 if there was one.`,
		Example: "  krmflow cache verify\n  krmflow cache verify --dry-run",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := existing(a)
			if err != nil {
				return err
			}
			all, damaged := 0, 0
			if c != nil {
				all, err = c.Verify(cmd.Context(), dryRun, func(path string, why error) {
					damaged++
					_ = a.Print(diag.Sanitise(fmt.Sprintf("%s: %v\n", path, why)))
				})
			}
			if err != nil {
				return err
			}
			if damaged > 0 {
				done := "removed"
				if dryRun {
					done = "not removed"
				}
				return diag.CacheDamaged.Errorf("damaged and %s: %d of %s in the cache", done, damaged, diag.Count(all, "file"))
			}
			return a.Print(diag.Count(all, "file") + " verified\n")
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "remove nothing")
	return cmd
}
