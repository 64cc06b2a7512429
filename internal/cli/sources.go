package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// VendorName is the default name of the folder that krmflow vendor writes.
const VendorName = "krmflow-vendor"

// SourceFlags control how remote content is fetched.
type SourceFlags struct {
	offline, allowHTTP bool
	cacheDir           string
	cacheApart         bool // cacheDir was set by a setting
	cacheMax           options.Size
	fetchTimeout       time.Duration
	vendor             string
	// NoCache disables the cache: nothing is stored in it or read from it.
	NoCache bool
	// MaxFetch is the maximum size in bytes of a fetched file or archive.
	MaxFetch int64
	// LockFile is the path of the lock file. Locked makes fetching content that is not pinned
	// an error: see --locked.
	LockFile string
	Locked   bool
}

// Register adds the flags that control fetching to a command.
func (f *SourceFlags) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.offline, "offline", false, "fetch nothing: what is remote comes from the cache, or is an error")
	fs.DurationVar(&f.fetchTimeout, "fetch-timeout", 30*time.Second, "how long one fetch may take")
	fs.Int64Var(&f.MaxFetch, "max-fetch-bytes", 64<<20, "bytes of a file or an archive that is fetched")
	fs.BoolVar(&f.allowHTTP, "allow-http", false, "fetch over http what is not named by a digest or a commit, too")
	f.RegisterCache(cmd)
	fs.BoolVar(&f.NoCache, "no-cache", false, "keep nothing of what is fetched, and no answers of functions, and use nothing that was kept")
}

// RegisterCache adds the flags that select the cache to a command.
func (f *SourceFlags) RegisterCache(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.cacheDir, "cache-dir", "", "folder of the cache (default: krmflow in the user's cache folder)")
	f.cacheMax = cache.DefaultMax
	fs.Var(&f.cacheMax, "cache-max", "size of the cache: what was not used for longest goes when it is larger")
}

// CacheMax returns the maximum size of the cache in bytes.
func (f *SourceFlags) CacheMax() int64 { return int64(f.cacheMax) }

// registerLayers adds all of the flags to a command that plans layers.
func (f *SourceFlags) registerLayers(cmd *cobra.Command) {
	f.Register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.LockFile, "lock-file", lock.Name, "file with the commits and digests that remote references must have: see krmflow lock")
	fs.StringVar(&f.vendor, "vendor", VendorName, "folder that krmflow vendor wrote: what layers refer to comes from there alone; empty for none")
	fs.BoolVar(&f.Locked, "locked", false, "fetch nothing that has neither a digest of its own nor one in the lock file (default: true with CI=true and a lock file)")
}

func (f *SourceFlags) Validate() error {
	switch {
	case f.fetchTimeout <= 0:
		return options.UsageError(errors.New("--fetch-timeout must be more than 0"))
	case f.MaxFetch <= 0:
		return options.UsageError(errors.New("--max-fetch-bytes must be more than 0"))
	case f.cacheMax <= 0:
		return options.UsageError(errors.New("--cache-max must be more than 0; --no-cache does without a cache"))
	case f.offline && f.NoCache:
		return options.UsageError(errors.New("--offline takes everything from the cache, which --no-cache leaves out"))
	}
	return nil
}

// Fetching converts the flags to options for fetching. The lock file and the vendor folder are
// not included: they apply only to references in layers.
func (a *Invocation) Fetching() render.Sources {
	return render.Sources{CacheDir: a.cacheDir, CacheApart: a.cacheApart, CacheMax: a.CacheMax(), CacheUnused: a.warnCacheUnused, NoCache: a.NoCache, Options: remote.Options{
		Offline: a.offline, Timeout: a.fetchTimeout, MaxBytes: a.MaxFetch, Total: &remote.Total{}, AllowHTTP: a.allowHTTP, MaxTree: cache.Limits{Bytes: a.maxInput}, Progress: a.Log.Fetch,
	}}
}

// warnCacheUnused prints, once, why the user's cache folder is not used in this run. The
// message is a notice and not a warning: it concerns the machine, so --strict must not turn it
// into an error.
func (a *Invocation) warnCacheUnused(why error) {
	if a.Name.Kustomize() {
		return // callers of kustomize expect only the messages of kustomize
	}
	a.cacheTold.Do(func() { a.Log.Notice(engine.CacheUnused(why)) })
}

// RefuseVendor returns an error if --vendor is set for a command that always fetches.
func (a *Invocation) RefuseVendor(cmd *cobra.Command) error {
	if f := cmd.Flags().Lookup("vendor"); f.Changed && f.Value.String() != "" {
		return options.UsageError(fmt.Errorf("%s takes nothing from a vendor folder: leave --vendor out", cmd.CommandPath()))
	}
	return nil
}
