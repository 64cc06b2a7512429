package render_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// A fileServer serves the same text for every file, over TLS.
type fileServer struct {
	*httptest.Server
	mu       sync.Mutex
	text     string
	requests int
}

func newFileServer(t *testing.T) *fileServer {
	s := &fileServer{text: configMap}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests++
		w.Write([]byte(s.text))
	}))
	t.Cleanup(s.Close)
	return s
}

// render renders a layer with one reference, with an empty cache, and returns the reported lock
// entries.
func (s *fileServer) render(t *testing.T, ref string, with render.Sources) (found []lock.Entry, err error) {
	t.Helper()
	c, err := cache.Temporary()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	with.Cache, with.Transport = c, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	with.Found = func(e lock.Entry) { found = append(found, e) }
	dir := write(t, map[string]string{"kustomization.yaml": "resources: ['" + ref + "']\n"})
	_, err = render.Render(t.Context(), render.Options{Dirs: []string{"."}, Plan: planner.Options{Cwd: dir}, Sources: &with})
	return found, err
}

func lockOf(t *testing.T, entries ...lock.Entry) *lock.File {
	f := &lock.File{}
	f.Learn(entries, lock.Learning{})
	read, err := lock.Parse(&yaml.Source{File: lock.Name, Data: f.Text()})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// TestLockedFile checks that a file must have its locked digest. A digest in the reference takes
// precedence over the digest in the lock, but cannot bypass it.
func TestLockedFile(t *testing.T) {
	s := newFileServer(t)
	url := s.URL + "/a.yaml"
	found, err := s.render(t, url, render.Sources{})
	was := krm.DigestOf([]byte(configMap))
	if err != nil || len(found) != 1 || found[0] != (lock.Entry{Name: url, Kind: lock.Content, Digest: was}) {
		t.Fatalf("%+v, %v", found, err)
	}
	file := lockOf(t, found...)
	if again, err := s.render(t, url, render.Sources{Lock: file, Locked: true}); err != nil || len(again) != 1 || again[0] != found[0] {
		t.Errorf("%+v, %v", again, err)
	}

	s.text = strings.Replace(configMap, "name: a", "name: b", 1)
	is := krm.DigestOf([]byte(s.text))
	_, err = s.render(t, url, render.Sources{Lock: file})
	checkRefused(t, err, was.String(), is.String(), "it is locked at krmflow.lock.yaml:5;", "krmflow lock --update="+url+"")

	pinned := url + "#sha256=" + strings.TrimPrefix(is.String(), "sha256:")
	s.requests = 0
	_, err = s.render(t, pinned, render.Sources{Lock: file})
	checkRefused(t, err, was.String(), is.String(), "it is locked at krmflow.lock.yaml:5;")
	if s.requests > 0 {
		t.Errorf("%d requests", s.requests)
	}
	_, err = s.render(t, pinned, render.Sources{Lock: lockOf(t, lock.Entry{Name: pinned, Kind: lock.Content, Digest: was})})
	checkRefused(t, err, was.String(), is.String())

	// A reference with a digest needs no lock entry; a reference without one does.
	if _, err := s.render(t, pinned, render.Sources{Lock: &lock.File{}, Locked: true}); err != nil {
		t.Error(err)
	}
	s.requests = 0
	_, err = s.render(t, url, render.Sources{Locked: true})
	checkRefused(t, err, url+" is not in krmflow.lock.yaml")
	if s.requests > 0 {
		t.Errorf("%d requests", s.requests)
	}
}

// TestLockedAsAnotherKind checks that an entry of a different kind than the reference does not
// allow an unlocked fetch.
func TestLockedAsAnotherKind(t *testing.T) {
	s := newFileServer(t)
	digest, commit := krm.DigestOf([]byte("x")), strings.Repeat("1", 40)
	for ref, e := range map[string]lock.Entry{
		s.URL + "/a.yaml":            {Kind: lock.Git, Commit: commit},
		s.URL + "/a.git?ref=main":    {Kind: lock.Content, Digest: digest},
		"oci://example.com/a:latest": {Kind: lock.Git, Commit: commit},
	} {
		e.Name = ref
		_, err := s.render(t, ref, render.Sources{Lock: lockOf(t, e)})
		checkRefused(t, err, ref+" must be "+e.Version()+", but the reference is of a different kind")
	}
	if s.requests > 0 {
		t.Errorf("%d requests", s.requests)
	}
}

// TestLockNames checks that names of entries contain no credentials and no path inside the source.
func TestLockNames(t *testing.T) {
	s := newFileServer(t)
	ref := strings.Replace(s.URL, "https://", "https://user:secret@", 1) + "/a.yaml?token=secret"
	found, err := s.render(t, ref, render.Sources{})
	if err != nil || len(found) != 1 || strings.Contains(found[0].Name, "secret") || strings.Contains(found[0].Name, "user") {
		t.Errorf("%+v, %v", found, err)
	}
}

func checkRefused(t *testing.T, err error, parts ...string) {
	t.Helper()
	if !errors.Is(err, remote.ErrVerification) {
		t.Errorf("it is no error of verification: %v", err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v\nlacks %s", err, part)
		}
	}
}
