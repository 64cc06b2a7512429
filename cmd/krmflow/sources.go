package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/internal/locking"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// vendorName is the folder of krmflow vendor.
const vendorName = "krmflow-vendor"

// sourceFlags say how what is remote is fetched.
type sourceFlags struct {
	offline, noCache, allowHTTP bool
	cacheDir                    string
	fetchTimeout                time.Duration
	maxFetch                    int64
	lockFile                    string
	locked                      bool

	vendor string

	// Commands set these. learns takes what is not locked for no mistake, again chooses entries that do not count, and copies keeps the cache
	// open, with what is used. Nothing comes from a vendor folder if refetches is set.
	learns, copies, refetches bool
	again                     func(lock.Entry) bool
}

// register adds those of the flags to a command that concern how something is fetched.
func (f *sourceFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.offline, "offline", false, "fetch nothing: what is remote comes from the cache, or is an error")
	fs.DurationVar(&f.fetchTimeout, "fetch-timeout", 30*time.Second, "how long one fetch may take")
	fs.Int64Var(&f.maxFetch, "max-fetch-bytes", 64<<20, "bytes of a file or an archive that is fetched")
	fs.BoolVar(&f.allowHTTP, "allow-http", false, "fetch over http what is not named by a digest or a commit, too")
	fs.StringVar(&f.cacheDir, "cache-dir", "", "folder of what was fetched (default: $KRMFLOW_CACHE_DIR, or krmflow in the user's cache folder)")
	fs.BoolVar(&f.noCache, "no-cache", false, "keep nothing of what is fetched, and use nothing that was kept")
}

// registerLayers adds all of the flags to a command that plans layers.
func (f *sourceFlags) registerLayers(cmd *cobra.Command) {
	f.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.lockFile, "lock-file", lock.Name, "file with the commits and digests that remote references must have: see krmflow lock")
	fs.StringVar(&f.vendor, "vendor", vendorName, "folder that krmflow vendor wrote: what layers refer to comes from there alone; empty for none")
	fs.BoolVar(&f.locked, "locked", false, "fetch nothing that has neither a digest of its own nor one in the lock file (default: true with CI=true and a lock file)")
}

func (f *sourceFlags) validate() error {
	switch {
	case f.fetchTimeout <= 0:
		return usageError(errors.New("--fetch-timeout must be more than 0"))
	case f.maxFetch <= 0:
		return usageError(errors.New("--max-fetch-bytes must be more than 0"))
	case f.offline && f.noCache:
		return usageError(errors.New("--offline takes everything from the cache, which --no-cache leaves out"))
	}
	return nil
}

// sources returns what the flags mean for a run that renders dirs. What is fetched is told while that happens.
func (a *app) sources(cmd *cobra.Command, dirs []string) (render.Sources, error) {
	s := a.fetching()
	s.Found, s.Rendered = a.seen.Add, dirs
	fs := cmd.Flags()
	switch {
	case a.refetches && a.vendor != "" && fs.Changed("vendor"):
		return s, usageError(fmt.Errorf("%s takes nothing from a vendor folder: leave --vendor out", cmd.CommandPath()))
	case !a.refetches:
		s.Vendor = a.beside("vendor", a.vendor, fs.Changed("vendor"), dirs)
	}
	if _, err := os.Stat(s.Vendor); s.Vendor != "" && err != nil {
		return s, fmt.Errorf("--vendor: %q does not exist", s.Vendor)
	}
	var err error
	if path := a.beside("lock-file", a.lockFile, fs.Changed("lock-file"), dirs); path != "" {
		s.Lock, err = locking.Read(path, !a.learns)
	}
	switch {
	case a.learns:
		s.Learns, s.Before, s.Moved = true, s.Lock, a.seen.Moved
		s.Lock = s.Lock.Without(a.again)
	case s.Lock != nil && !a.locked && !fs.Changed("locked"):
		s.Locked = os.Getenv("CI") == "true"
	default:
		s.Locked = a.locked
	}
	if a.copies && err == nil {
		if s.Cache, err = s.OpenCache(); err == nil {
			s.Cache.Track()
		}
	}
	return s, err
}

// fetching returns what the flags say about fetching, without lock file and vendor folder: these are for what layers refer to.
func (a *app) fetching() render.Sources {
	return render.Sources{CacheDir: a.cacheDir, NoCache: a.noCache, Options: remote.Options{
		Offline: a.offline, Timeout: a.fetchTimeout, MaxBytes: a.maxFetch, Total: &remote.Total{}, AllowHTTP: a.allowHTTP, MaxTree: cache.Limits{Bytes: a.maxInput}, Progress: a.log.Fetch,
	}}
}

// beside returns the path of a file or folder that belongs to what is rendered: what a flag says if it is set; else the default, if that is
// there and what is rendered is below the working directory, see [locking.Outside].
func (a *app) beside(flag, path string, set bool, dirs []string) string {
	if set {
		return path
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if dir := locking.Outside(dirs); dir != "" {
		w := planner.Warning{Msg: fmt.Sprintf("%s is not used, because %s is not below the working directory", path, dir)}
		w.Hints = []string{fmt.Sprintf("to use it: --%s=%s", flag, path)}
		a.log.Warn(w)
		return ""
	}
	return path
}
