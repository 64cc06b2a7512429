package shared

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/dev/sharedtest"
	"github.com/krmflow/krmflow/krm"
)

// A way is a protocol and the abilities of its server.
type way struct {
	name         string
	http         bool
	zstd, inline bool
	maxBatch     int64
}

var ways = []way{
	{name: "grpc"}, {name: "grpc zstd", zstd: true}, {name: "grpc inline", inline: true}, {name: "grpc small batches", maxBatch: 2000},
	{name: "grpc small batches zstd", maxBatch: 2000, zstd: true},
	{name: "http", http: true}, {name: "http zstd", http: true, zstd: true},
}

// serve starts a server for a store.
func (w way) serve(t *testing.T) (*store, string) {
	s := newStore()
	s.zstd, s.inline, s.maxBatch = w.zstd, w.inline, w.maxBatch
	if w.http {
		return s, s.serveHTTP(t)
	}
	return s, s.serveGRPC(t)
}

func forEachWay(t *testing.T, f func(t *testing.T, w way)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { f(t, w) })
	}
}

// With every protocol, another client gets the stored results and nothing else.
func TestClientsShareResults(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		s, address := w.serve(t)
		exchange(t, Options{Address: address}, Options{Address: address + "/", ReadOnly: true}, "empty", "text", "noise", "large", "larger")
		if w.maxBatch > 0 && int64(s.largest) > w.maxBatch {
			t.Errorf("a batch of %d bytes, more than %d", s.largest, w.maxBatch)
		}
		if n := s.count("GetCapabilities"); n > 2 {
			t.Errorf("two clients ask %d times what the server can do", n)
		}
	})
}

// A server that does not answer a request is not asked again. Only one of the waiting callers gets
// the error.
func TestSilentServerIsNotAskedAgain(t *testing.T) {
	methods := map[bool][]string{false: {"GetCapabilities", "GetActionResult", "Read", "BatchUpdateBlobs", "UpdateActionResult", "Write"},
		true: {"GET ac", "GET cas", "PUT cas", "PUT ac"}}
	for _, w := range ways {
		for _, method := range methods[w.http] {
			if (method == "Read" && w.inline) || (method == "Write" && w.maxBatch == 0) {
				continue
			}
			t.Run(w.name+" "+method, func(t *testing.T) {
				t.Parallel() // they wait
				s, address := w.serve(t)
				key := krm.DigestOf([]byte("key"))
				s.keep(key, content)
				done := make(chan struct{})
				t.Cleanup(func() { close(done) })
				s.before = func(name string, ctx context.Context) error {
					if name == method {
						select {
						case <-ctx.Done():
							return ctx.Err() // an answer now could arrive just before the client stops waiting
						case <-done:
						}
					}
					return nil
				}
				noise := make([]byte, 10_000) // too large for a batch of 2000 bytes
				for i := range noise {
					noise[i] = byte(rand.Int())
				}
				c := open(t, Options{Address: address, Timeout: 300 * time.Millisecond})
				told := &atomic.Int32{}
				var all sync.WaitGroup
				for i := range 8 {
					all.Go(func() {
						_, err := c.Get(t.Context(), key)
						perr := c.Put(t.Context(), krm.DigestOf([]byte{byte(i)}), noise)
						for _, err := range []error{err, perr} {
							if err != nil && !errors.Is(err, fs.ErrNotExist) {
								told.Add(1)
							}
						}
					})
				}
				all.Wait()
				if told.Load() != 1 {
					t.Errorf("%d callers were told, not 1", told.Load())
				}
				if _, err := c.Get(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
			})
		}
	}
}

// A failed connection is tried only once.
func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts but never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	nobody, err := sharedtest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"grpc://", "http://", "grpcs://", "https://"} {
		mustGoOff(t, Options{Address: scheme + l.Addr().String(), Timeout: 300 * time.Millisecond}, "")
		mustGoOff(t, Options{Address: scheme + nobody}, "refused")
	}
}

