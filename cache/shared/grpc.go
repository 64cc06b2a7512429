package shared

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	execution = "/build.bazel.remote.execution.v2."
	stream    = "/google.bytestream.ByteStream/"

	// maxConnect is the timeout for connecting.
	maxConnect = 2 * time.Second
	// maxMessage is the size limit for a received message, and maxBatch for the blobs of a sent
	// one. Servers accept messages of 4 MiB.
	maxMessage = 8 << 20
	maxBatch   = 4<<20 - 64<<10
	// chunk is the message size for large blobs.
	chunk = 512 << 10
)

// A grpcServer is a server with the gRPC form of the Remote Execution API.
type grpcServer struct {
	conn     *grpc.ClientConn
	instance string
	header   *headers
	timeout  time.Duration
	can      capabilities
}

func newGRPC(o Options, at address, header *headers, config *tls.Config) (server, error) {
	creds := insecure.NewCredentials()
	if at.tls {
		creds = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient("dns:///"+at.hostPort(),
		grpc.WithTransportCredentials(creds),
		grpc.WithUserAgent(o.UserAgent),
		grpc.WithDisableServiceConfig(), // avoids a DNS lookup
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: min(maxConnect, o.Timeout)}),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(maxMessage),
			grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, lostf("%w", err)
	}
	return &grpcServer{conn: conn, instance: at.path, header: header, timeout: o.Timeout}, nil
}

func (s *grpcServer) close() { s.conn.Close() }

func (s *grpcServer) begin(ctx context.Context) error {
	answer, err := s.call(ctx, execution+"Capabilities/GetCapabilities", encodeGetCapabilities(s.instance))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = refusedf("it does not have the instance %q", s.instance)
		}
		return err
	}
	if s.can, err = decodeCapabilities(answer); err == nil && !s.can.sha256 {
		err = refusedf("it does not support SHA-256")
	}
	return err
}

func (s *grpcServer) get(ctx context.Context, e entry) ([]byte, error) {
	answer, err := s.call(ctx, execution+"ActionCache/GetActionResult", encodeGetResult(s.instance, blobOf(e.action), e.file))
	if err != nil {
		return nil, err
	}
	b, content, err := decodeResult(answer, e.file)
	if err != nil {
		return nil, err
	}
	if content != nil || b.size == 0 {
		return b.check(content)
	}
	return s.read(ctx, b)
}

// read reads a blob from the CAS.
func (s *grpcServer) read(ctx context.Context, b blob) (data []byte, err error) {
	ctx, cancel, err := s.outgoing(ctx, transfer(int(b.size)))
	if err != nil {
		return nil, err
	}
	defer cancel()
	zstd := s.can.zstd && b.size >= minCompressed
	name := fmt.Sprintf("blobs/%s/%d", b.hash(), b.size)
	if zstd {
		name = fmt.Sprintf("compressed-blobs/zstd/%s/%d", b.hash(), b.size)
	}
	r, err := s.open(ctx, "Read", &grpc.StreamDesc{ServerStreams: true})
	if err != nil {
		return nil, err
	}
	request := encodeRead(s.resource(name))
	if err := r.SendMsg(&request); err != nil {
		return nil, callFailure(ctx, err)
	}
	if err := r.CloseSend(); err != nil {
		return nil, callFailure(ctx, err)
	}
	if zstd {
		return b.readCompressed(&chunks{ctx: ctx, stream: r})
	}
	return b.read(&chunks{ctx: ctx, stream: r})
}

// chunks reads the content of a streamed blob.
type chunks struct {
	ctx    context.Context
	stream grpc.ClientStream
	rest   []byte
}

func (c *chunks) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		var answer []byte
		err := c.stream.RecvMsg(&answer)
		if err == io.EOF {
			return 0, err
		}
		if err != nil {
			return 0, callFailure(c.ctx, err)
		}
		if c.rest, err = decodeChunk(answer); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// put uploads the blobs before the result, because a result with missing blobs is invalid.
func (s *grpcServer) put(ctx context.Context, e entry, data []byte) error {
	if !s.can.updates {
		return refusedf("it does not accept results")
	}
	content := blobOf(data)
	uploads := []upload{{blob: blobOf(e.command), data: e.command}, {blob: blobOf(e.action), data: e.action}}
	if u := s.upload(content, data); int64(len(u.data)) > s.maxBatch() {
		if err := s.write(ctx, content, data); err != nil {
			return notStored(err)
		}
	} else if len(data) > 0 { // servers always have the empty blob
		uploads = append(uploads, u)
	}
	answer, err := s.call(ctx, execution+"ContentAddressableStorage/BatchUpdateBlobs", encodeUploads(s.instance, uploads))
	if err == nil {
		err = decodeUploaded(answer, len(uploads))
	}
	if err != nil {
		return notStored(err)
	}
	_, err = s.call(ctx, execution+"ActionCache/UpdateActionResult",
		encodeUpdateResult(s.instance, blobOf(e.action), encodeResult(e.file, content)))
	return notStored(err)
}

