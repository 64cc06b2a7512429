package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// sourceFlags say how what is remote is fetched.
type sourceFlags struct {
	offline, noCache, allowHTTP bool
	cacheDir                    string
	fetchTimeout                time.Duration
	maxFetch                    int64
}

func (f *sourceFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.offline, "offline", false, "fetch nothing: what is remote comes from the cache, or is an error")
	fs.DurationVar(&f.fetchTimeout, "fetch-timeout", 30*time.Second, "how long one fetch may take")
	fs.Int64Var(&f.maxFetch, "max-fetch-bytes", 64<<20, "bytes of a file or an archive that is fetched")
	fs.BoolVar(&f.allowHTTP, "allow-http", false, "fetch over http what is not named by a digest or a commit, too")
	fs.StringVar(&f.cacheDir, "cache-dir", "", "folder of what was fetched (default: $KRMFLOW_CACHE_DIR, or krmflow in the user's cache folder)")
	fs.BoolVar(&f.noCache, "no-cache", false, "keep nothing of what is fetched, and use nothing that was kept")
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

// sources returns what the flags mean for a run. What is fetched is told while that happens.
func (a *app) sources() render.Sources {
	return render.Sources{CacheDir: a.cacheDir, NoCache: a.noCache, Options: remote.Options{
		Offline: a.offline, Timeout: a.fetchTimeout, MaxBytes: a.maxFetch, AllowHTTP: a.allowHTTP, MaxTree: cache.Limits{Bytes: a.maxInput}, Progress: a.log.fetch,
	}}
}

// fetch tells about a fetch, once: of a repository first the commit is asked for, then the files. That it failed is said by the error.
func (l *logger) fetch(e remote.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.json {
		l.z.Info().Str("reference", e.Reference).Str("state", string(e.State)).Int("attempt", e.Attempt).Dur("ms", e.Took).Msg("fetch")
		return
	}
	if l.quiet {
		return
	}
	switch e.State {
	case remote.Started:
		if !l.fetching[e.Reference] {
			l.fetching[e.Reference] = true
			fmt.Fprintf(l.w, "fetching %s\n", diag.Sanitise(e.Reference))
		}
	case remote.Retrying:
		fmt.Fprintf(l.w, "fetching %s again in %s\n", diag.Sanitise(e.Reference), e.Wait.Round(time.Millisecond))
	}
}
