package shared

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/krmflow/krmflow/krm"
)

// A store holds the data of a fake server, by hash. It accepts every upload and returns everything
// it has. Tests change that.
type store struct {
	mu       sync.Mutex
	ac, cas  map[string][]byte
	inline   bool // content is sent inline with results
	zstd     bool
	raw      bool // packed data is not packed again
	maxBatch int64
	updates  bool
	function int64
	calls    []string
	largest  int // size limit of a batch in bytes
	// before is called before a request is answered, with its method or path. It may return a gRPC
	// error or an HTTP status to answer with.
	before func(name string, ctx context.Context) error
}

func newStore() *store {
	return &store{ac: map[string][]byte{}, cas: map[string][]byte{hash(nil): nil}, updates: true, function: sha256Function}
}

func hash(data []byte) string { return blobOf(data).hash() }

// asked records a call and returns the answer to give in its place, if any.
func (s *store) asked(ctx context.Context, name string) error {
	s.mu.Lock()
	s.calls = append(s.calls, name)
	before := s.before
	s.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(name, ctx)
}

// count returns the number of calls with this name.
func (s *store) count(name string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c == name {
			n++
		}
	}
	return n
}

// fields returns the fields of a message. The last field with a number wins.
func fields(message []byte) map[int]any {
	m := map[int]any{}
	err := eachField(message, func(field protowire.Number, n uint64, data []byte) error {
		if data == nil {
			m[int(field)] = int64(n)
		} else {
			m[int(field)] = data
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	return m
}

func text(v any) string { b, _ := v.([]byte); return string(b) }

// digestField returns the hash in a Digest message.
func digestField(v any) string { b, _ := v.([]byte); return text(fields(b)[1]) }

func (s *store) serveGRPC(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}), grpc.MaxRecvMsgSize(16<<20),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			method, _ := grpc.MethodFromServerStream(stream)
			name := path.Base(method)
			if err := s.asked(stream.Context(), name); err != nil {
				return err
			}
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			return map[string]func([]byte, grpc.ServerStream) error{
				"GetCapabilities": s.capabilities, "GetActionResult": s.getResult, "UpdateActionResult": s.updateResult,
				"BatchUpdateBlobs": s.batch, "Read": s.read, "Write": s.write,
			}[name](request, stream)
		}))
	go server.Serve(l)
	t.Cleanup(server.Stop)
	return "grpc://" + l.Addr().String()
}

func send(stream grpc.ServerStream, message []byte) error { return stream.SendMsg(&message) }

func (s *store) capabilities(_ []byte, stream grpc.ServerStream) error {
	cache := appendInt(nil, 4, s.maxBatch)
	cache = appendBytes(cache, 1, protowire.AppendVarint(nil, uint64(s.function))) // packed as by servers
	if s.updates {
		cache = appendBytes(cache, 2, appendInt(nil, 1, 1))
	}
	if s.zstd {
		cache = appendInt(appendInt(cache, 6, zstdCompressor), 7, zstdCompressor)
	}
	return send(stream, appendBytes(nil, 1, cache))
}

func (s *store) getResult(request []byte, stream grpc.ServerStream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := fields(request)
	result, ok := s.ac[digestField(f[2])]
	if !ok {
		return status.Error(codes.NotFound, "no such result")
	}
	if s.inline && len(result) > 0 && decodedSize(result) < 1<<20 {
		file := fields(result)[2].([]byte)
		result = appendBytes(nil, 2, appendBytes(file, 5, s.cas[digestField(fields(file)[2])]))
	}
	return send(stream, result)
}

// decodedSize returns the file size in a result.
func decodedSize(result []byte) int64 {
	n, _ := fields(fields(fields(result)[2].([]byte))[2].([]byte))[2].(int64)
	return n
}

// updateResult stores a result if everything that it and its action reference exists.
func (s *store) updateResult(request []byte, stream grpc.ServerStream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := fields(request)
	name := digestField(f[2])
	action, ok := s.cas[name]
	command, hasCommand := s.cas[digestField(fields(action)[1])]
	_, hasRoot := s.cas[digestField(fields(action)[2])]
	file := fields(f[3].([]byte))[2].([]byte)
	_, hasFile := s.cas[digestField(fields(file)[2])]
	if !ok || !hasCommand || !hasRoot || !hasFile || text(fields(command)[7]) != text(fields(file)[1]) {
		return status.Error(codes.FailedPrecondition, "something is missing")
	}
	s.ac[name] = f[3].([]byte)
	return send(stream, f[3].([]byte))
}

