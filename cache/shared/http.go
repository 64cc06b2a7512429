package shared

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"time"
)

// maxResult is the size limit for a result, in bytes. A result names only one file.
const maxResult = 64 << 10

// An httpServer is a server with results of actions at /ac/ and blobs at /cas/, each named by its
// hash.
type httpServer struct {
	client    *http.Client
	base      url.URL
	header    *headers
	userAgent string
	timeout   time.Duration
}

func newHTTP(o Options, at address, header *headers, config *tls.Config) server {
	connect := min(maxConnect, o.Timeout)
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connect}).DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    connect,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConnsPerHost:    16,
		DisableCompression:     true, // get requests compression itself and limits the decompressed size
	}
	s := &httpServer{header: header, userAgent: o.UserAgent, timeout: o.Timeout,
		base: url.URL{Scheme: at.scheme, Host: at.hostPort(), Path: "/" + at.path}}
	s.client = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s
}

// begin runs the credential helper, so that its time is not counted as delay of the server.
func (s *httpServer) begin(ctx context.Context) error {
	_, err := s.header.list(ctx)
	return err
}

func (s *httpServer) close() { s.client.CloseIdleConnections() }

func (s *httpServer) get(ctx context.Context, e entry) (data []byte, err error) {
	var result []byte
	err = s.send(ctx, http.MethodGet, "ac", blobOf(e.action), nil, s.timeout, func(r *http.Response) error {
		result, err = io.ReadAll(io.LimitReader(r.Body, maxResult+1))
		if len(result) > maxResult {
			err = wrongf("it sent a result of more than %d bytes", maxResult)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	b, content, err := decodeResult(result, e.file)
	if err != nil {
		return nil, err
	}
	if content != nil || b.size == 0 {
		return b.check(content)
	}
	err = s.send(ctx, http.MethodGet, "cas", b, nil, s.timeout+transfer(int(b.size)), func(r *http.Response) error {
		switch encoding := r.Header.Get("Content-Encoding"); encoding {
		case "", "identity":
			data, err = b.read(r.Body)
		case "zstd":
			data, err = b.readCompressed(r.Body)
		default:
			err = wrongf("it sent a blob in the encoding %q, which was not requested", short(encoding))
		}
		return err
	})
	return data, err
}

func (s *httpServer) put(ctx context.Context, e entry, data []byte) error {
	content := blobOf(data)
	if content.size > 0 {
		if err := s.send(ctx, http.MethodPut, "cas", content, data, s.timeout+transfer(len(data)), nil); err != nil {
			return notStored(err)
		}
	}
	return notStored(s.send(ctx, http.MethodPut, "ac", blobOf(e.action), encodeResult(e.file, content), s.timeout, nil))
}

// send sends a request for a blob in a folder and calls read with a successful response.
func (s *httpServer) send(ctx context.Context, method, folder string, b blob, body []byte, timeout time.Duration,
	read func(*http.Response) error) error {
	list, err := s.header.list(ctx)
	if err != nil {
		return err
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var content io.Reader
	if method == http.MethodPut {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base.JoinPath(folder, b.hash()).String(), content)
	if err != nil {
		return wrongf("%w", err)
	}
	for _, h := range list {
		req.Header.Add(h.name, h.value)
	}
	req.Header.Set("User-Agent", s.userAgent)
	if method == http.MethodPut {
		req.Header.Set("Content-Type", "application/octet-stream")
	} else if folder == "cas" && b.size >= minCompressed {
		req.Header.Set("Accept-Encoding", "zstd")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return connectionFailure(err)
	}
	defer resp.Body.Close()
	if err := codeFailure(resp.StatusCode); err != nil || read == nil {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10)) // allows the connection to be reused
		return err
	}
	if err := read(resp); err != nil && caller.Err() == nil {
		return connectionFailure(err)
	}
	return caller.Err()
}

// connectionFailure converts the error of a request or a response to a [*failure].
func connectionFailure(err error) error {
	var u *url.Error
	switch {
	case isFailure(err):
		return err
	case errors.As(err, &u) && u.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return lostf("it did not answer in time")
	case errors.As(err, &u): // the text of u contains the address
		return lostf("%s", short(u.Err.Error()))
	}
	return lostf("%s", short(err.Error()))
}

// codeFailure converts a response status to an error. It returns nil for success.
func codeFailure(code int) error {
	text := http.StatusText(code)
	switch {
	case code == http.StatusNotFound || code == http.StatusGone:
		return fs.ErrNotExist
	case code >= 200 && code < 300 && code != http.StatusPartialContent:
		return nil
	case code >= 300 && code < 400:
		return refusedf("it returned %d %s, and redirects are not followed", code, text)
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusMethodNotAllowed,
		code == http.StatusNotImplemented, code == http.StatusProxyAuthRequired:
		return refusedf("it returned %d %s", code, text)
	case code == http.StatusBadGateway, code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		return lostf("it returned %d %s", code, text)
	}
	return wrongf("it returned %d %s", code, text)
}
