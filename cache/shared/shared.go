// Package shared is a client for a cache that is shared between machines: a server with the
// Remote Execution API v2 of Bazel (its ActionCache and ContentAddressableStorage) or its plain
// HTTP form.
//
// A server may be slow, unavailable, full or faulty. The client limits the total delay that it
// causes and verifies every value against its digest, so a bad server costs a bounded delay and
// never corrupts a result.
package shared

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// MaxBlob is the size limit for a value, in bytes. Larger values are neither sent nor accepted.
const MaxBlob = 64 << 20

const (
	// rate is the minimum transfer rate in bytes per second. The time for a payload at this rate
	// is added to Options.Timeout.
	rate = 4 << 20
	// patience is the expected duration of a call. Any time beyond it counts as delay.
	patience = 500 * time.Millisecond
	// maxFaults is the number of wrong answers after which the client stops asking the server,
	// and the number of failed uploads after which it stops uploading.
	maxFaults = 3
)

// Options select a server and configure the client.
type Options struct {
	// Address is grpc://, grpcs://, http:// or https://, followed by a host and a path. For gRPC
	// the path is the instance name.
	Address string
	// ReadOnly turns [Client.Put] into a no-op.
	ReadOnly bool
	// CA is a file with CA certificates for verifying the server. If empty, the system's
	// certificates are used.
	CA string
	// Cert and Key are files with the client certificate and its key, or empty.
	Cert, Key string
	// Headers are additional request headers of the form NAME=VALUE. The values are secret.
	Headers []string
	// Helper is a credential helper that prints additional headers. As in Bazel, it is run as
	// "PROGRAM get" with the address on stdin.
	Helper string
	// AllowPlain permits sending credentials over a network without TLS.
	AllowPlain bool
	// Timeout is the time limit of a request, without the time to transfer its payload. Zero
	// means 5 s.
	Timeout time.Duration
	// UserAgent is the User-Agent of requests. Empty means krmflow.
	UserAgent string
}

// A Client accesses a shared cache. It is safe for concurrent use. It connects on first use. A
// nil *Client is an empty cache that stores nothing.
//
// The first error that makes a server unusable is returned once. After that the client is
// switched off: Get misses and Put does nothing, so that a run continues at full speed without
// the server.
type Client struct {
	o      Options
	at     address
	header *headers

	mu       sync.Mutex
	off      bool // the server is no longer used
	readOnly bool // nothing is uploaded
	why      error
	faults   int // wrong answers
	refusals int // failed uploads
	delay    time.Duration
	server   server
	dial     func() (server, error)
	turn     chan struct{} // semaphore held while connecting
}

// A server is the protocol implementation under a Client. Its errors are [*failure]s or
// [fs.ErrNotExist].
type server interface {
	// begin queries the capabilities of the server. It is called until it succeeds once.
	begin(ctx context.Context) error
	get(ctx context.Context, e entry) ([]byte, error)
	put(ctx context.Context, e entry, data []byte) error
	close()
}

// Open returns a client. It only fails for invalid options; it does not connect to the server.
func Open(o Options) (*Client, error) {
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	if o.UserAgent == "" {
		o.UserAgent = "krmflow"
	}
	at, err := parseAddress(o.Address)
	if err != nil {
		return nil, err
	}
	header, err := newHeaders(o, at)
	if err != nil {
		return nil, err
	}
	tls, err := tlsConfig(o, at)
	if err != nil {
		return nil, err
	}
	c := &Client{o: o, at: at, header: header, readOnly: o.ReadOnly, turn: make(chan struct{}, 1)}
	if at.http {
		c.dial = func() (server, error) { return newHTTP(o, at, header, tls), nil }
	} else {
		c.dial = func() (server, error) { return newGRPC(o, at, header, tls) }
	}
	return c, nil
}

// Plain reports whether answers cross a network without TLS, where others can read and change
// them.
func (c *Client) Plain() bool { return c != nil && c.at.plain() && !c.at.loopback() }

// Get returns the value for key. The error is [fs.ErrNotExist] if there is none or the client is
// switched off. Any other error describes a faulty answer, or the reason for switching off; it is
// returned once. After every error the caller can proceed as for a miss.
func (c *Client) Get(ctx context.Context, key krm.Digest) ([]byte, error) {
	s, err := c.connect(ctx)
	if s == nil || err != nil {
		return nil, absentIfNil(err)
	}
	begin := time.Now()
	data, err := s.get(ctx, newEntry(key))
	return data, c.judge(ctx, err, time.Since(begin)-transfer(len(data)), false)
}

