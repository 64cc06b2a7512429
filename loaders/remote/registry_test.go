package remote

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote/internal/artifact"
	"github.com/krmflow/krmflow/loaders/remote/internal/credentials"
	"github.com/krmflow/krmflow/reference"
)

// If a registry requires tokens, krmflow requests one from the token server that the registry
// names, with the user's stored credentials.
func TestTokensComeFromRealm(t *testing.T) {
	blob := []byte("1")
	text, err := json.Marshal(artifact.Manifest{Layers: []artifact.Descriptor{artifact.Describe(catalogType, "", blob)}})
	if err != nil {
		t.Fatal(err)
	}
	var tokens atomic.Int64
	var srv *fileServer
	srv = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			tokens.Add(1)
			who, _, _ := r.BasicAuth()
			if r.Method == "POST" {
				who = "identity " + r.FormValue("refresh_token")
			}
			if r.FormValue("service") != "a, b" || r.FormValue("scope") != "repository:org/cat:pull" {
				t.Errorf("%v", r.Form)
			}
			fmt.Fprintf(w, `{"access_token": %q}`, base64.RawStdEncoding.EncodeToString([]byte(who)))
			return
		}
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		who, _ := base64.RawStdEncoding.DecodeString(token)
		if string(who) != "me" && string(who) != "identity refresh" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+srv.URL+`/token",service="a, b",scope="ignored"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.Contains(r.URL.Path, "/blobs/") {
			w.Write(blob)
		} else {
			w.Write(text)
		}
	})
	host := strings.TrimPrefix(srv.URL, "https://")
	for name, file := range map[string]string{
		"auth":     fmt.Sprintf(`{"auths": {"https://%s/v2/": {"auth": %q}}}`, host, base64.StdEncoding.EncodeToString([]byte("me:canary"))),
		"identity": fmt.Sprintf(`{"auths": {%q: {"auth": "", "identitytoken": "refresh"}}}`, host),
		"helper":   fmt.Sprintf(`{"credHelpers": {%q: "fake"}}`, host),
		"nobody":   `{}`,
		"broken":   `{`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "auth.json"), file)
			t.Setenv("REGISTRY_AUTH_FILE", filepath.Join(dir, "auth.json"))
			helper := filepath.Join(dir, "bin/docker-credential-fake")
			if err := os.MkdirAll(filepath.Dir(helper), 0o700); err != nil {
				t.Fatal(err)
			}
			testbinary.Script(t, helper, "#!/bin/sh\nread server; test \"$server\" = "+
				host+" || exit 1\necho '{\"Username\": \"me\", \"Secret\": \"canary\"}'\n")
			t.Setenv("PATH", filepath.Dir(helper)+":"+os.Getenv("PATH"))
			tokens.Store(0)
			got, err := read(t, session(t, srv.options()), "oci://"+host+"/org/cat:v1")
			if name == "nobody" || name == "broken" {
				if !errors.Is(err, ErrRetrieval) || strings.Contains(err.Error(), "canary") {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			if got != "1" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			// One token for each of the two steps: resolving the tag, and fetching.
			if n := tokens.Load(); n != 2 {
				t.Errorf("%d tokens", n)
			}
		})
	}
}

func TestUnsafeRealmsAreRefused(t *testing.T) {
	for _, test := range []struct {
		host, realm string
		ok          bool
	}{
		{"example.com", "https://auth.example.com/token", true},
		{"example.com", "http://auth.example.com/token", false},
		{"example.com", "https://localhost/token", false},
		{"example.com", "https://169.254.169.254/token", false},
		{"example.com", "https://me:canary@example.com/token", false},
		{"example.com", "file:///etc/passwd", false},
		{"example.com", "", false},
		{"localhost:5000", "https://localhost:5001/token", true},
	} {
		reg := &registry{host: test.host, base: "https://" + test.host}
		if _, err := reg.realm(test.realm); (err == nil) != test.ok {
			t.Errorf("%s: %s: %v", test.host, test.realm, err)
		}
	}
}

func TestStoredCredential(t *testing.T) {
	entry := func(name string) string {
		return fmt.Sprintf(`{"auth": %q}`, base64.StdEncoding.EncodeToString([]byte(name+":p")))
	}
	path := filepath.Join(t.TempDir(), "auth.json")
	write(t, path, fmt.Sprintf(`{"auths": {"https://index.docker.io/v1/": %s, "host": %s, "host/org": %s, "host/org/special": %s}}`, entry("hub"), entry("host"), entry("org"), entry("special")))
	t.Setenv("REGISTRY_AUTH_FILE", path)
	for ref, want := range map[string]string{
		"docker.io/library/x": "hub", "host/a": "host", "host/org/a": "org", "host/org/special": "special", "host/organ": "host",
		"host2/a": "", "host:5000/a": "",
	} {
		host, repository, _ := strings.Cut(ref, "/")
		if c, err := credentials.Stored(t.Context(), host, repository); c.Name != want || err != nil {
			t.Errorf("%s: %+v, %v", ref, c, err)
		}
	}
}

func TestChallengeParameters(t *testing.T) {
	got := credentials.Challenge(`realm="https://x/t?a=b,c",service=plain, Scope="a b" , odd`)
	if len(got) != 3 || got["realm"] != "https://x/t?a=b,c" || got["service"] != "plain" || got["scope"] != "a b" {
		t.Errorf("%q", got)
	}
}

// An open tree stays readable after the callers that opened it have ended. Its file is released
// with the session.
func TestTreeStaysReadableUntilClose(t *testing.T) {
	data := archives(t, tarFile("x"))[".zip"]
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(data) })
	s := session(t, srv.options())
	c, err := s.Open(t.Context(), parse(t, srv.URL+"/a.zip#sha256="+krm.DigestOf(data).String()[7:]), FromUser)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f, err := c.Tree.Open("x")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); string(text) != "1\n" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The latest version of a chart is searched on all pages of tags. The registry cannot choose the
// address of the next page, and an endless list is an error.
func TestTagPages(t *testing.T) {
	pages := map[string]string{
		"":             `{"tags": ["1.0.0", "2.0.0"]}`,
		"n=2&last=2":   `{"tags": ["10.0.0_build", "3.0.0"]}`,
		"last=3.0.0&n": `{"tags": ["4.0.0"]}`,
	}
	links := map[string]string{
		"":           `<https://elsewhere.example/v2/other/tags/list?n=2&last=2>; rel="next"`,
		"n=2&last=2": `</v2/org/web/tags/list?last=3.0.0&n>; rel="next"`,
	}
	endless := false
	many := `{"tags": ["` + strings.Repeat(`1.0.0", "`, 10_000) + `1.0.0"]}`
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/org/web/tags/list" {
			t.Errorf("asked for %s", r.URL)
		}
		if endless {
			w.Header().Set("Link", `<?more>; rel="next"`)
			io.WriteString(w, many)
			return
		}
		w.Header().Set("Link", links[r.URL.RawQuery])
		io.WriteString(w, pages[r.URL.RawQuery])
	})
	tags := func() ([]string, error) {
		s := session(t, srv.options())
		var got []string
		err := s.registry(reference.Reference{Scheme: reference.OCI, Location: strings.TrimPrefix(srv.URL, "https://") + "/org/web"}, FromUser, func(reg *registry) (err error) {
			got, err = reg.tags(t.Context())
			return err
		})
		return got, err
	}
	got, err := tags()
	if want := []string{"1.0.0", "2.0.0", "10.0.0+build", "3.0.0", "4.0.0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("tags %q, %v", got, err)
	}
	endless = true
	if got, err := tags(); !errors.Is(err, diag.ErrLimit) {
		t.Errorf("%d tags, %v", len(got), err)
	}
}