func TestServerErrorsAreReported(t *testing.T) {
	// When a fault is reported: once, every time up to maxFaults, or once with the cache turned
	// off.
	const once, always, off = "once", "always", "off"
	cases := []struct {
		name   string
		way    way
		method string
		answer error
		put    bool
		want   string
	}{
		{"no rights", ways[0], "GetActionResult", status.Error(codes.PermissionDenied, "go away"), false, off},
		{"no rights to put", ways[0], "BatchUpdateBlobs", status.Error(codes.PermissionDenied, "go away"), true, once},
		{"no such service", ways[0], "GetCapabilities", status.Error(codes.Unimplemented, "unknown service"), false, off},
		{"no such instance", ways[0], "GetCapabilities", status.Error(codes.NotFound, "no instance"), false, off},
		{"gone", ways[0], "GetActionResult", status.Error(codes.Unavailable, "shutting down"), false, off},
		{"broken", ways[0], "GetActionResult", status.Error(codes.Internal, "a bug"), false, always},
		{"broken blob", ways[0], "Read", status.Error(codes.DataLoss, "a disk"), false, always},
		{"full", ways[0], "BatchUpdateBlobs", status.Error(codes.ResourceExhausted, "full"), true, always},
		{"something missing", ways[0], "UpdateActionResult", status.Error(codes.FailedPrecondition, "missing"), true, always},
		{"no place", ways[0], "UpdateActionResult", status.Error(codes.NotFound, "no place"), true, once},
		{"no place for a blob", ways[3], "Write", status.Error(codes.NotFound, "no place"), true, once},
		{"redirection", ways[5], "GET ac", httpAnswer{302, map[string]string{"Location": "http://127.0.0.1:1/"}, nil}, false, off},
		{"redirected blob", ways[5], "GET cas", httpAnswer{307, map[string]string{"Location": "http://127.0.0.1:1/"}, nil}, false, off},
		{"redirected put", ways[5], "PUT ac", httpAnswer{307, map[string]string{"Location": "http://127.0.0.1:1/"}, nil}, true, once},
		{"no rights", ways[5], "GET ac", httpAnswer{401, nil, nil}, false, off},
		{"no rights to put", ways[5], "PUT cas", httpAnswer{403, nil, nil}, true, once},
		{"no place", ways[5], "PUT cas", httpAnswer{404, nil, nil}, true, once},
		{"broken", ways[5], "GET ac", httpAnswer{500, nil, nil}, false, always},
		{"busy", ways[5], "GET ac", httpAnswer{503, nil, nil}, false, off},
		{"cut", ways[5], "GET cas", httpAnswer{0, map[string]string{"Content-Length": "72000"},
			func() io.Reader { return strings.NewReader("kind: ConfigMap") }}, false, off},
		{"a part", ways[5], "GET cas", httpAnswer{206, nil, func() io.Reader { return bytes.NewReader(content) }}, false, always},
	}
	for _, x := range cases {
		t.Run(x.way.name+" "+x.name, func(t *testing.T) {
			s, address := x.way.serve(t)
			key := krm.DigestOf([]byte("key"))
			s.keep(key, content)
			s.before = func(name string, _ context.Context) error {
				if name == x.method {
					return x.answer
				}
				return nil
			}
			c := open(t, Options{Address: address, Timeout: time.Minute})
			told := 0
			for range 5 {
				var err error
				if x.put {
					err = c.Put(t.Context(), krm.DigestOf([]byte("other")), content)
				} else {
					_, err = c.Get(t.Context(), key)
				}
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					told++
				}
			}
			if want := map[string]int{once: 1, off: 1, always: maxFaults}[x.want]; told != want {
				t.Errorf("told %d times, want %d", told, want)
			}
			got, err := c.Get(t.Context(), key)
			if works := x.put; works != (err == nil) || works && !bytes.Equal(got, content) {
				t.Errorf("afterwards: %d bytes, %v", len(got), err)
			}
		})
	}
}

func TestServerCapabilitiesAreRespected(t *testing.T) {
	s := newStore()
	s.function = 9
	mustGoOff(t, Options{Address: s.serveGRPC(t)}, "does not support SHA-256")

	s = newStore()
	s.updates = false
	c := open(t, Options{Address: s.serveGRPC(t)})
	s.keep(krm.Digest{1}, content)
	if err := c.Put(t.Context(), krm.Digest{}, content); err == nil || !strings.Contains(err.Error(), "it does not accept results") {
		t.Error(err)
	}
	if err := c.Put(t.Context(), krm.Digest{}, content); err != nil {
		t.Error(err)
	}
	if got, err := c.Get(t.Context(), krm.Digest{1}); !bytes.Equal(got, content) {
		t.Error(err)
	}
	if s.count("BatchUpdateBlobs") != 0 {
		t.Error("something was sent to a server that takes nothing")
	}
}

// With ReadOnly the client uploads nothing. Without any use it sends no request at all.
func TestReadOnly(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		s, address := w.serve(t)
		c := open(t, Options{Address: address, ReadOnly: true})
		if err := c.Put(t.Context(), krm.Digest{}, content); err != nil {
			t.Error(err)
		}
		if len(s.calls) != 0 {
			t.Errorf("it was asked: %v", s.calls)
		}
	})
}

func TestTooLarge(t *testing.T) {
	s := newStore()
	c := open(t, Options{Address: s.serveGRPC(t)})
	if err := c.Put(t.Context(), krm.Digest{}, make([]byte, MaxBlob+1)); diag.CodeOf(err) != diag.SharedCache {
		t.Error(err)
	}
	if len(s.calls) != 0 {
		t.Errorf("it was asked: %v", s.calls)
	}
}