// maxBatch returns the size limit for a blob in a batch.
func (s *grpcServer) maxBatch() int64 {
	if s.can.maxBatch > 0 {
		return max(0, min(s.can.maxBatch-1<<10, maxBatch)) // leaves room for the command and the action
	}
	return maxBatch
}

// upload returns the batch upload of a blob, compressed if the server supports that.
func (s *grpcServer) upload(b blob, data []byte) upload {
	if s.can.zstdBatch {
		if packed, ok := compressed(data); ok {
			return upload{b, packed, zstdCompressor}
		}
	}
	return upload{blob: b, data: data}
}

// write sends a large blob to the CAS.
func (s *grpcServer) write(ctx context.Context, b blob, data []byte) error {
	ctx, cancel, err := s.outgoing(ctx, transfer(len(data)))
	if err != nil {
		return err
	}
	defer cancel()
	name := fmt.Sprintf("uploads/%s/blobs/%s/%d", uuid(), b.hash(), b.size)
	want := b.size
	if s.can.zstd {
		if packed, ok := compressed(data); ok {
			name = fmt.Sprintf("uploads/%s/compressed-blobs/zstd/%s/%d", uuid(), b.hash(), b.size)
			data, want = packed, -1
		}
	}
	w, err := s.open(ctx, "Write", &grpc.StreamDesc{ClientStreams: true})
	if err != nil {
		return err
	}
	name = s.resource(name)
	for offset := 0; offset < len(data); {
		end := min(offset+chunk, len(data))
		request := encodeWrite(name, int64(offset), end == len(data), data[offset:end])
		if err := w.SendMsg(&request); err == io.EOF {
			break // the server has already answered
		} else if err != nil {
			return callFailure(ctx, err)
		}
		name, offset = "", end
	}
	if err := w.CloseSend(); err != nil {
		return callFailure(ctx, err)
	}
	var answer []byte
	if err := w.RecvMsg(&answer); err != nil {
		return callFailure(ctx, err)
	}
	size, err := decodeCommitted(answer)
	if err == nil && want >= 0 && size != want {
		err = wrongf("it stored %d bytes of %d", size, want)
	}
	return err
}

// resource returns a resource name with the instance name in front.
func (s *grpcServer) resource(name string) string {
	return strings.TrimPrefix(s.instance+"/"+name, "/")
}

// open opens a stream of the ByteStream service.
func (s *grpcServer) open(ctx context.Context, method string, d *grpc.StreamDesc) (grpc.ClientStream, error) {
	r, err := s.conn.NewStream(ctx, d, stream+method)
	return r, callFailure(ctx, err)
}

// call sends one message and returns the answer.
func (s *grpcServer) call(ctx context.Context, method string, request []byte) (answer []byte, err error) {
	ctx, cancel, err := s.outgoing(ctx, transfer(len(request)))
	if err != nil {
		return nil, err
	}
	defer cancel()
	err = s.conn.Invoke(ctx, method, &request, &answer)
	return answer, callFailure(ctx, err)
}

// outgoing adds the headers to ctx and sets the timeout of the request; more is the additional
// time for its payload. The timeout starts after the credential helper, which has its own.
func (s *grpcServer) outgoing(ctx context.Context, more time.Duration) (context.Context, context.CancelFunc, error) {
	list, err := s.header.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range list {
		ctx = metadata.AppendToOutgoingContext(ctx, h.name, h.value)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout+more)
	return ctx, cancel, nil
}

// notStored converts the error of an upload. NotFound in response to an upload is a server error,
// not a cache miss.
func notStored(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return refusedf("it does not have the location for the upload")
	}
	return err
}

// callFailure converts the error of a call to a [*failure] or to [fs.ErrNotExist].
func callFailure(ctx context.Context, err error) error {
	if err == nil || isFailure(err) {
		return err
	}
	s := status.Convert(err)
	if ctx.Err() != nil || s.Code() == codes.DeadlineExceeded {
		return lostf("it did not answer in time")
	}
	return statusFailure(uint32(s.Code()), s.Message())
}

func isFailure(err error) bool { return errors.As(err, new(*failure)) }

// statusFailure converts a gRPC status to an error.
func statusFailure(code uint32, text string) error {
	text = short(text)
	switch c := codes.Code(code); c {
	case codes.NotFound:
		return fs.ErrNotExist
	case codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented:
		return refusedf("%s: %s", c, text)
	case codes.Unavailable, codes.DeadlineExceeded:
		return lostf("%s: %s", c, text)
	default:
		return wrongf("%s: %s", c, text)
	}
}

// uuid returns a random UUID, which names an upload.
func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// rawCodec passes on messages that are already encoded.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
