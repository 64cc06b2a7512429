package remote

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote/internal/retry"
)

// Temporary failures of a network or server are retried with git as with https. Permanent errors
// are not.
func TestGitRetries(t *testing.T) {
	g := serveGit(t)
	g.repo(t, "r", map[string]string{"x": "1"})
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		times  int64 // number of times it is given per request
		asked  int64 // number of requests for refs
	}{
		"busy":         {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) }, 1, 0},
		"too many":     {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(429) }, 1, 0},
		"hangs up":     {func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, 1, 0},
		"never":        {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) }, 100, 4},
		"not found":    {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) }, 100, 1},
		"unauthorised": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) }, 100, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			given := map[string]int64{}
			g.handle(func(w http.ResponseWriter, r *http.Request) bool {
				mu.Lock()
				given[r.URL.Path]++
				n := given[r.URL.Path]
				mu.Unlock()
				if n > test.times {
					return false
				}
				test.answer(w, r)
				return true
			})
			var retries atomic.Int64
			s := session(t, Options{Progress: func(e Event) {
				if e.State == Retrying {
					retries.Add(1)
				}
			}})
			got, err := read(t, s, g.URL+"/r.git//x?ref=main")
			if test.asked == 0 && (got != "1" || err != nil || retries.Load() == 0) {
				t.Errorf("%q, %d retries, %v", got, retries.Load(), err)
			}
			if n := given["/r.git/info/refs"]; test.asked > 0 && (n != test.asked || !errors.Is(err, ErrRetrieval)) {
				t.Errorf("%d requests, %v", n, err)
			}
		})
	}
}

// A push is also retried, with all its data. The registry stores everything once.
func TestPushRetries(t *testing.T) {
	var mu sync.Mutex
	tries, stored := map[string]int{}, map[string]string{}
	var always atomic.Bool
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		what := r.Method + " " + r.URL.Path + r.URL.RawQuery
		mu.Lock()
		tries[what]++
		n := tries[what]
		mu.Unlock()
		switch {
		case r.Method == "HEAD":
			w.WriteHeader(404)
		case always.Load() || n == 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(503)
		case n == 2:
			w.WriteHeader(429)
		case n == 3 && r.Method == "PUT":
			panic(http.ErrAbortHandler)
		case r.Method == "POST":
			w.Header().Set("Location", fmt.Sprintf("/upload/%d", n))
			w.WriteHeader(202)
		default:
			mu.Lock()
			stored[what] = string(data)
			mu.Unlock()
			w.WriteHeader(201)
		}
	})
	ref := parse(t, "oci://"+strings.TrimPrefix(srv.URL, "https://")+"/org/cat:v1")
	v, err := session(t, srv.options()).Push(t.Context(), ref, Artifact{Type: "application/x-test",
		Layers: []Layer{{catalogType, "catalog.yaml", []byte("text")}}})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for what, data := range stored {
		texts = append(texts, data)
		if strings.Contains(what, "manifests") && krm.DigestOf([]byte(data)) != v.Digest {
			t.Errorf("%s: %q", what, data)
		}
	}
	if all := strings.Join(texts, ""); len(stored) != 3 || !strings.Contains(all, "text") || strings.Count(all, "{}") != 1 {
		t.Errorf("%q", stored)
	}
	always.Store(true)
	clear(tries)
	if _, err := session(t, srv.options()).Push(t.Context(), ref, Artifact{Type: "application/x-test",
		Layers: []Layer{{catalogType, "", []byte("x")}}}); !errors.Is(err, ErrRetrieval) || !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
	if n := tries["POST /v2/org/cat/blobs/uploads/"]; n != 1+retry.Max {
		t.Errorf("%d requests", n)
	}
}
