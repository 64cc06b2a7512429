package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders/remote/internal/address"
	"github.com/krmflow/krmflow/loaders/remote/internal/retry"
	"github.com/krmflow/krmflow/reference"
)

// clients are the HTTP transports of a session.
type clients struct {
	any    *http.Transport // connects to any address
	routed *http.Transport // connects to public and private networks, but not to local addresses
	public *http.Transport // connects to public addresses only
}

func (c clients) close() {
	c.any.CloseIdleConnections()
	c.routed.CloseIdleConnections()
	c.public.CloseIdleConnections()
}

func newClients(base *http.Transport) clients {
	if base == nil {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	}
	any := base.Clone()
	any.TLSHandshakeTimeout = 10 * time.Second
	any.ResponseHeaderTimeout = 15 * time.Second
	any.MaxResponseHeaderBytes = 64 << 10
	any.IdleConnTimeout = 30 * time.Second
	any.DisableCompression = true // the transferred bytes are counted and hashed
	if any.TLSClientConfig == nil {
		any.TLSClientConfig = &tls.Config{}
	}
	any.TLSClientConfig.MinVersion = tls.VersionTLS12
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	any.DialContext = dialer.DialContext
	return clients{any: any, routed: checked(any, address.CheckRouted), public: checked(any, address.CheckPublic)}
}

// checked returns a transport that refuses connections to addresses for which check returns an
// error. It checks the resolved address, so a name cannot bypass it. With a proxy, the proxy
// resolves names. Then only the name is checked; see [address.IsPublicName] and
// [address.IsLocalName].
func checked(base *http.Transport, check func(address string) error) *http.Transport {
	t := base.Clone()
	var proxies sync.Map // addresses of proxies, which the user has configured
	if base.Proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			u, err := base.Proxy(r)
			if u != nil {
				port := cmp.Or(u.Port(), map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme], "80")
				proxies.Store(net.JoinHostPort(u.Hostname(), port), true)
			}
			return u, err
		}
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error { return check(address) }}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if _, ok := proxies.Load(address); ok {
			return base.DialContext(ctx, network, address)
		}
		return dialer.DialContext(ctx, network, address)
	}
	return t
}

// A courier is the [http.RoundTripper] for one fetch. It selects a transport for each host and
// retries transient failures.
//
// The host of a user's reference is trusted. A server can redirect to other hosts, and a registry
// names hosts for its tokens and blobs; these are not chosen by the user. A request to them must
// not reach services of the user's machine or network, so they must be public, with the
// exceptions below.
type courier struct {
	clients
	from Origin
	host string // host of the reference
	// networks also allows hosts in the user's networks, because a private registry may have its
	// tokens and blobs on different hosts there. Only a registry on this machine may name other
	// hosts on this machine.
	networks bool
	retried  func(attempt int, wait time.Duration)
	take     func(int64) error // adds received bytes to the total
}

// A statusError is a response with an error status.
type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("the server returned %d %s", e.code, http.StatusText(e.code))
}

// way returns the transport for a host, or an error if the host must not be reached.
func (c *courier) way(host string) (*http.Transport, error) {
	switch {
	case c.from == FromUser && (strings.EqualFold(host, c.host) || c.networks && address.IsLoopbackName(c.host)):
		return c.any, nil
	case c.from == FromUser && c.networks && address.IsLocalName(host):
		return nil, address.ErrLocal
	case c.from == FromUser && c.networks:
		return c.routed, nil
	case !address.IsPublicName(host):
		return nil, address.ErrNotPublic
	}
	return c.public, nil
}

// RoundTrip implements [http.RoundTripper].
func (c *courier) RoundTrip(req *http.Request) (*http.Response, error) {
	t, err := c.way(req.URL.Host)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", "krmflow")
	for attempt := 1; ; attempt++ {
		resp, err := t.RoundTrip(req)
		if resp != nil {
			resp.Body = countedBody{resp.Body, c.take}
		}
		if attempt > retry.Max || !mayPass(resp, err) || !rewind(req) {
			return resp, err
		}
		wait := retry.Backoff(attempt)
		if resp != nil {
			wait = min(retryAfter(resp.Header, attempt), retry.MaxWait)
			io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10))
		}
		if !retry.Pause(req.Context(), attempt, wait, c.retried) {
			return resp, err
		}
		if resp != nil {
			resp.Body.Close()
		}
	}
}

// mayPass reports whether sending the request again may succeed. All requests are idempotent.
func mayPass(resp *http.Response, err error) bool {
	if err != nil {
		return retry.IsReset(err)
	}
	return isTransient(resp.StatusCode)
}

// rewind resets the request body for a retry and reports whether that is possible.
func rewind(req *http.Request) bool {
	if req.Body == nil || req.Body == http.NoBody {
		return true
	}
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	req.Body = body
	return err == nil
}

func isTransient(code int) bool {
	switch code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		http.StatusInternalServerError:
		return true
	}
	return false
}

// retryAfter returns the delay before the next attempt: the Retry-After header, or the [backoff].
func retryAfter(h http.Header, attempt int) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n < 1<<20 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return retry.Backoff(attempt)
}

// maxRedirects is the limit for redirects of one request.
const maxRedirects = 3

// checkRedirect returns a redirect policy. Redirects within a host are allowed. Redirects to a
// different host are only allowed if pinned is set, which means that the content will be verified
// against a known digest.
func checkRedirect(pinned bool) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		first := via[0].URL
		req.Header.Del("Referer") // an address may contain a secret
		if !strings.EqualFold(req.URL.Host, first.Host) {
			req.Header.Del("Authorization") // also for a different port of the same host
		}
		switch {
		case len(via) > maxRedirects:
			return fmt.Errorf("redirected more than %d times", maxRedirects)
		case req.URL.Scheme != "https" && (first.Scheme != "http" || req.URL.Scheme != "http"):
			return fmt.Errorf("redirected from %s to %s", first.Scheme, req.URL.Scheme)
		case !strings.EqualFold(req.URL.Host, first.Host) && !pinned:
			return diag.AsError(fmt.Errorf("redirected from %s to %s", first.Host, req.URL.Host)).
				Hint("only content with a digest may come from a different host: add the digest, or refer to that host directly")
		}
		return nil
	}
}

// refuseRedirect is a redirect policy that refuses every redirect.
func refuseRedirect(req *http.Request, _ []*http.Request) error {
	return diag.AsError(fmt.Errorf("redirected to %s", diag.Redact(req.URL.String()))).
		Hint("an address proves only the origin of its own content: name the redirect target instead")
}

// retried returns a function that reports a retry as a progress event.
func (s *Session) retried(r reference.Reference) func(int, time.Duration) {
	return func(attempt int, wait time.Duration) {
		s.tell(Event{Reference: r.String(), State: Retrying, Attempt: attempt, Wait: wait})
	}
}

// client returns the HTTP client for one fetch.
func (s *Session) client(r reference.Reference, from Origin) *http.Client {
	c := &courier{clients: s.clients(), from: from, host: r.Host(), retried: s.retried(r), take: s.take}
	check := checkRedirect(!r.Pin.IsZero())
	if r.Direct {
		check = refuseRedirect
	}
	return &http.Client{Transport: c, CheckRedirect: check}
}

// isNotFound reports whether err is a client error status (4xx), other than 429.
func isNotFound(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.code >= 400 && status.code < 500 && status.code != http.StatusTooManyRequests
}
