package cli

import (
	"fmt"
	"time"

	"github.com/krmflow/krmflow/cache/shared"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/program"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
)

// RemoteCacheFlags configure the cache that the run shares with other machines.
type RemoteCacheFlags struct {
	address, mode, ca, cert, key, helper string
	headers                              []string
	timeout                              time.Duration
}

// Register adds the flags to a command.
func (f *RemoteCacheFlags) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.address, "remote-cache", "", "shared cache of function results: `URL` with grpc(s):// or http(s)://")
	fs.StringVar(&f.mode, "remote-cache-mode", "read-write", "`mode` of the shared cache: read or read-write")
	fs.StringVar(&f.ca, "remote-cache-ca", "", "CA `FILE` for the shared cache (default: system CAs)")
	fs.StringVar(&f.cert, "remote-cache-cert", "", "client certificate `FILE` for the shared cache")
	fs.StringVar(&f.key, "remote-cache-key", "", "key `FILE` of --remote-cache-cert")
	fs.Var((*options.Repeated)(&f.headers), "remote-cache-header", "`header` for the shared cache: NAME=VALUE; may be repeated")
	fs.StringVar(&f.helper, "remote-cache-credential-helper", "", "`program` that prints headers, as Bazel's credential helpers do")
	fs.DurationVar(&f.timeout, "remote-cache-timeout", 5*time.Second, "timeout of the shared cache; after it the run continues without")
}

// Validate checks constraints on values that the flag parser does not check.
func (f *RemoteCacheFlags) Validate() error {
	switch {
	case f.mode != "read" && f.mode != "read-write":
		return options.UsageError(diag.FlagValue.Errorf("illegal value --remote-cache-mode %s; legal values: read, read-write", f.mode))
	case f.timeout <= 0:
		return options.UsageError(fmt.Errorf("--remote-cache-timeout must be more than 0"))
	}
	return nil
}

// SharedCache returns the cache that the run shares with other machines. The caller must close
// it. The result is nil, which acts as an empty cache, if none is configured or --offline or
// --no-cache is set.
func (a *Invocation) SharedCache() (*shared.Client, error) {
	f := &a.RemoteCacheFlags
	if f.address == "" || a.offline || a.NoCache {
		return nil, nil
	}
	c, err := shared.Open(shared.Options{
		Address: f.address, ReadOnly: f.mode == "read", CA: f.ca, Cert: f.cert, Key: f.key, Headers: f.headers, Helper: f.helper,
		AllowPlain: a.allowHTTP, Timeout: f.timeout, UserAgent: "krmflow/" + program.Version(),
	})
	if err != nil {
		return nil, options.UsageError(err)
	}
	if c.Plain() {
		w := planner.Warning{Msg: fmt.Sprintf("--remote-cache %s has no TLS: who is on the way can read and change answers of functions",
			diag.Redact(f.address)), Code: diag.SharedCache}
		w.Hints = []string{"use grpcs or https"}
		a.Log.Warn(w)
	}
	return c, nil
}