// A cancelled caller gets the cancellation, and the next caller still asks the server.
func TestCancellationDoesNotDisableServer(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		s, address := w.serve(t)
		key := krm.DigestOf([]byte("key"))
		s.keep(key, content)
		c := open(t, Options{Address: address, Timeout: time.Minute})
		for range 2 * maxFaults {
			ctx, cancel := context.WithCancel(t.Context())
			s.mu.Lock()
			s.before = func(string, context.Context) error {
				cancel()
				<-ctx.Done()
				return nil
			}
			s.mu.Unlock()
			if got, err := c.Get(ctx, key); err == nil && !bytes.Equal(got, content) || err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if err := c.Put(ctx, key, content); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		s.mu.Lock()
		s.before = nil
		s.mu.Unlock()
		if got, err := c.Get(t.Context(), key); !bytes.Equal(got, content) {
			t.Error(err)
		}
	})
}

// A server that is slow on every answer is turned off before the delays add up.
func TestSlowServerIsAbandoned(t *testing.T) {
	c := open(t, Options{Address: "grpc://127.0.0.1:1", Timeout: time.Second})
	for range 100 {
		if err := c.judge(t.Context(), nil, patience, false); err != nil {
			t.Fatal(err)
		}
	}
	if c.off {
		t.Error("a server that answers soon enough is not asked any more")
	}
	for range 3 {
		c.judge(t.Context(), fs.ErrNotExist, 900*time.Millisecond, false)
	}
	if c.off {
		t.Error("1.2 s are too much")
	}
	for range 3 {
		c.judge(t.Context(), nil, 900*time.Millisecond, true)
	}
	_, err := c.Get(t.Context(), krm.Digest{})
	if err == nil || !strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
	if _, err := c.Get(t.Context(), krm.Digest{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A credential helper has its own timeout, which is independent of the timeout for the server.
func TestSlowHelper(t *testing.T) {
	for _, w := range []way{ways[0], ways[5]} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s, address := w.serve(t)
			c := open(t, Options{Address: address, Timeout: 1500 * time.Millisecond, Helper: helper(t, "{}\nEND\nsleep 2\ncat <<'END'")})
			s.keep(krm.Digest{1}, content)
			if got, err := c.Get(t.Context(), krm.Digest{1}); !bytes.Equal(got, content) {
				t.Error(err)
			}
			if err := c.Put(t.Context(), krm.Digest{2}, content); err != nil {
				t.Error(err)
			}
			if c.delay > time.Second {
				t.Errorf("that counts for the server: %s", c.delay)
			}
		})
	}
}

// Secrets that a server echoes appear in no message.
func TestSecretsStaySecret(t *testing.T) {
	echo := func(ctx context.Context) string {
		md, _ := metadata.FromIncomingContext(ctx)
		return fmt.Sprint(md)
	}
	for _, o := range []Options{{Headers: []string{"Authorization=Bearer open-sesame", "x-other=abracadabra"}},
		{Headers: []string{"x-key=open-sesame"}}} {
		s := newStore()
		s.before = func(name string, ctx context.Context) error {
			return status.Error(codes.Unauthenticated, "who is "+echo(ctx))
		}
		o.Address = strings.Replace(s.serveGRPC(t), "://", "://ci:xyzzy-plugh@", 1)
		c := open(t, o)
		_, err := c.Get(t.Context(), krm.Digest{})
		if err == nil || strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "abra") ||
			strings.Contains(err.Error(), "xyzzy") || strings.Contains(err.Error(), "plugh") {
			t.Errorf("%v", err)
		}
		if got := fmt.Sprint(echoOf(s, c, t)); !strings.Contains(got, "sesame") {
			t.Errorf("the header was not sent: %s", got)
		}
	}
	_, err := Open(Options{Address: "grpc://ci:open-sesame@cache.example.com?x=open-sesame"})
	if err == nil || strings.Contains(err.Error(), "sesame") {
		t.Error(err)
	}
	_, err = Open(Options{Address: "grpc://ci:open-sesame@cache.example.com"})
	if diag.CodeOf(err) != diag.Refused || strings.Contains(err.Error(), "sesame") {
		t.Error(err)
	}
	for _, h := range []string{"open-sesame", "x y=open-sesame", "x=open-sesame\n", "host=open-sesame"} {
		if _, err := Open(Options{Address: "grpc://127.0.0.1", Headers: []string{h}}); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: %v", h, err)
		}
	}
}

// echoOf returns the headers of a client's request.
func echoOf(s *store, c *Client, t *testing.T) []header {
	list, err := c.header.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestNilCacheMisses(t *testing.T) {
	var c *Client
	if _, err := c.Get(t.Context(), krm.Digest{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := errors.Join(c.Put(t.Context(), krm.Digest{}, nil), c.Close()); err != nil || c.Plain() {
		t.Error(err)
	}
}
