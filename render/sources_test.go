package render

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/lock"
	"github.com/krmflow/krmflow/reference"
)

// What is in the vendor folder stands in for what layers name. It never does for a catalog or a program, which a tree must not bring: not
// even if the lock beside the tree has its digest.
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
	fetch, end := s.fetching(t.Context())
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

// A lock cannot choose which content a catalog has among what the cache holds: it comes from where the user says, and must be what the lock
// says then.
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
	fetch, end := s.fetching(t.Context())
	defer end()
	_, err = fetch(url, reference.Catalog, remote.FromUser)
	if !errors.Is(err, remote.ErrVerification) || !strings.Contains(err.Error(), krm.DigestOf([]byte("kind: Good\n")).String()) {
		t.Errorf("the catalog is what the lock says: %v", err)
	}
}
