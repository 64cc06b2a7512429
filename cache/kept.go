package cache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/krm"
)

// A kept file starts with keptHeader, whose last digit is the format version, and ends with a
// digest. While it is being written it starts with partHeader. Writing can take as long as the
// consumer of a run's output needs to read it, and a killed run leaves the partial file.
const (
	keptHeader = "krmflow kept 2\n"
	partHeader = "krmflow part 2\n"
)

// Keep stores data for key under kind, which must be usable as a directory name. It replaces an
// earlier value.
//
// A kept value is one file, not a blob and an entry, because most values are small and there are
// many of them. For the same reason it is written in place, without a temporary file and rename.
// The caller can do without the value, so a failed write does not switch to a temporary cache.
func (c *Cache) Keep(kind string, key krm.Digest, data []byte) error {
	if c.fixed {
		return errFixed
	}
	sum := keptSum(kind, key)
	sum.Write(data)
	f := c.newKept(kind, key)
	f.write([]byte(partHeader))
	f.write(data)
	return f.finish(sum.Sum(nil))
}

// Replace is [Cache.Keep] for a value that several runs change: at any time, a reader finds either
// the earlier value or the new one.
func (c *Cache) Replace(kind string, key krm.Digest, data []byte) error {
	if c.fixed {
		return errFixed
	}
	dir, err := c.temp()
	if err != nil {
		return c.without(err)
	}
	temp, err := os.CreateTemp(dir, "kept-")
	if err != nil {
		return c.without(err)
	}
	defer os.Remove(temp.Name())
	sum := keptSum(kind, key)
	sum.Write(data)
	f := &keptFile{c: c, path: c.kept(kind, key), file: temp}
	for _, part := range [][]byte{[]byte(keptHeader), data, sum.Sum(nil)} {
		f.write(part)
	}
	if err := cmp.Or(f.err, temp.Close()); err != nil {
		return c.without(err)
	}
	if err := moveTo(temp.Name(), f.path); err != nil {
		return c.without(err)
	}
	c.use(f.path)
	c.added.Add(onDisk(f.size))
	return nil
}

// A keptFile is a kept value that is being written. After the first error, further writes do
// nothing.
type keptFile struct {
	c    *Cache
	path string
	file *os.File // nil if it could not be created
	size int64
	err  error
}

func (c *Cache) newKept(kind string, key krm.Digest) *keptFile {
	f := &keptFile{c: c, path: c.kept(kind, key)}
	f.file, f.err = createNew(f.path)
	return f
}

func (f *keptFile) write(p []byte) {
	if f.err == nil {
		_, f.err = f.file.Write(p)
		f.size += int64(len(p))
	}
}

// finish appends the digest and replaces partHeader by keptHeader, which makes the value valid.
func (f *keptFile) finish(sum []byte) error {
	f.write(sum)
	if f.err == nil {
		_, f.err = f.file.WriteAt([]byte(keptHeader), 0)
	}
	if f.err != nil {
		f.discard()
		return f.c.without(f.err)
	}
	if err := f.file.Close(); err != nil {
		return f.c.without(err)
	}
	f.c.use(f.path)
	f.c.added.Add(onDisk(f.size))
	return nil
}

func (f *keptFile) discard() {
	if f.file != nil {
		f.file.Close()
		os.Remove(f.path)
	}
}

const (
	// keeperSize is the number of bytes a [Keeper] writes at a time. Larger writes take the file
	// system less time than the small ones of an encoder.
	keeperSize = 128 << 10
	// keeperBuffers is the number of buffers. With only two, Write often blocks.
	keeperBuffers = 4
)

// A Keeper stores the value for a key piece by piece. Its methods must not be called
// concurrently. It hashes and writes in a goroutine of its own, on a core that the run may leave
// idle.
type Keeper struct {
	c    *Cache
	kind string
	key  krm.Digest
	sum  hash.Hash
	buf  []byte // not yet passed to the goroutine
	// The writing goroutine, started when the first buffer is full. It receives buffers from
	// full, returns them to free, and sends the file on done at the end.
	full, free chan []byte
	done       chan *keptFile
}

// Keeper is [Cache.Keep] for data that is produced incrementally. [Keeper.Commit] makes the new
// value visible; until then an earlier value may still exist or may already be removed. The
// caller must call [Keeper.Discard] in any case.
func (c *Cache) Keeper(kind string, key krm.Digest) (*Keeper, error) {
	if c.fixed {
		return nil, errFixed
	}
	return &Keeper{c: c, kind: kind, key: key, sum: keptSum(kind, key), buf: newKeeperBuffer()}, nil
}

