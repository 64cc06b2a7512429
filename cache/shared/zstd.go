package shared

import (
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// minCompressed is the size in bytes from which compression pays off.
	minCompressed = 1 << 10
	// maxWindow is the window size that every decoder must support according to RFC 8878.
	maxWindow = 8 << 20
)

var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(maxWindow))
	if err != nil {
		panic(err) // the options above are wrong
	}
	return e
})

// compressed returns data compressed with zstd, and whether that is shorter.
func compressed(data []byte) ([]byte, bool) {
	if len(data) < minCompressed {
		return nil, false
	}
	out := encoder().EncodeAll(data, nil)
	return out, len(out) < len(data)
}

// readCompressed reads a zstd-compressed blob from r. It limits both the compressed and the
// decompressed size.
func (b blob) readCompressed(r io.Reader) ([]byte, error) {
	const overhead = 1 << 20 // for incompressible data
	d, err := zstd.NewReader(io.LimitReader(r, b.size+overhead), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return b.read(notZstd{d})
}

// notZstd converts decoding errors to failures of the server. It returns errors of the connection
// unchanged.
type notZstd struct{ d *zstd.Decoder }

func (r notZstd) Read(p []byte) (int, error) {
	n, err := r.d.Read(p)
	if err == nil || err == io.EOF || isFailure(err) || errors.Is(err, fs.ErrNotExist) {
		return n, err
	}
	return n, wrongf("it sent data that is not zstd: %w", err)
}
