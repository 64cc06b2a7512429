package shared

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"testing"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// content is long enough to be sent in every way, and to be compressed.
var content = bytes.Repeat([]byte("kind: ConfigMap\nmetadata: {name: a}\n"), 2000)

// lies are the false data that a server may hold for key. Each case gets the names of the result
// and its content.
var lies = []struct {
	name string
	tell func(s *store, key krm.Digest, action, blob string)
	// absent marks a case in which data is only missing, not false.
	absent bool
}{
	{"a bit", func(s *store, _ krm.Digest, _, blob string) {
		s.cas[blob] = bytes.Clone(s.cas[blob])
		s.cas[blob][1000] ^= 1
	}, false},
	{"cut off", func(s *store, _ krm.Digest, _, blob string) { s.cas[blob] = s.cas[blob][:1000] }, false},
	{"empty", func(s *store, _ krm.Digest, _, blob string) { s.cas[blob] = []byte{} }, false},
	{"too long", func(s *store, _ krm.Digest, _, blob string) { s.cas[blob] = append(bytes.Clone(s.cas[blob]), 'x') }, false},
	{"larger than all memory", func(s *store, _ krm.Digest, _, blob string) { s.cas[blob] = make([]byte, 3<<20) }, false},
	{"no blob", func(s *store, _ krm.Digest, _, blob string) {
		delete(s.cas, blob)
		s.inline = false
	}, true},
	{"no result", func(s *store, _ krm.Digest, action, _ string) { delete(s.ac, action) }, true},
	{"result of another key", func(s *store, _ krm.Digest, action, _ string) {
		other, _ := s.keep(krm.DigestOf([]byte("other")), []byte("other"))
		s.ac[action] = s.ac[other]
	}, false},
	{"no file", func(s *store, key krm.Digest, action, _ string) { s.ac[action], s.inline = appendInt(nil, 4, 0), false }, false},
	{"garbage", func(s *store, key krm.Digest, action, _ string) {
		s.ac[action], s.inline = []byte("<html>sign in</html>"), false
	}, false},
	{"a failure", func(s *store, key krm.Digest, action, _ string) {
		s.ac[action] = appendInt(s.ac[action], 4, 1)
		s.inline = false
	}, false},
	{"a size of 10 GiB", func(s *store, key krm.Digest, action, _ string) {
		s.ac[action] = encodeResult(newEntry(key).file, blob{krm.DigestOf(content), 10 << 30})
	}, false},
	{"a size below 0", func(s *store, key krm.Digest, action, _ string) {
		s.ac[action] = encodeResult(newEntry(key).file, blob{krm.DigestOf(content), -1})
	}, false},
	{"another size", func(s *store, key krm.Digest, action, _ string) {
		s.ac[action] = encodeResult(newEntry(key).file, blob{krm.DigestOf(content), 5000})
	}, false},
	{"a digest of another kind", func(s *store, key krm.Digest, action, _ string) {
		s.ac[action] = appendBytes(nil, 2,
			appendBytes(appendString(nil, 1, newEntry(key).file), 2, appendString(nil, 1, "d41d8cd98f00b204e9800998ecf8427e")))
	}, false},
}

// False data from a server never reaches an answer, and each case is reported.
func TestLyingServerIsDetected(t *testing.T) {
	forEachWay(t, func(t *testing.T, w way) {
		for _, lie := range lies {
			t.Run(lie.name, func(t *testing.T) {
				s, address := w.serve(t)
				c := open(t, Options{Address: address, Timeout: time.Minute})
				key := krm.DigestOf([]byte("key"))
				action, blob := s.keep(key, content)
				if got, err := c.Get(t.Context(), key); err != nil || !bytes.Equal(got, content) {
					t.Fatalf("the truth: %v", err)
				}
				s.mu.Lock()
				lie.tell(s, key, action, blob)
				s.mu.Unlock()
				got, err := c.Get(t.Context(), key)
				if got != nil || err == nil || errors.Is(err, fs.ErrNotExist) != lie.absent {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				if err != nil && !lie.absent && diag.CodeOf(err) != diag.SharedCache {
					t.Errorf("no kind: %v", err)
				}
			})
		}
	})
}

func TestDecompressionBombUsesLittleMemory(t *testing.T) {
	zeros := pack(make([]byte, 256<<20)) // about 10 KiB
	for _, w := range []way{{name: "grpc", zstd: true}, {name: "http", zstd: true, http: true}} {
		t.Run(w.name, func(t *testing.T) {
			s, address := w.serve(t)
			key := krm.DigestOf([]byte("key"))
			_, blob := s.keep(key, content)
			if w.http {
				s.before = func(name string, _ context.Context) error {
					if name != "GET cas" {
						return nil
					}
					return httpAnswer{200, map[string]string{"Content-Encoding": "zstd"},
						func() io.Reader { return bytes.NewReader(zeros) }}
				}
			} else {
				s.zstd = false // sent unchanged
				s.mu.Lock()
				s.cas[blob] = zeros
				s.mu.Unlock()
			}
			c := open(t, Options{Address: address, Timeout: time.Minute})
			if !w.http { // the server claims to pack, and its data is packed already
				if _, err := c.connect(t.Context()); err != nil {
					t.Fatal(err)
				}
				c.server.(*grpcServer).can.zstd = true
				s.raw = true
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := c.Get(t.Context(), key)
			runtime.ReadMemStats(&after)
			if got != nil || err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 48<<20 {
				t.Errorf("%d MiB were taken", took>>20)
			}
		})
	}
}

func TestEndlessResponseIsCutOff(t *testing.T) {
	for _, encoding := range []string{"", "zstd", "br"} {
		for _, folder := range []string{"GET ac", "GET cas"} {
			t.Run(folder+encoding, func(t *testing.T) {
				s, address := way{http: true}.serve(t)
				key := krm.DigestOf([]byte("key"))
				s.keep(key, content)
				s.before = func(name string, _ context.Context) error {
					if name != folder {
						return nil
					}
					return httpAnswer{200, map[string]string{"Content-Encoding": encoding}, func() io.Reader { return endless{} }}
				}
				c := open(t, Options{Address: address, Timeout: time.Minute})
				if got, err := c.Get(t.Context(), key); got != nil || err == nil || errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