func newKeeperBuffer() []byte { return make([]byte, 0, keeperSize) }

// Write appends p, without retaining it. It always succeeds; [Keeper.Commit] reports errors.
func (k *Keeper) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := copy(k.buf[len(k.buf):keeperSize], rest)
		k.buf, rest = k.buf[:len(k.buf)+n], rest[n:]
		if len(k.buf) == keeperSize {
			k.handOver()
		}
	}
	return len(p), nil
}

// handOver passes the full buffer to the writing goroutine.
func (k *Keeper) handOver() {
	if k.full == nil {
		k.full, k.free, k.done = make(chan []byte, keeperBuffers), make(chan []byte, keeperBuffers), make(chan *keptFile, 1)
		for range keeperBuffers - 1 {
			k.free <- newKeeperBuffer()
		}
		go k.write(k.full, k.free, k.done)
	}
	k.full <- k.buf
	k.buf = <-k.free
}

func (k *Keeper) write(full <-chan []byte, free chan<- []byte, done chan<- *keptFile) {
	f := k.c.newKept(k.kind, k.key)
	f.write([]byte(partHeader))
	for p := range full {
		k.sum.Write(p)
		f.write(p)
		free <- p[:0]
	}
	done <- f
}

// end waits for the writing goroutine and returns its file, or nil if the goroutine was never
// started.
func (k *Keeper) end() *keptFile {
	if k.full == nil {
		return nil
	}
	close(k.full)
	k.full = nil
	return <-k.done
}

// Commit stores the value and returns a digest of its data, kind and key, for [Cache.KeptAs]. It
// must be called at most once.
func (k *Keeper) Commit() (krm.Digest, error) {
	f := k.end()
	k.sum.Write(k.buf)
	sum := krm.Digest(k.sum.Sum(nil))
	if f == nil {
		f = k.c.newKept(k.kind, k.key)
		f.write([]byte(partHeader))
	}
	f.write(k.buf)
	if err := f.finish(sum[:]); err != nil {
		return krm.Digest{}, err
	}
	return sum, nil
}

// Discard removes the value if it was not committed.
func (k *Keeper) Discard() {
	if f := k.end(); f != nil {
		f.discard()
	}
}

// Kept returns the value that [Cache.Keep] or a [Keeper] stored for key under kind. A damaged
// value, or one stored for a different key, is treated as missing.
func (c *Cache) Kept(kind string, key krm.Digest) ([]byte, bool) {
	data, _, ok := c.keptAndSum(kind, key)
	return data, ok
}

// KeptAs is [Cache.Kept] restricted to the value whose [Keeper.Commit] returned sum. Any other
// value is treated as missing.
func (c *Cache) KeptAs(kind string, key, sum krm.Digest) ([]byte, bool) {
	data, got, ok := c.keptAndSum(kind, key)
	return data, ok && got == sum
}

func (c *Cache) keptAndSum(kind string, key krm.Digest) (data []byte, sum krm.Digest, ok bool) {
	path := c.kept(kind, key)
	text, err := c.read(path)
	if err != nil {
		return nil, sum, false
	}
	if data, sum, ok = unwrap(kind, key, text); ok {
		c.use(path)
	}
	return data, sum, ok
}

// unwrap returns the data in a kept file and the digest at its end. It fails if the file is
// incomplete or was stored for a different kind or key.
func unwrap(kind string, key krm.Digest, text []byte) (data []byte, sum krm.Digest, ok bool) {
	text, ok = bytes.CutPrefix(text, []byte(keptHeader))
	if !ok || len(text) < len(sum) {
		return nil, sum, false
	}
	data = text[:len(text)-len(sum)]
	copy(sum[:], text[len(data):])
	h := keptSum(kind, key)
	h.Write(data)
	return data, sum, krm.Digest(h.Sum(nil)) == sum
}

// Forget removes the value for key.
func (c *Cache) Forget(kind string, key krm.Digest) { os.RemoveAll(c.kept(kind, key)) }

// kept returns the path of a kept value. All values of a kind share one directory: for file
// systems, a file in a separate directory is three times as expensive.
func (c *Cache) kept(kind string, key krm.Digest) string {
	return filepath.Join(c.folder(), "kept", kind, hex.EncodeToString(key[:]))
}

// keptSum starts the digest of a kept value. It includes the kind and the key, so that a file
// moved to another name does not verify.
func keptSum(kind string, key krm.Digest) hash.Hash {
	h := sha256.New()
	io.WriteString(h, kind+"\x00")
	h.Write(key[:])
	return h
}
