package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/locking"
	"github.com/krmflow/krmflow/internal/options"
	"github.com/krmflow/krmflow/internal/settings"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/planner"
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

	// Commands set these. Learns takes what is not locked for no mistake, Again chooses entries that do not count, and Copies keeps the cache
	// open, with what is used. Nothing comes from a vendor folder if Refetches is set.
	Learns, Copies, Refetches bool
	Again                     func(lock.Entry) bool
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

// Sources returns what the flags mean for a run that renders dirs. What is fetched is told while that happens.
func (a *App) Sources(cmd *cobra.Command, dirs []string) (render.Sources, error) {
	s := a.Fetching()
	s.Found, s.Rendered, s.Places = a.Seen.Add, dirs, &a.Places
	if a.Watch != nil {
		s.Memory = &a.Watch.remote
	}
	fs := cmd.Flags()
	switch {
	case a.Refetches && a.vendor != "" && fs.Changed("vendor"):
		return s, options.UsageError(fmt.Errorf("%s takes nothing from a vendor folder: leave --vendor out", cmd.CommandPath()))
	case !a.Refetches:
		s.Vendor = a.beside("vendor", a.vendor, settings.IsSet(fs, "vendor"), dirs)
	}
	if _, err := os.Stat(s.Vendor); s.Vendor != "" && err != nil {
		return s, diag.NoSuchFile.Errorf("--vendor: %q does not exist", s.Vendor)
	}
	var err error
	if path := a.beside("lock-file", a.LockFile, settings.IsSet(fs, "lock-file"), dirs); path != "" {
		s.Lock, err = locking.Read(path, !a.Learns)
	}
	switch {
	case a.Learns:
		s.Learns, s.Before, s.Moved = true, s.Lock, a.Seen.Moved
		s.Lock = s.Lock.Without(a.Again)
	case s.Lock != nil && !a.Locked && !settings.IsSet(fs, "locked"):
		s.Locked = os.Getenv("CI") == "true"
	default:
		s.Locked = a.Locked
	}
	if a.Copies && err == nil {
		if s.Cache, err = s.OpenCache(); err == nil {
			s.Cache.Track()
		}
	}
	return s, err
}

// Fetching returns what the flags say about fetching, without lock file and vendor folder: these are for what layers refer to.
func (a *App) Fetching() render.Sources {
	return render.Sources{CacheDir: a.cacheDir, CacheApart: a.cacheApart, CacheMax: a.CacheMax(), CacheUnused: a.warnCacheUnused, NoCache: a.NoCache, Options: remote.Options{
		Offline: a.offline, Timeout: a.fetchTimeout, MaxBytes: a.MaxFetch, Total: &remote.Total{}, AllowHTTP: a.allowHTTP, MaxTree: cache.Limits{Bytes: a.maxInput}, Progress: a.Log.Fetch,
	}}
}

// warnCacheUnused says why the user's folder is not the cache of this run. It is about the machine, and nothing that --strict is for.
func (a *App) warnCacheUnused(why error) {
	if a.Name.Kustomize() {
		return // who calls kustomize gets what it prints
	}
	a.cacheTold.Do(func() {
		a.Log.Notice(planner.Warning{Msg: "the cache is not used: " + why.Error(), Hints: []string{"--cache-dir names another folder for it, --no-cache does without one"}, Code: diag.CacheFolder})
	})
}

// beside returns the path of a file or folder that belongs to what is rendered: what a flag says if it is set; else the default, if that is
// there and what is rendered is below the working directory, see [locking.Outside].
func (a *App) beside(flag, path string, set bool, dirs []string) string {
	if set {
		return path
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if dir := locking.Outside(dirs); dir != "" {
		w := planner.Warning{Msg: fmt.Sprintf("%s is not used, because %s is not below the working directory", path, dir)}
		w.Code = diag.Unlocked
		w.Hints = []string{fmt.Sprintf("to use it: --%s=%s", flag, path)}
		a.Log.Warn(w)
		return ""
	}
	return path
}
