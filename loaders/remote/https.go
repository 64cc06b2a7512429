package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	getter "github.com/hashicorp/go-getter/v2"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// openHTTPS returns a file, the files of an archive, or, if there is no such file and the reference may name one, a repository.
func (s *Session) openHTTPS(ctx context.Context, r Reference, from Origin) (*Content, error) {
	if r.Archive {
		return s.openArchive(ctx, r, from)
	}
	if !r.Pin.IsZero() {
		if data, err := s.opt.Cache.Get(r.Pin); err == nil {
			return &Content{Version: Version{Scheme: HTTPS, Digest: r.Pin}, data: data}, nil
		}
	}
	data, err := s.fetchFile(ctx, r, from)
	if err == nil && isWebPage(data) {
		err = notFetched(r, errWebPage, "%s", errWebPage)
	}
	if r.either && (isNotFound(err) || errors.Is(err, errWebPage)) {
		return s.openRepository(ctx, r, from, err)
	}
	if err != nil {
		return nil, err
	}
	d, err := s.opt.Cache.Put(data)
	if err != nil {
		return nil, err
	}
	return &Content{Version: Version{Scheme: HTTPS, Digest: d}, data: data}, nil
}

// errWebPage says that a server sends what people look at.
var errWebPage = errors.New("what came is a web page")

// isWebPage reports whether data is HTML: what servers send in place of what does not exist, and what no manifest looks like.
func isWebPage(data []byte) bool {
	start := strings.ToLower(string(bytes.TrimSpace(data[:min(len(data), 512)])))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}

// openRepository takes a URL that names no file for that of a repository, as kustomize does.
func (s *Session) openRepository(ctx context.Context, r Reference, from Origin, errFile error) (*Content, error) {
	repo, err := parseGit(r.Location)
	if err != nil {
		return nil, errFile
	}
	c, err := s.Open(ctx, repo, from)
	if err != nil {
		return nil, diag.AsError(err).Hint("as a file it is not there either: %s", cause(errFile))
	}
	v := c.Version
	v.location, v.path = repo.Location, repo.Path
	return &Content{Version: v, Tree: c.Tree}, nil
}

// fetchFile returns the bytes that are behind a URL, which have the digest that the reference asks for.
func (s *Session) fetchFile(ctx context.Context, r Reference, from Origin) (data []byte, err error) {
	if s.opt.Offline {
		return nil, &OfflineError{Reference: r.String()}
	}
	err = s.fetch(ctx, r, func(ctx context.Context) error {
		dir, err := s.opt.Cache.TempDir()
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "file")
		if err := s.get(ctx, r, from, file); err != nil {
			return err
		}
		data, err = os.ReadFile(file)
		return err
	})
	if err != nil {
		return nil, explain(wrap(r, err))
	}
	if got := krm.DigestOf(data); !r.Pin.IsZero() && got != r.Pin {
		return nil, mismatch(r, r.Pin, got)
	}
	return data, nil
}

// explain adds what to do about an answer of a server.
func explain(err error) error {
	var status *statusError
	if errors.As(err, &status) && (status.code == http.StatusUnauthorized || status.code == http.StatusForbidden) {
		return diag.AsError(err).Hint("files are fetched without credentials: what needs them can be fetched by git or from a registry")
	}
	return err
}

// get fetches a URL into a file. Of what the library can do it uses this alone: it detects nothing, unpacks nothing, follows no
// header of the server's to other places and sends no credentials of the user's.
func (s *Session) get(ctx context.Context, r Reference, from Origin, file string) error {
	u, err := url.Parse(r.Location)
	if err != nil {
		return err
	}
	client := s.client(r, from)
	client.Transport = &exactly{url: u, max: s.opt.MaxBytes, next: client.Transport}
	// The library cuts URLs and their parameters: it is given the server alone, and the request gets the URL again.
	source := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/file"}).String()
	hg := &getter.HttpGetter{Client: client, DoNotCheckHeadFirst: true, XTerraformGetDisabled: true, MaxBytes: s.opt.MaxBytes + 1}
	c := &getter.Client{Getters: []getter.Getter{hg}, Decompressors: map[string]getter.Decompressor{}, DisableSymlinks: true}
	_, err = c.Get(ctx, &getter.Request{Src: source, Dst: file, GetMode: getter.ModeFile, Umask: 0o077, DisableSymlinks: true})
	return err
}

// exactly sends the first request of a fetch to a URL as it is written, and sees to it that the answer is whole: a status, a length or
// an encoding that is not what it must be is an error.
type exactly struct {
	url  *url.URL
	max  int64
	next http.RoundTripper
}

func (e *exactly) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if req.Response == nil { // not redirected
		req.URL = e.url
		if user := e.url.User; user != nil {
			password, _ := user.Password()
			req.SetBasicAuth(user.Username(), password)
		}
	}
	resp, err := e.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if location, err := req.URL.Parse(resp.Header.Get("Location")); err == nil && resp.StatusCode/100 == 3 {
		resp.Header.Set("Location", location.String())
		return resp, nil
	}
	switch encoding := resp.Header.Get("Content-Encoding"); {
	case resp.StatusCode != http.StatusOK:
		err = &statusError{resp.StatusCode}
	case encoding != "" && encoding != "identity":
		err = fmt.Errorf("the server sends it in the encoding %q, which was not asked for", encoding)
	case resp.ContentLength > e.max:
		err = tooLong(e.max)
	default:
		resp.Body = &bounded{ReadCloser: resp.Body, left: e.max, max: e.max}
		return resp, nil
	}
	resp.Body.Close()
	return nil, err
}

func tooLong(limit int64) error {
	return diag.Limitf("it has more than %s", diag.Size(limit)).Hint("--max-fetch-bytes sets how much one fetch may bring")
}

// bounded is a body of which no more than max bytes can be read.
type bounded struct {
	io.ReadCloser
	left, max int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, tooLong(b.max)
	}
	return n, err
}

// openArchive returns the files of an archive, which is known by its digest.
func (s *Session) openArchive(ctx context.Context, r Reference, from Origin) (*Content, error) {
	unpacked := func(ctx context.Context) (*cache.Tree, error) {
		data, err := s.opt.Cache.Get(r.Pin)
		if err != nil {
			if data, err = s.fetchFile(ctx, r, from); err != nil {
				return nil, err
			}
		}
		tree, err := unpack(s.opt.Cache, s.limits(), archiveKind(r.Location), data)
		if err != nil {
			return nil, wrap(r, err)
		}
		return tree, s.opt.Cache.Record("archive", r.Pin.String(), tree.Digest)
	}
	tree, err := s.tree("archive", r.Pin.String())
	if err != nil {
		if tree, err = unpacked(ctx); err != nil {
			return nil, err
		}
	}
	later := context.WithoutCancel(ctx)
	tree.Restore = func() error { _, err := unpacked(later); return err }
	return &Content{Version: Version{Scheme: HTTPS, Digest: r.Pin}, Tree: tree}, nil
}
