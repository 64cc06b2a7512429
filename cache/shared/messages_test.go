package shared

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
	"github.com/krmflow/krmflow/krm"
)

// Entry names must be the same in every version. Otherwise each version would start with an empty
// cache.
func TestEntryNamesAreStable(t *testing.T) {
	e := newEntry(krm.Digest{})
	const zeros = "0000000000000000000000000000000000000000000000000000000000000000"
	if want := "\x0a\x07krmflow\x3a\x40" + zeros; string(e.command) != want {
		t.Errorf("command %q", e.command)
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if want := "\x0a\x44\x0a\x40" + hash(e.command) + "\x10\x4b" + "\x12\x42\x0a\x40" + empty; string(e.action) != want {
		t.Errorf("action %q", e.action)
	}
	if other := newEntry(krm.Digest{1}); bytes.Equal(other.action, e.action) {
		t.Error("another key has the same action")
	}
}

func TestParseAddress(t *testing.T) {
	for _, x := range []struct{ text, hostPort, path, shown string }{
		{"grpc://cache:9092", "cache:9092", "", "grpc://cache:9092"},
		{"grpcs://cache.example.com/team/a/", "cache.example.com:443", "team/a", "grpcs://cache.example.com:443/team/a"},
		{"http://[::1]:8080/x", "[::1]:8080", "x", "http://[::1]:8080/x"},
		{"https://ci:secret@cache", "cache:443", "", "https://cache:443"},
	} {
		a, err := parseAddress(x.text)
		if err != nil || a.hostPort() != x.hostPort || a.path != x.path || a.shown() != x.shown {
			t.Errorf("%s: %+v %s, %v", x.text, a, a.shown(), err)
		}
	}
	for _, text := range []string{"", "cache:9092", "cache", "ftp://cache", "grpc://", "grpc:cache", "http://cache?x=y", "http://cache#x", "https://cache:port", "grpc://:9092", "unix:///run/cache"} {
		if a, err := parseAddress(text); diag.CodeOf(err) != diag.FlagValue {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
	}
}

// A connection without TLS is reported, except on the local machine, and never carries credentials.
func TestPlainConnectionRefusesCredentials(t *testing.T) {
	for address, plain := range map[string]bool{"grpc://cache": true, "http://10.0.0.1": true, "grpc://localhost:1": false, "http://127.0.0.1": false, "grpc://[::1]:1": false, "grpcs://cache": false, "https://cache": false} {
		c := open(t, Options{Address: address})
		if c.Plain() != plain {
			t.Errorf("%s: %t", address, c.Plain())
		}
		for _, o := range []Options{{Headers: []string{"x=y"}}, {Helper: "helper"}} {
			o.Address = address
			if _, err := Open(o); plain != (diag.CodeOf(err) == diag.Refused) {
				t.Errorf("%s with credentials: %v", address, err)
			}
			o.AllowPlain = true
			if _, err := Open(o); err != nil {
				t.Errorf("%s with credentials, allowed: %v", address, err)
			}
		}
	}
}

func TestCertificateOptions(t *testing.T) {
	dir := t.TempDir()
	makeCertificates(t, dir)
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("text"), []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{
		{Address: "grpc://127.0.0.1", CA: file("ca.pem")},
		{Address: "grpcs://127.0.0.1", CA: file("missing")},
		{Address: "grpcs://127.0.0.1", CA: file("text")},
		{Address: "https://127.0.0.1", Cert: file("client.pem")},
		{Address: "https://127.0.0.1", Key: file("client.key")},
		{Address: "https://127.0.0.1", Cert: file("client.pem"), Key: file("server.key")},
	} {
		if _, err := Open(o); diag.CodeOf(err) == "" {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestHelperSuppliesHeaders(t *testing.T) {
	at := Options{Address: "grpc://127.0.0.1:1"}
	list := func(h *headers) string {
		all, err := h.list(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, x := range all {
			b.WriteString(x.name + "=" + x.value + ";")
		}
		return b.String()
	}
	ask := func(prints string) *headers {
		o := at
		o.Helper = helper(t, prints)
		return open(t, o).header
	}
	for _, x := range []struct{ prints, want string }{
		{`{}`, ""},
		{`{"headers":{}}`, ""},
		{`{"headers":{"B":["2","3"],"A":["1"],"C":[]},"more":1}`, "a=1;b=2;b=3;"},
		{`{"headers":{"A":["1"]},"expires":"2000-01-01T00:00:00Z"}`, "a=1;"},
	} {
		if got := list(ask(x.prints)); got != x.want {
			t.Errorf("%s: %q", x.prints, got)
		}
	}
	for _, prints := range []string{"", "secret-1", `{"headers":["secret-1"]}`, `{"headers":{"a":"secret-1"}}`,
		`{"headers":{"a b":["secret-1"]}}`, `{"headers":{"a":["secret-1\n"]}}`, `{"expires":"secret-1"}`} {
		h := ask(prints)
		if _, err := h.list(t.Context()); err == nil || strings.Contains(err.Error(), "secret-1") {
			t.Errorf("%s: %v", prints, err)
		}
	}

	h := ask(`{"headers":{"A":["1"]}}`)
	list(h)
	h.helper = "/none" // it runs only once
	list(h)
	h.expires = time.Now().Add(-time.Second)
	if _, err := h.list(t.Context()); err == nil {
		t.Error("headers that have expired are used")
	}

	at.Helper = filepath.Join(t.TempDir(), "none")
	mustGoOff(t, at, "failed")
	at.Helper = script(t, "exec sleep 1000")
	h = open(t, at).header
	h.timeout = 200 * time.Millisecond
	if _, err := h.list(t.Context()); err == nil || !strings.Contains(err.Error(), "took longer than") {
		t.Error(err)
	}
	at.Helper = script(t, "echo no such account >&2; exit 3")
	mustGoOff(t, at, "no such account")
	at.Helper = script(t, "exec 0<&-; echo '{}'") // does not read its input
	list(open(t, at).header)
}

func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "helper")
	testbinary.Script(t, file, "#!/bin/sh\n"+text+"\n")
	return file
}

// Reading never panics, whatever a server sends, and the decoded values are within bounds.
func FuzzMessages(f *testing.F) {
	e := newEntry(krm.Digest{1})
	f.Add(encodeResult(e.file, blobOf(content)))
	f.Add(appendBytes(nil, 2, appendBytes(appendString(nil, 1, e.file), 5, content[:10])))
	f.Add(appendBytes(nil, 1, appendInt(appendBytes(appendBytes(nil, 1, []byte{1, 2}), 2, appendInt(nil, 1, 1)), 6, 1)))
	f.Add(appendBytes(nil, 1, appendBytes(nil, 2, appendString(appendInt(nil, 1, 7), 2, "no"))))
	f.Add(appendBytes(nil, 10, content[:100]))
	f.Add([]byte{0x0b, 0x0b, 0x0c})
	f.Fuzz(func(t *testing.T, data []byte) {
		if b, inline, err := decodeResult(data, e.file); err == nil && (b.size < 0 || b.size > MaxBlob || len(inline) > len(data)) {
			t.Errorf("%+v", b)
		} else if err == nil {
			if again, _, err := decodeResult(encodeResult(e.file, b), e.file); err != nil || again != b {
				t.Errorf("%+v, then %+v, %v", b, again, err)
			}
		}
		decodeCapabilities(data)
		decodeUploaded(data, 1)
		decodeCommitted(data)
		if chunk, _ := decodeChunk(data); len(chunk) > len(data) {
			t.Error("a chunk is more than there is")
		}
	})
}

// If decompressing yields a blob, it is the right blob.
func FuzzCompressed(f *testing.F) {
	f.Add(pack(content), int64(len(content)))
	f.Add(pack(make([]byte, 1<<20)), int64(10))
	b, _ := hex.DecodeString("28b52ffd0458")
	f.Add(b, int64(0))
	f.Fuzz(func(t *testing.T, data []byte, size int64) {
		want := blob{krm.DigestOf(content), max(0, min(size, MaxBlob))}
		if got, err := want.readCompressed(bytes.NewReader(data)); err == nil && !bytes.Equal(got, content) {
			t.Errorf("%d bytes", len(got))
		}
	})
}
