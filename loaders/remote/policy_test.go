package remote

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/loaders/remote/internal/address"
)

func TestIsPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1": true, "127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "0.0.0.0": false,
		"100.64.0.1": false, "255.255.255.255": false, "224.0.0.1": false, "::1": false, "::": false, "fe80::1": false,
		"fe80::1%eth0": false, "fd00::1": false, "::ffff:127.0.0.1": false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "ff02::1": false,
	} {
		if got := address.IsPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		"example.com": true, "example.com:8443": true, "localhost": false, "LOCALHOST:1": false, "x.localhost": false, "localhost.": false,
		"printer.local": false, "127.1": false,
		"0x7f000001": false, "2130706433": false, "[::1]:443": false, "1.2.3.4": true, "metadata.google.internal": false, "": false,
	} {
		if got := address.IsPublicName(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A name that resolves to an address of this machine is refused as soon as the address is known,
// even after a redirect. The user's proxy is allowed.
func TestPublicOnly(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer srv.Close()
	at := strings.TrimPrefix(srv.URL, "http://")
	c := newClients(nil)
	if _, err := c.public.DialContext(t.Context(), "tcp", at); !errors.Is(err, address.ErrNotPublic) {
		t.Error(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://example.com/", nil)
	if err != nil {
		t.Fatal(err)
	}
	proxy, _ := url.Parse(srv.URL)
	c = newClients(&http.Transport{Proxy: http.ProxyURL(proxy)})
	resp, err := c.public.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// A registry cannot redirect to this machine or to hosts that only this machine reaches, whatever
// their names. A registry on this machine can.
func TestRegistrySendsElsewhere(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer srv.Close()
	at := strings.TrimPrefix(srv.URL, "http://")
	c := newClients(nil)
	if _, err := c.routed.DialContext(t.Context(), "tcp", at); !errors.Is(err, address.ErrLocal) {
		t.Error(err)
	}
	get := func(c *courier, host string) error {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+host+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for _, to := range []string{at, "localhost:1", "169.254.169.254", "[fe80::1]:1", "0.0.0.0", "[::ffff:127.0.0.1]:1"} {
		if err := get(&courier{clients: c, networks: true, host: "registry.example"}, to); !errors.Is(err, address.ErrLocal) {
			t.Errorf("%s: %v", to, err)
		}
	}
	if err := get(&courier{clients: c, networks: true, host: "127.0.0.1:1"}, at); err != nil {
		t.Error(err)
	}
}

// Other users can see the arguments of a program.
func TestGitHidesCredentials(t *testing.T) {
	needGit(t)
	for _, text := range []string{"https://me:canary@8.8.8.8/r.git", "https://canary@8.8.8.8/r.git"} {
		for _, from := range []Origin{FromUser, FromFetched} {
			g, err := newGit(t.Context(), parse(t, text), from)
			if err != nil {
				t.Fatal(err)
			}
			if g.url != "https://8.8.8.8/r.git" {
				t.Errorf("git is given %s", g.url)
			}
		}
	}
}

// git gets the part of the user's environment that it needs. For fetched content it gets nothing
// that belongs to the user.
func TestGitEnvironment(t *testing.T) {
	needGit(t)
	t.Setenv("KUBECONFIG", "canary")
	t.Setenv("SSH_AUTH_SOCK", "agent")
	t.Setenv("no_proxy", "agent")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "url.https://canary2@host/.insteadOf")
	t.Setenv("GIT_CONFIG_VALUE_0", "https://host/")
	for from, want := range map[Origin][]string{
		FromUser: {"SSH_AUTH_SOCK=agent", "GIT_ALLOW_PROTOCOL=https:ssh:https", "GIT_CONFIG_KEY_0=url.https://canary2@host/.insteadOf", "GIT_TERMINAL_PROMPT=0"},
		FromFetched: {"HOME=/dev/null", "GIT_ALLOW_PROTOCOL=https", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_KEY_1=http.followRedirects",
			"GIT_CONFIG_VALUE_1=false"},
	} {
		g, err := newGit(t.Context(), parse(t, "https://8.8.8.8/r.git"), from)
		if err != nil {
			t.Fatal(err)
		}
		env := strings.Join(g.Env, "\n") + "\n"
		for _, w := range want {
			if !strings.Contains(env, w+"\n") {
				t.Errorf("%d: no %s in\n%s", from, w, env)
			}
		}
		if strings.Contains(env, "canary\n") ||
			from == FromFetched && (strings.Contains(env, "canary2") || strings.Contains(env, "agent")) {
			t.Errorf("%d: git gets\n%s", from, env)
		}
	}
}

// References in fetched content are reached at a checked address or through the proxy for all other
// fetches.
func TestPublicWay(t *testing.T) {
	direct := func(*http.Request) (*url.URL, error) { return nil, nil }
	proxy := func(*http.Request) (*url.URL, error) { return url.Parse("http://proxy:1") }
	for _, test := range []struct {
		text  string
		proxy func(*http.Request) (*url.URL, error)
		want  []string
	}{
		{"https://localhost/r.git", direct, nil},
		{"https://8.8.8.8:8443/r.git", direct, []string{"http.curloptResolve", "8.8.8.8:8443:8.8.8.8"}},
		{"https://host.invalid/r.git", proxy, []string{"http.proxy", "http://proxy:1"}},
	} {
		got, err := publicWay(t.Context(), parse(t, test.text), test.proxy)
		if !slices.Equal(got, test.want) || (test.want == nil) != errors.Is(err, ErrRefused) {
			t.Errorf("%s: %q, %v", test.text, got, err)
		}
	}
}