func (s *store) batch(request []byte, stream grpc.ServerStream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.largest = max(s.largest, len(request))
	var answer []byte
	err := eachField(request, func(field protowire.Number, _ uint64, data []byte) error {
		if field != 2 {
			return nil
		}
		f := fields(data)
		content, _ := f[2].([]byte)
		var state []byte
		if f[3] == int64(zstdCompressor) {
			content = unpack(content)
		}
		if name := digestField(f[1]); hash(content) != name {
			state = appendString(appendInt(nil, 1, int64(codes.InvalidArgument)), 2, "that is not its digest")
		} else {
			s.cas[name] = content
		}
		answer = appendBytes(answer, 1, appendBytes(appendBytes(nil, 1, f[1].([]byte)), 2, state))
		return nil
	})
	if err != nil {
		return err
	}
	return send(stream, answer)
}

func (s *store) read(request []byte, stream grpc.ServerStream) error {
	name := text(fields(request)[1])
	parts := strings.Split(name, "/")
	s.mu.Lock()
	data, ok := s.cas[parts[len(parts)-2]]
	s.mu.Unlock()
	if !ok {
		return status.Error(codes.NotFound, "no such blob")
	}
	if strings.HasPrefix(name, "compressed-blobs/zstd/") && !s.raw {
		data = pack(data)
	}
	for len(data) > 0 {
		n := min(len(data), 100_000)
		if err := send(stream, appendBytes(nil, 10, data[:n])); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (s *store) write(request []byte, stream grpc.ServerStream) error {
	name := text(fields(request)[1])
	parts := strings.Split(name, "/")
	var data []byte
	for {
		f := fields(request)
		if offset, _ := f[2].(int64); offset != int64(len(data)) {
			return status.Error(codes.InvalidArgument, "an offset is wrong")
		}
		data = append(data, f[10].([]byte)...)
		if f[3] != nil {
			break
		}
		if err := stream.RecvMsg(&request); err != nil {
			return err
		}
	}
	committed := int64(len(data))
	if strings.Contains(name, "/compressed-blobs/zstd/") {
		data, committed = unpack(data), -1
	}
	want := parts[len(parts)-2]
	if hash(data) != want || fmt.Sprint(len(data)) != parts[len(parts)-1] || len(parts[1]) != 36 {
		return status.Error(codes.InvalidArgument, "that is not its digest: "+name)
	}
	s.mu.Lock()
	s.cas[want] = data
	s.mu.Unlock()
	return send(stream, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(committed)))
}

func (s *store) serveHTTP(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.asked(r.Context(), r.Method+" "+path.Base(path.Dir(r.URL.Path))); err != nil {
			answerError(w, err)
			return
		}
		kind, name := path.Base(path.Dir(r.URL.Path)), path.Base(r.URL.Path)
		m := map[string]map[string][]byte{"ac": s.ac, "cas": s.cas}[kind]
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Method == http.MethodPut {
			m[name] = body
			return
		}
		data, ok := m[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if s.zstd && r.Header.Get("Accept-Encoding") == "zstd" {
			w.Header().Set("Content-Encoding", "zstd")
			data = pack(data)
		}
		w.Write(data)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// An httpAnswer replaces the regular answer of an HTTP server. Code 0 cuts the connection in the
// middle of an answer.
type httpAnswer struct {
	code   int
	header map[string]string
	body   func() io.Reader // nil for none
}

func (httpAnswer) Error() string { return "answered" }

func answerError(w http.ResponseWriter, err error) {
	a, ok := err.(httpAnswer)
	if !ok {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	if a.code != 0 {
		w.WriteHeader(a.code)
	}
	if a.body != nil {
		io.Copy(w, a.body())
	}
	if a.code == 0 {
		panic(http.ErrAbortHandler)
	}
}

// pack and unpack use zstd. unpack has no size limit here.
func pack(data []byte) []byte {
	var b bytes.Buffer
	w, _ := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func unpack(data []byte) []byte {
	r, _ := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1))
	defer r.Close()
	out, _ := io.ReadAll(r)
	return out
}

// keep puts data directly into the store and returns the names of its result and its content.
func (s *store) keep(key krm.Digest, data []byte) (action, content string) {
	e := newEntry(key)
	action, content = hash(e.action), hash(data)
	s.ac[action], s.cas[content] = encodeResult(e.file, blobOf(data)), data
	return action, content
}
