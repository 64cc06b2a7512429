package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote/internal/address"
	"github.com/krmflow/krmflow/loaders/remote/internal/artifact"
	"github.com/krmflow/krmflow/loaders/remote/internal/credentials"
	"github.com/krmflow/krmflow/reference"
)

// A registry is a client for one repository of an OCI registry, with the distribution protocol.
type registry struct {
	http       *http.Client
	base       string // https://host
	host       string // as written by the user
	repository string
	from       Origin
	push       bool // also request permission to push

	mu            sync.Mutex
	authorization string // header accepted by the registry
}

// registry calls use with a client for the repository of r. For a registry on this machine it
// falls back to http.
func (s *Session) registry(r reference.Reference, from Origin, use func(*registry) error) error {
	client := s.client(r, from)
	client.Transport.(*courier).networks = true
	client.CheckRedirect = checkRedirect(true) // after resolving a tag, all content is verified by digest
	reg := &registry{http: client, host: r.Host(), from: from}
	reg.repository = strings.TrimPrefix(r.Location, reg.host+"/")
	reg.base = "https://" + reg.host
	if reg.host == "docker.io" {
		reg.base = "https://registry-1.docker.io"
		if !strings.Contains(reg.repository, "/") {
			reg.repository = "library/" + reg.repository
		}
	}
	err := use(reg)
	if err != nil && from == FromUser && address.IsLoopbackName(reg.host) &&
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		reg.base = "http://" + reg.host
		err = use(reg)
	}
	return reg.explain(r, err)
}

// explain converts an error of the registry to a message for the user.
func (reg *registry) explain(r reference.Reference, err error) error {
	var wrong *digestError
	var status *statusError
	switch {
	case errors.As(err, &wrong):
		return mismatch(r, wrong.want, wrong.got)
	case !errors.As(err, &status):
		return wrap(r, err)
	case status.code == http.StatusNotFound && reg.push:
		return notFetched(r, err, "%s: the repository does not exist or is not writable", status)
	case status.code == http.StatusNotFound:
		return notFetched(r, fs.ErrNotExist, "no such artifact")
	case status.code == http.StatusUnauthorized || status.code == http.StatusForbidden:
		return notFetched(r, err, "%s", status).With(diag.NoCredentials).Hint("log in with podman login or docker login to %s", r.Host())
	}
	return wrap(r, err)
}

// resolve returns the digest of the manifest with a tag.
func (reg *registry) resolve(ctx context.Context, tag string) (krm.Digest, error) {
	resp, err := reg.do(ctx, http.MethodHead, "manifests/"+tag)
	if err != nil {
		return krm.Digest{}, err
	}
	resp.Body.Close()
	if d, err := krm.ParseDigest(resp.Header.Get("Docker-Content-Digest")); err == nil {
		return d, nil
	}
	data, _, err := reg.get(ctx, "manifests/"+tag)
	return krm.DigestOf(data), err
}

// manifest returns the manifest with digest d and verifies it.
func (reg *registry) manifest(ctx context.Context, d krm.Digest) ([]byte, error) {
	data, _, err := reg.get(ctx, "manifests/"+d.String())
	if err != nil {
		return nil, err
	}
	if got := krm.DigestOf(data); got != d {
		return nil, &digestError{want: d, got: got}
	}
	return data, nil
}

// get returns a resource of the repository, at most maxManifest bytes, and the response header.
func (reg *registry) get(ctx context.Context, path string) ([]byte, http.Header, error) {
	resp, err := reg.do(ctx, http.MethodGet, path)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	data, err := readUpTo(maxManifest, resp.ContentLength, resp.Body)
	return data, resp.Header, err
}

