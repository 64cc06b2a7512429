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
	MaxFetch options.Size
	// LockFile is the path of the lock file. Locked makes fetching content that is not pinned
	// an error: see --locked.
	LockFile string
	Locked   bool
}

// Register adds the flags that control fetching to a command.
func (f *SourceFlags) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.offline, "offline", false, "fetch nothing; remote content must be in the cache")
	fs.DurationVar(&f.fetchTimeout, "fetch-timeout", 30*time.Second, "timeout of one fetch")
	f.MaxFetch = 64 << 20
	fs.Var(&f.MaxFetch, "max-fetch-bytes", "maximum size of a fetched file or archive")
	fs.BoolVar(&f.allowHTTP, "allow-http", false, "allow plain http for references without a digest or commit")
	f.RegisterCache(cmd)
	fs.BoolVar(&f.NoCache, "no-cache", false, "neither read nor write the cache")
}

// RegisterCache adds the flags that select the cache to a command.
func (f *SourceFlags) RegisterCache(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.cacheDir, "cache-dir", "", "cache `DIR` (default: krmflow in the user's cache directory)")
	f.cacheMax = cache.DefaultMax
	fs.Var(&f.cacheMax, "cache-max", "maximum size of the cache; least recently used entries go first")
}

// CacheMax returns the maximum size of the cache in bytes.
func (f *SourceFlags) CacheMax() int64 { return int64(f.cacheMax) }

// registerLayers adds all of the flags to a command that plans layers.
func (f *SourceFlags) registerLayers(cmd *cobra.Command) {
	f.Register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.LockFile, "lock-file", lock.Name, "lock `FILE` that pins remote references: see krmflow lock")
	fs.StringVar(&f.vendor, "vendor", VendorName, "`DIR` of krmflow vendor, the only source of remote layers; '' for none")
	fs.BoolVar(&f.Locked, "locked", false, "fetch only pinned content (default: true with CI=true and a lock file)")
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
	return render.Sources{CacheDir: a.cacheDir, CacheApart: a.cacheApart, CacheMax: a.CacheMax(), CacheUnused: a.warnCacheUnused,
		NoCache: a.NoCache, Options: remote.Options{
			Offline: a.offline, Timeout: a.fetchTimeout, MaxBytes: int64(a.MaxFetch), Total: &remote.Total{}, AllowHTTP: a.allowHTTP,
			MaxTree: cache.Limits{Bytes: a.MaxInput()}, Progress: a.Log.Fetch,
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
