package render

import (
	"archive/zip"
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/reference"
)

// TestVendoredIsNotTrusted checks that the vendor folder replaces remote references of layers, but
// never provides a catalog or a program. A tree must not bring these, even if its lock has their
// digests.
func TestVendoredIsNotTrusted(t *testing.T) {
	c, err := cache.Temporary()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Track()
	const url = "https://example.invalid/x.yaml"
	evil := []byte("kind: Catalog\n")
	if _, err := c.Put(evil); err != nil {
		t.Fatal(err)
	}
	s := Sources{Vendor: t.TempDir(), NoCache: true, Lock: &lock.File{}, Options: remote.Options{Offline: true}}
	if err := c.CopyUsed(s.Vendor); err != nil {
		t.Fatal(err)
	}
	s.Lock.Set(lock.Entry{Name: url, Kind: lock.Content, Digest: krm.DigestOf(evil)})
	fetch, end := s.Fetching(t.Context())
	defer end()
	for _, use := range []reference.Use{reference.Any, reference.File} {
		if content, err := fetch(url, use, remote.FromUser); err != nil {
			t.Errorf("%d: %v", use, err)
		} else if data, err := content.Bytes(); string(data) != string(evil) || err != nil {
			t.Errorf("%q, %v", data, err)
		}
	}
	if _, err := fetch(url, reference.Catalog, remote.FromUser); err == nil || !strings.Contains(err.Error(), "is not in the cache") {
		t.Errorf("a catalog comes from the vendor folder: %v", err)
	}
	if _, err := fetch(url+"?other", reference.Any, remote.FromUser); err == nil || !strings.Contains(err.Error(), "is not in "+s.Vendor) {
		t.Errorf("%v", err)
	}
}

// TestLockChoosesNoCatalog checks that a lock cannot select the content of a catalog from the
// cache. The catalog is fetched from the address that the user gave, and must then match the lock.
func TestLockChoosesNoCatalog(t *testing.T) {
	c, err := cache.Temporary()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	evil := []byte("kind: Catalog\n")
	d, err := c.Put(evil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("kind: Good\n")) }))
	defer server.Close()
	url := server.URL + "/catalog.yaml"
	s := Sources{Lock: &lock.File{}, Options: remote.Options{Cache: c, Transport: server.Client().Transport.(*http.Transport)}}
	s.Lock.Set(lock.Entry{Name: url, Kind: lock.Content, Digest: d})
	fetch, end := s.Fetching(t.Context())
	defer end()
	_, err = fetch(url, reference.Catalog, remote.FromUser)
	if !errors.Is(err, remote.ErrVerification) || !strings.Contains(err.Error(), krm.DigestOf([]byte("kind: Good\n")).String()) {
		t.Errorf("the catalog is what the lock says: %v", err)
	}
}

// TestOpenedAsLocked checks that the locked version is opened: the commit, even if the text could
// also be a file, or the digest. If a server does not serve a commit by its hash, it is fetched by
// its original ref and compared with the lock.
func TestOpenedAsLocked(t *testing.T) {
	commit, digest := strings.Repeat("1", 40), krm.DigestOf([]byte("x"))
	for text, e := range map[string]lock.Entry{
		"https://example.com/org/repo//a?ref=v1": {Name: "https://example.com/org/repo?ref=v1", Kind: lock.Git, Commit: commit},
		"https://user:pw@example.com/org/r.git":  {Name: "https://example.com/org/r.git", Kind: lock.Git, Commit: commit},
		"git@example.com:org/repo//a":            {Name: "git@example.com:org/repo", Kind: lock.Git, Commit: commit},
		"https://example.com/org/repo/a":         {Name: "https://example.com/org/repo/a", Kind: lock.Git, Commit: commit},
		"https://example.com/org/repo/b":         {Name: "https://example.com/org/repo/b", Kind: lock.Content, Digest: digest},
		"oci://example.com/a//x":                 {Name: "oci://example.com/a:latest", Kind: lock.Artifact, Digest: digest},
	} {
		r, err := reference.Parse(text, reference.Any)
		if err != nil {
			t.Fatal(err)
		}
		s := Sources{Lock: &lock.File{}, Locked: true}
		s.Lock.Set(e)
		version := reference.Version{Scheme: reference.HTTPS, Digest: digest}
		if e.Commit != "" {
			version = reference.Version{Scheme: reference.Git, Commit: commit}
		}
		var asked []reference.Reference
		var found []lock.Entry
		s.Found = func(e lock.Entry) { found = append(found, e) }
		moved := false
		open := func(r reference.Reference) (*remote.Content, error) {
			asked = append(asked, r)
			if r.Ref == commit && moved {
				return nil, remote.ErrRetrieval
			}
			return &remote.Content{Reference: r, Version: version}, nil
		}
		if _, err := s.locked(text, reference.Any, r, open); err != nil || len(asked) != 1 || asked[0].Mutable() ||
			asked[0].Path != r.Path && asked[0].Scheme == r.Scheme {
			t.Errorf("%s: %+v, %v", text, asked, err)
		}
		if len(found) != 1 || found[0].Name != e.Name {
			t.Errorf("%s: %+v", text, found)
		}
		if moved = true; e.Commit == "" {
			continue
		}
		if _, err := s.locked(text, reference.Any, r, open); err != nil || len(asked) != 3 || asked[2] != r {
			t.Errorf("%s: %+v, %v", text, asked, err)
		}
		version.Commit = strings.Repeat("2", 40)
		if _, err := s.locked(text, reference.Any, r, open); !errors.Is(err, remote.ErrVerification) ||
			!strings.Contains(err.Error(), version.Commit) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestNothingStaysOpen checks that a run closes its files and connections, because a program may
// render often.
func TestNothingStaysOpen(t *testing.T) {
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(list)
	}
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for name, text := range map[string]string{"kustomization.yaml": "resources: [cm.yaml]\n",
		"cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(packed.Bytes()) }))
	defer server.Close()
	o := Options{Dirs: []string{server.URL + "/a.zip?checksum=" + krm.DigestOf(packed.Bytes()).String()}}
	before := 0
	for i := range 5 {
		o.Sources = &Sources{CacheDir: filepath.Join(t.TempDir(), "cache")}
		if _, err := Render(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		server.CloseClientConnections() // this process also holds the server's connections
		if i == 0 {
			before = open()
		}
	}
	if n := open(); n > before {
		t.Errorf("%d files are open, and %d after the first run", n, before)
	}
}