// blob returns the blob with a digest. The caller must verify and close it.
func (reg *registry) blob(ctx context.Context, d krm.Digest) (io.ReadCloser, error) {
	resp, err := reg.do(ctx, http.MethodGet, "blobs/"+d.String())
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// do sends a request without a body for a resource of the repository.
func (reg *registry) do(ctx context.Context, method, path string) (*http.Response, error) {
	return reg.send(ctx, method, reg.url(path), "", nil)
}

// url returns the URL of a resource of the repository.
func (reg *registry) url(path string) string { return reg.base + "/v2/" + reg.repository + "/" + path }

// send sends a request. If the registry requires authorization, it authorizes and sends the
// request again.
func (reg *registry) send(ctx context.Context, method, address, mediaType string, body []byte) (*http.Response, error) {
	for try := 0; ; try++ {
		req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", artifact.Accepted)
		if mediaType != "" {
			req.Header.Set("Content-Type", mediaType)
		}
		reg.mu.Lock()
		if reg.authorization != "" {
			req.Header.Set("Authorization", reg.authorization)
		}
		reg.mu.Unlock()
		resp, err := reg.http.Do(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusOK || resp.StatusCode/100 == 2 && method != http.MethodGet && method != http.MethodHead {
			return resp, nil
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || try > 0 {
			return nil, &statusError{resp.StatusCode}
		}
		authorization, err := reg.authorize(ctx, resp.Header.Values("WWW-Authenticate"))
		if err != nil {
			return nil, err
		}
		if authorization == "" {
			return nil, &statusError{resp.StatusCode}
		}
		reg.mu.Lock()
		reg.authorization = authorization
		reg.mu.Unlock()
	}
}

// authorize returns the Authorization header for the challenges of a registry: basic credentials,
// or a token from the token server that the challenge names. It returns an empty header if there
// is no supported challenge or credential.
func (reg *registry) authorize(ctx context.Context, challenges []string) (string, error) {
	var c credentials.Credential
	if reg.from == FromUser {
		var err error
		if c, err = credentials.Stored(ctx, reg.host, reg.repository); err != nil {
			return "", err
		}
	}
	for _, challenge := range challenges {
		scheme, rest, _ := strings.Cut(challenge, " ")
		switch strings.ToLower(scheme) {
		case "basic":
			return c.Basic(), nil
		case "bearer":
			return reg.token(ctx, credentials.Challenge(rest), c)
		}
	}
	return "", nil
}

// maxToken is the size limit for the response of a token server, in bytes.
const maxToken = 1 << 20

// token requests a token from the token server of the registry, with the user's credentials or
// anonymously.
func (reg *registry) token(ctx context.Context, challenge map[string]string, c credentials.Credential) (string, error) {
	realm, err := reg.realm(challenge["realm"])
	if err != nil {
		return "", err
	}
	scope := "repository:" + reg.repository + ":pull"
	if reg.push {
		scope += ",push"
	}
	req, err := c.TokenRequest(ctx, realm, url.Values{"service": {challenge["service"]}, "scope": {scope}})
	if err != nil {
		return "", err
	}
	client := *reg.http
	// the credentials are only for the realm
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", &statusError{resp.StatusCode}
	}
	data, err := readUpTo(maxToken, resp.ContentLength, resp.Body)
	if err != nil {
		return "", err
	}
	var answer struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if json.Unmarshal(data, &answer) != nil || cmp.Or(answer.Token, answer.AccessToken) == "" {
		return "", fmt.Errorf("%s returned no token", realm.Host)
	}
	return "Bearer " + cmp.Or(answer.Token, answer.AccessToken), nil
}

// realm returns the URL of the token server. Because credentials are sent there, it must use
// https if the registry does. It must not be local to this machine unless the registry is, so
// that a registry cannot direct requests to local services.
func (reg *registry) realm(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, errors.New("the registry names no token server")
	}
	if secure := strings.HasPrefix(reg.base, "https:"); u.Scheme != "https" && (secure || u.Scheme != "http") {
		return nil, fmt.Errorf("the registry directs token requests to an address with the scheme %s", diag.Sanitise(u.Scheme))
	}
	if address.IsLocalName(u.Host) && !address.IsLoopbackName(reg.host) {
		return nil, fmt.Errorf("the registry directs token requests to %s: %w", u.Host, address.ErrLocal)
	}
	return u, nil
}