// Put stores data for key. It does nothing if the client is read-only or switched off. An error
// gives the reason why data was not stored; the caller can continue.
func (c *Client) Put(ctx context.Context, key krm.Digest, data []byte) error {
	if c == nil || !c.writes() {
		return nil
	}
	if len(data) > MaxBlob {
		return diag.SharedCache.Errorf("%d bytes are too much for the shared cache, which stores up to %d", len(data), MaxBlob)
	}
	s, err := c.connect(ctx)
	if s == nil || err != nil {
		return err
	}
	begin := time.Now()
	err = s.put(ctx, newEntry(key), data)
	return c.judge(ctx, err, time.Since(begin)-transfer(len(data)), true)
}

// Close closes the connection and switches the client off.
func (c *Client) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off, c.why = true, nil
	if c.server != nil {
		c.server.close()
		c.server = nil
	}
	return nil
}

func absentIfNil(err error) error {
	if err == nil {
		return fs.ErrNotExist
	}
	return err
}

// writes reports whether uploads are allowed.
func (c *Client) writes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.readOnly
}

// connected returns the server if there is a connection; wanted reports whether to connect. If
// the client is switched off, the first call returns the reason as err, and later calls return
// neither a server nor an error.
func (c *Client) connected() (s server, wanted bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off {
		err, c.why = c.why, nil
		return nil, false, err
	}
	return c.server, c.server == nil, nil
}

// connect returns the server and connects to it if necessary. It returns neither a server nor an
// error if the client is switched off.
func (c *Client) connect(ctx context.Context) (server, error) {
	if c == nil {
		return nil, nil
	}
	s, wanted, err := c.connected()
	if !wanted {
		return s, err
	}
	select { // one goroutine connects, the others wait
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s, wanted, err = c.connected(); !wanted {
		return s, err
	}
	if s, err = c.dial(); err == nil {
		if err = s.begin(ctx); err != nil {
			s.close()
		}
	}
	if err != nil {
		if err = c.judge(ctx, err, 0, false); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off { // closed during connect
		s.close()
		return nil, nil
	}
	c.server = s
	return s, nil
}

// judge converts err, the error of a call, to the error for the caller of the client, and decides
// whether the client continues to use the server. took is the duration of the call without the
// time for its payload.
func (c *Client) judge(ctx context.Context, err error, took time.Duration, put bool) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // the caller canceled
	}
	text := ""
	if err != nil {
		text = c.header.scrub(err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.delay += max(0, took-patience); c.delay > 2*c.o.Timeout && !c.off {
		c.off = true
		c.why = c.errorf("it takes too long to respond").Hint(
			"use a nearer server, or increase --remote-cache-timeout; this run continues without it")
	}
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	switch {
	case c.off || put && c.readOnly: // already reported
		return absentUnless(put)
	case f.kind == wrong && put && c.refusals+1 < maxFaults:
		c.refusals++
		return c.errorf("it did not store an answer: %s", text)
	case f.kind != lost && put: // reading may still work
		c.readOnly = true
		return c.errorf("it does not accept uploads: %s",
			text).Hint("this run uploads nothing more; to never upload, use --remote-cache-mode read")
	case f.kind == wrong && c.faults+1 < maxFaults:
		c.faults++
		return c.errorf("%s", text)
	}
	c.off = true
	return c.errorf("%s", text).Hint("this run continues without it")
}

func absentUnless(put bool) error {
	if put {
		return nil
	}
	return fs.ErrNotExist
}

func (c *Client) errorf(format string, args ...any) *diag.Error {
	e := diag.Errorf(diag.Pos{}, "", "the shared cache "+c.at.shown()+": "+format, args...)
	return e.With(diag.SharedCache)
}

// transfer returns the time allowed for transferring n bytes.
func transfer(n int) time.Duration { return time.Duration(n) * time.Second / rate }

// A kind is the kind of a failure. It determines whether the client continues to use the server.
type kind int

const (
	// wrong is an invalid answer.
	wrong kind = iota
	// refused means that the server does not support or permit the operation.
	refused
	// lost means that the server cannot be reached.
	lost
)

// A failure is an error of the server. It does not unwrap to its cause, so that for example a
// missing credential helper is not mistaken for [fs.ErrNotExist].
type failure struct {
	kind kind
	error
}
