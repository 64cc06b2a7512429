package shared

import (
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// minCompressed is from which size on it pays to compress.
	minCompressed = 1 << 10
	// maxWindow is how far back compressed data may refer: what everybody must be able to read, by RFC 8878.
	maxWindow = 8 << 20
)

var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(maxWindow))
	if err != nil {
		panic(err) // an option of the lines above is wrong
	}
	return e
})

// compressed returns data in the form of zstd, if that is shorter.
func compressed(data []byte) ([]byte, bool) {
	if len(data) < minCompressed {
		return nil, false
	}
	out := encoder().EncodeAll(data, nil)
	return out, len(out) < len(data)
}

// readCompressed reads a blob that comes in the form of zstd. What it unpacks to is bounded by the size of the blob, and what comes as well.
func (b blob) readCompressed(r io.Reader) ([]byte, error) {
	const overhead = 1 << 20 // of data that cannot be compressed
	d, err := zstd.NewReader(io.LimitReader(r, b.size+overhead), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return b.read(notZstd{d})
}

// notZstd makes what the decoder finds wrong a failure of the server. What the connection says stays.
type notZstd struct{ d *zstd.Decoder }

func (r notZstd) Read(p []byte) (int, error) {
	n, err := r.d.Read(p)
	if err == nil || err == io.EOF || isFailure(err) || errors.Is(err, fs.ErrNotExist) {
		return n, err
	}
	return n, wrongf("it sends what is not compressed with zstd: %w", err)
}
