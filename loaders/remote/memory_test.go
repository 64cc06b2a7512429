package remote

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/reference"
)

// Sessions that share a memory request everything once and see the result of the first session.
func TestSharedMemoryFetchesOnce(t *testing.T) {
	var n atomic.Int64
	chart := archives(t, tarFile("web/Chart.yaml"))[".tar.gz"]
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/x.yaml":
			fmt.Fprintf(w, "%s# %d\n", yamlText, n.Add(1))
		case "/index.yaml":
			fmt.Fprint(w, "apiVersion: v1\nentries:\n  web:\n  - {name: web, version: 1.0.0, urls: [web.tgz]}\n")
		case "/web.tgz":
			w.Write(chart)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	})
	g := serveGit(t)
	g.repo(t, "r", map[string]string{"x": "1"})
	opt := srv.options()
	opt.Memory = &Memory{}
	c, err := cache.Open(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	opt.Cache = c
	round := func() (texts []string) {
		s := session(t, opt)
		defer s.Close()
		for _, text := range []string{srv.URL + "/x.yaml", g.URL + "/r.git//x?ref=main", srv.URL + "/nothing.yaml"} {
			got, err := read(t, s, text)
			texts = append(texts, fmt.Sprint(got, err))
		}
		r, err := reference.Parse(srv.URL+"//web", reference.Chart)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Open(t.Context(), r, FromUser); err != nil {
			t.Error(err)
		}
		return texts
	}
	first := round()
	if first[0] != yamlText+"# 1\n<nil>" || first[1] != "1<nil>" || !strings.Contains(first[2], "403") {
		t.Fatal(first)
	}
	asked, listens := srv.requests.Load(), g.listens.Load()
	if again := round(); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("%q, and then %q", first, again)
	}
	if srv.requests.Load() != asked || g.listens.Load() != listens {
		t.Errorf("%d requests and %d of git for what is known", srv.requests.Load()-asked, g.listens.Load()-listens)
	}

	// Content missing from the cache is fetched, and a failed request is retried later.
	if c, err = cache.Open(filepath.Join(t.TempDir(), "another")); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	opt.Cache = c
	if again := round(); again[0] != yamlText+"# 2\n<nil>" || again[1] != first[1] {
		t.Errorf("%q", again)
	}
	opt.Memory = &Memory{Retry: 1}
	round()
	asked = srv.requests.Load()
	round()
	if srv.requests.Load() == asked {
		t.Error("what failed is never asked for again")
	}

	// Offline, nothing is remembered unless the cache has it.
	opt.Offline = true
	if _, err := read(t, session(t, opt), srv.URL+"/x.yaml"); err == nil || !strings.Contains(err.Error(), "offline") {
		t.Error(err)
	}
}
