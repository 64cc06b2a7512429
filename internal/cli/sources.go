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

// VendorName is the folder of krmflow vendor.
const VendorName = "krmflow-vendor"

// SourceFlags say how what is remote is fetched.
type SourceFlags struct {
	offline, allowHTTP bool
	cacheDir           string
	cacheApart         bool // cacheDir is a setting
	cacheMax           options.Size
	fetchTimeout       time.Duration
	vendor             string
	// NoCache keeps nothing of what is fetched.
	NoCache bool
	// MaxFetch is how many bytes a file or an archive may have.
	MaxFetch int64
	// LockFile is the path of the lock file, and Locked means that nothing is fetched that is not in it.
	LockFile string
	Locked   bool
}

// Register adds those of the flags to a command that concern how something is fetched.
func (f *SourceFlags) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.offline, "offline", false, "fetch nothing: what is remote comes from the cache, or is an error")
	fs.DurationVar(&f.fetchTimeout, "fetch-timeout", 30*time.Second, "how long one fetch may take")
	fs.Int64Var(&f.MaxFetch, "max-fetch-bytes", 64<<20, "bytes of a file or an archive that is fetched")
	fs.BoolVar(&f.allowHTTP, "allow-http", false, "fetch over http what is not named by a digest or a commit, too")
	f.RegisterCache(cmd)
	fs.BoolVar(&f.NoCache, "no-cache", false, "keep nothing of what is fetched, and no answers of functions, and use nothing that was kept")
}

// RegisterCache adds those of the flags to a command that say which cache is used.
func (f *SourceFlags) RegisterCache(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.cacheDir, "cache-dir", "", "folder of the cache (default: krmflow in the user's cache folder)")
	f.cacheMax = cache.DefaultMax
	fs.Var(&f.cacheMax, "cache-max", "size of the cache: what was not used for longest goes when it is larger")
}

// CacheMax returns how many bytes the cache may have.
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

// Fetching returns what the flags say about fetching, without lock file and vendor folder: these are for what layers refer to.
func (a *Invocation) Fetching() render.Sources {
	return render.Sources{CacheDir: a.cacheDir, CacheApart: a.cacheApart, CacheMax: a.CacheMax(), CacheUnused: a.warnCacheUnused, NoCache: a.NoCache, Options: remote.Options{
		Offline: a.offline, Timeout: a.fetchTimeout, MaxBytes: a.MaxFetch, Total: &remote.Total{}, AllowHTTP: a.allowHTTP, MaxTree: cache.Limits{Bytes: a.maxInput}, Progress: a.Log.Fetch,
	}}
}

// warnCacheUnused says why the user's folder is not the cache of this run. It is about the machine, and nothing that --strict is for.
func (a *Invocation) warnCacheUnused(why error) {
	if a.Name.Kustomize() {
		return // who calls kustomize gets what it prints
	}
	a.cacheTold.Do(func() { a.Log.Notice(engine.CacheUnused(why)) })
}

// RefuseVendor refuses --vendor for a command that fetches anew.
func (a *Invocation) RefuseVendor(cmd *cobra.Command) error {
	if f := cmd.Flags().Lookup("vendor"); f.Changed && f.Value.String() != "" {
		return options.UsageError(fmt.Errorf("%s takes nothing from a vendor folder: leave --vendor out", cmd.CommandPath()))
	}
	return nil
}
