package cli

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/spf13/cobra"
)

// appWith returns an Invocation whose flags have been parsed from args.
func appWith(t *testing.T, args ...string) (*Invocation, *bytes.Buffer) {
	t.Helper()
	var stderr bytes.Buffer
	a := &Invocation{Stdout: io.Discard, Stderr: &stderr}
	cmd := &cobra.Command{Use: "test"}
	a.Flags.Register(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	if err := a.Validate(); err != nil {
		t.Fatal(err)
	}
	a.StartLog()
	return a, &stderr
}

// The flags select a cache that two runs share.
func TestSharedCache(t *testing.T) {
	var mu sync.Mutex
	kept := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		data, ok := kept[r.URL.Path]
		switch {
		case r.Header.Get("X-Key") != "open-sesame":
			http.Error(w, "who are you?", http.StatusForbidden)
		case r.Method == http.MethodPut:
			kept[r.URL.Path], _ = io.ReadAll(r.Body)
		case !ok:
			http.NotFound(w, r)
		default:
			w.Write(data)
		}
	}))
	defer server.Close()
	flags := []string{"--remote-cache", server.URL + "/team", "--remote-cache-header", "X-Key=open-sesame"}
	use := func(more ...string) (string, error) {
		a, stderr := appWith(t, append(flags, more...)...)
		c, err := a.SharedCache()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Put(t.Context(), krm.Digest{byte(len(more))}, []byte(strings.Join(more, " "))); err != nil {
			t.Error(err)
		}
		if stderr.Len() > 0 {
			t.Errorf("%s", stderr)
		}
		data, err := c.Get(t.Context(), krm.Digest{})
		return string(data), err
	}
	for _, none := range []string{"--offline", "--no-cache", "--remote-cache-mode=read"} {
		if _, err := use(none); !errors.Is(err, fs.ErrNotExist) || len(kept) > 0 {
			t.Errorf("%s: %v, %d are kept", none, err, len(kept))
		}
	}
	if _, err := use(); err != nil || len(kept) != 1 { // an empty result exists only inline
		t.Errorf("%v, %d are kept", err, len(kept))
	}
	if data, err := use("--remote-cache-mode=read"); err != nil || data != "" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestSharedCacheWarns(t *testing.T) {
	a, stderr := appWith(t, "--remote-cache", "grpc://cache.example.com:9092")
	if _, err := a.SharedCache(); err != nil || !strings.Contains(stderr.String(), "has no TLS") {
		t.Errorf("%v, %s", err, stderr)
	}
	a, stderr = appWith(t, "--remote-cache", "grpc://me:open-sesame@cache.example.com:9092")
	if _, err := a.SharedCache(); err == nil || strings.Contains(err.Error()+stderr.String(), "sesame") {
		t.Errorf("%v, %s", err, stderr)
	}
	a, _ = appWith(t)
	if c, err := a.SharedCache(); c != nil || err != nil {
		t.Errorf("%v, %v", c, err)
	}
}
