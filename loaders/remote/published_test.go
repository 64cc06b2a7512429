package remote

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/reference"
)

// TestCachedContentMustBeServed checks that cached content with the digest of a reference is not
// accepted before the address has served it.
func TestCachedContentMustBeServed(t *testing.T) {
	serves := "kind: Good\n"
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away.yaml" {
			http.Redirect(w, r, "/c.yaml", http.StatusFound)
			return
		}
		w.Write([]byte(serves))
	})
	evil := []byte("kind: Evil\n")
	c, err := cache.Temporary()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Put(evil); err != nil {
		t.Fatal(err)
	}
	published := func(address string, offline bool) (*Content, error) {
		opt := srv.options()
		opt.Cache, opt.Offline = c, offline
		s := NewSession(opt)
		defer s.Close()
		r, err := reference.Parse(srv.URL+address, reference.Published)
		if err != nil {
			t.Fatal(err)
		}
		return s.Published(t.Context(), r)
	}
	good, bad := "#sha256="+hexOf([]byte(serves)), "#sha256="+hexOf(evil)

	if _, err := published("/c.yaml"+bad, false); !errors.Is(err, ErrVerification) {
		t.Errorf("content that only the cache has: %v", err)
	}
	if _, err := published("/c.yaml"+good, true); !IsUnproven(err) {
		t.Errorf("the address has served it without a digest alone: %v", err)
	}
	if _, err := published("/away.yaml"+good, false); err == nil || !strings.Contains(err.Error(), "redirected to") {
		t.Errorf("a redirection is followed: %v", err)
	}
	if got, err := published("/c.yaml"+good, false); err != nil || got.Provenance != ByAddress {
		t.Fatalf("%v, %v", got, err)
	}
	n := srv.requests.Load()
	serves = "kind: Newer\n"
	for _, offline := range []bool{true, false} {
		if got, err := published("/c.yaml"+good, offline); err != nil || string(got.data) != "kind: Good\n" || got.Provenance != ByAddress {
			t.Errorf("offline %t: what was recorded: %v, %v", offline, got, err)
		}
	}
	if srv.requests.Load() != n {
		t.Error("the address is asked although it has served the content before")
	}
	for _, other := range []string{"/d.yaml", "/c.yaml?of=d"} {
		if _, err := published(other+good, true); !IsUnproven(err) {
			t.Errorf("%s has another address's record: %v", other, err)
		}
	}
}

// TestDigestDoesNotProveOrigin checks that a digest or a commit does not prove origin, and that a
// request to an address does.
func TestDigestDoesNotProveOrigin(t *testing.T) {
	commit, digest := strings.Repeat("1", 40), hexOf(nil)
	for text, want := range map[string]Provenance{
		"https://h/c.yaml":                      ByAddress,
		"https://h/c.yaml#sha256=" + digest:     ByVersion,
		"https://h/r.git//p?ref=main":           ByAddress,
		"https://h/r.git//p?ref=" + commit:      ByVersion,
		"oci://r.example/c:v1":                  ByAddress,
		"oci://r.example/c:v1@sha256:" + digest: ByVersion,
	} {
		r, err := reference.Parse(text, reference.Any)
		if got := provenance(r, reference.Version{Scheme: r.Scheme}); got != want || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	s := session(t, Options{})
	for _, text := range []string{"git::https://h/r.git//c.yaml?ref=" + commit, "https://h/a.tgz//c.yaml#sha256=" + digest} {
		r, err := reference.Parse(text, reference.Published)
		if _, refusal := s.Published(t.Context(), r); !errors.Is(refusal, ErrRefused) || err != nil {
			t.Errorf("%s: %v, %v", text, refusal, err)
		}
	}
}

func hexOf(data []byte) string { return strings.TrimPrefix(krm.DigestOf(data).String(), "sha256:") }
