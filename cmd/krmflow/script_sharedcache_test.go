package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/sharedtest"
	"github.com/rogpeppe/go-internal/testscript"
)

// hasBazelRemote reports whether a server for shared caches is installed. In CI, where its tests
// must not be skipped, a missing server is an error.
func hasBazelRemote() (bool, error) {
	_, err := exec.LookPath(sharedtest.Program)
	if err != nil && executortest.MustTest() {
		return false, fmt.Errorf("%w: shared caches must be tested here: make bazel-remote", err)
	}
	return err == nil, nil
}

// cacheServer implements cacheserver NAME. It starts bazel-remote with an empty folder and sets
// NAME to its address and NAME_HTTP to its HTTP address. cacheserver NAME stop kills it. The script
// also kills it at its end.
func cacheServer(ts *testscript.TestScript, args []string) {
	kills := ts.Value(killsKey{}).(map[string]func())
	if len(args) == 2 {
		kills[args[0]]()
		return
	}
	dir, err := os.MkdirTemp("", "bazel-remote-")
	ts.Check(err)
	ts.Defer(func() { os.RemoveAll(dir) })
	s, err := sharedtest.Start(dir)
	ts.Check(err)
	ts.Defer(s.Kill)
	kills[args[0]] = s.Kill
	ts.Setenv(args[0], "grpc://"+s.GRPC)
	ts.Setenv(args[0]+"_HTTP", "http://"+s.HTTP)
}

// killsKey is the key for the functions that stop the shared caches of a script, by name.
type killsKey struct{}

// lies are the ways in which a shared cache can change stored data before it returns it. all
// contains everything that was stored in places of the same kind.
var lies = map[string]func(body []byte, all [][]byte) []byte{
	"none":    func(body []byte, _ [][]byte) []byte { return body },
	"bit":     func(body []byte, _ [][]byte) []byte { return flipped(body, len(body)/2) },
	"last":    func(body []byte, _ [][]byte) []byte { return flipped(body, len(body)-1) },
	"cut":     func(body []byte, _ [][]byte) []byte { return body[:len(body)/2] },
	"longer":  func(body []byte, _ [][]byte) []byte { return append(slices.Clone(body), '\n') },
	"empty":   func([]byte, [][]byte) []byte { return nil },
	"another": func(body []byte, all [][]byte) []byte { return otherThan(body, all) },
	"page":    func([]byte, [][]byte) []byte { return []byte("<html>sign in</html>") },
}

func flipped(body []byte, i int) []byte {
	body = slices.Clone(body)
	if i >= 0 && i < len(body) {
		body[i] ^= 1
	}
	return body
}

func otherThan(body []byte, all [][]byte) []byte {
	for _, other := range all {
		if string(other) != string(body) {
			return other
		}
	}
	return nil
}

// lyingCache implements lyingcache NAME. It starts a shared cache that returns false results, false
// content or both, and sets NAME to its address. The files lie, about and times in $WORK control it
// and may change: one of [lies]; ac, cas or nothing; and the maximum number of times, if that file
// exists.
func lyingCache(ts *testscript.TestScript, args []string) {
	var mu sync.Mutex
	stored := map[string][]byte{}
	setting := func(name string) string {
		data, _ := os.ReadFile(ts.MkAbs(name))
		return strings.TrimSpace(string(data))
	}
	times, lied := "", 0
	lying := func() bool {
		if now := setting("times"); now != times {
			times, lied = now, 0
		}
		lied++
		most, err := strconv.Atoi(times)
		return err != nil || lied <= most
	}
	kind := func(path string) string { return strings.Split(strings.TrimPrefix(path, "/"), "/")[0] }
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPut {
			stored[r.URL.Path], _ = io.ReadAll(r.Body)
			return
		}
		body, ok := stored[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if about := setting("about"); (about == "" || about == kind(r.URL.Path)) && lying() {
			var all [][]byte
			for path, other := range stored {
				if kind(path) == kind(r.URL.Path) {
					all = append(all, other)
				}
			}
			body = lies[setting("lie")](body, all)
		}
		w.Write(body)
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}
