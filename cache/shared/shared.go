// Package shared is a cache that machines share: a server that speaks the Remote Execution API v2 of Bazel (its ActionCache and its
// ContentAddressableStorage), or the plain HTTP form of the same. A server may be slow, gone, full or wrong: that costs a bounded delay and
// never a wrong byte.
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

// MaxBlob is how many bytes may be kept for a key. What is larger is neither sent nor taken.
const MaxBlob = 64 << 20

const (
	// rate is how many bytes per second a server must manage on top of Options.Timeout.
	rate = 4 << 20
	// patience is how long each call may take before the rest counts as delay.
	patience = 500 * time.Millisecond
	// maxFaults is how many answers may be wrong before the server is not asked any more, and how often it may fail to store something
	// before nothing is sent any more.
	maxFaults = 3
)

// Options say which server is used, and how.
type Options struct {
	// Address is grpc://, grpcs://, http:// or https://, a host, and for gRPC the name of an instance as its path.
	Address string
	// ReadOnly keeps [Client.Put] from sending anything.
	ReadOnly bool
	// CA is a file with certificates of the authorities that the server's certificate may come from, empty for those of the machine.
	CA string
	// Cert and Key are files with the client's certificate and its key, empty for none.
	Cert, Key string
	// Headers go with every request, each as NAME=VALUE. The values are secret.
	Headers []string
	// Helper is a program that prints further headers: "PROGRAM get" with the address on stdin, as Bazel runs its credential helpers.
	Helper string
	// AllowPlain lets credentials cross a network without TLS.
	AllowPlain bool
	// Timeout is how long one request may take, beside what large blobs need. Zero means 5 s.
	Timeout time.Duration
	// UserAgent is how the client calls itself. Empty means krmflow.
	UserAgent string
}

// A Client is a shared cache. Any number of goroutines may use it. Nothing is connected before the first use. A nil *Client has nothing and
// takes nothing.
type Client struct {
	o      Options
	at     address
	header *headers

	mu       sync.Mutex
	off      bool // nothing is asked any more
	readOnly bool // nothing is sent any more
	why      error
	faults   int // of answers
	refusals int // of what is sent
	delay    time.Duration
	server   server
	dial     func() (server, error)
	turn     chan struct{} // held by who connects
}

// A server is what a client talks to. Its errors are [*failure]s, or [fs.ErrNotExist].
type server interface {
	// begin finds out what the server can do. It is called until it succeeds once.
	begin(ctx context.Context) error
	get(ctx context.Context, e entry) ([]byte, error)
	put(ctx context.Context, e entry, data []byte) error
	close()
}

// Open returns a client. Its errors are mistakes in the options: a server that cannot be reached is none.
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

// Plain reports whether answers cross a network without TLS, so that others there can read and change them.
func (c *Client) Plain() bool { return c != nil && c.at.plain() && !c.at.loopback() }

// Get returns what was put for a key. The error is [fs.ErrNotExist] if there is nothing, or if the server is not asked any more; another
// one says once why that is so, or what was wrong with an answer. Whatever it is, the caller can go on as if there were nothing.
func (c *Client) Get(ctx context.Context, key krm.Digest) ([]byte, error) {
	s, err := c.connect(ctx)
	if s == nil || err != nil {
		return nil, absentIfNil(err)
	}
	begin := time.Now()
	data, err := s.get(ctx, newEntry(key))
	return data, c.judge(ctx, err, time.Since(begin)-transfer(len(data)), false)
}

// Put stores data for a key. It does nothing if the client may only read, or the server is not asked any more. An error says why the data
// was not stored; the caller can go on.
func (c *Client) Put(ctx context.Context, key krm.Digest, data []byte) error {
	if c == nil || !c.writes() {
		return nil
	}
	if len(data) > MaxBlob {
		return diag.SharedCache.Errorf("%d bytes are not put into the shared cache, which takes up to %d", len(data), MaxBlob)
	}
	s, err := c.connect(ctx)
	if s == nil || err != nil {
		return err
	}
	begin := time.Now()
	err = s.put(ctx, newEntry(key), data)
	return c.judge(ctx, err, time.Since(begin)-transfer(len(data)), true)
}

// Close ends the connection. The client has nothing from then on.
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

// writes reports whether something may be sent.
func (c *Client) writes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.readOnly
}

// connected returns the server if there is a connection. It returns neither server nor error if there shall be none, except for the first
// who asks afterwards: that one learns why.
func (c *Client) connected() (s server, wanted bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off {
		err, c.why = c.why, nil
		return nil, false, err
	}
	return c.server, c.server == nil, nil
}

// connect returns the server, with neither server nor error if it is not asked any more.
func (c *Client) connect(ctx context.Context) (server, error) {
	if c == nil {
		return nil, nil
	}
	s, wanted, err := c.connected()
	if !wanted {
		return s, err
	}
	select { // one connects, the others wait for that
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
	if c.off { // closed meanwhile
		s.close()
		return nil, nil
	}
	c.server = s
	return s, nil
}

// judge returns what the caller of a call hears of its error, and decides whether the server is still asked. took is how long the call
// took, without what its bytes needed.
func (c *Client) judge(ctx context.Context, err error, took time.Duration, put bool) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // the server is not to blame
	}
	text := ""
	if err != nil {
		text = c.header.scrub(err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.delay += max(0, took-patience); c.delay > 2*c.o.Timeout && !c.off {
		c.off = true
		c.why = c.errorf("it takes too long to answer").Hint("nearer servers, or --remote-cache-timeout; this run goes on without it")
	}
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	switch {
	case c.off || put && c.readOnly: // somebody else has said so
		return absentUnless(put)
	case f.kind == wrong && put && c.refusals+1 < maxFaults:
		c.refusals++
		return c.errorf("it has not stored an answer: %s", text)
	case f.kind != lost && put: // it can still be read
		c.readOnly = true
		return c.errorf("nothing can be stored there: %s", text).Hint("this run stores nothing more; --remote-cache-mode read does not try")
	case f.kind == wrong && c.faults+1 < maxFaults:
		c.faults++
		return c.errorf("%s", text)
	}
	c.off = true
	return c.errorf("%s", text).Hint("this run goes on without it")
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

// transfer returns how long n bytes may take.
func transfer(n int) time.Duration { return time.Duration(n) * time.Second / rate }

// A kind of failure decides what becomes of the client.
type kind int

const (
	// wrong is an answer that cannot be used.
	wrong kind = iota
	// refused means that the server will not do such things for this client.
	refused
	// lost means that the server does not answer.
	lost
)

// A failure is what a server did wrong. What it is made of is text: a credential helper that does not exist is no [fs.ErrNotExist].
type failure struct {
	kind kind
	error
}
