package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/krm"
)

// keptHeader begins each file with kept bytes: its last digit changes with the form of the file. A digest ends it. A file that is not whole begins with
// partHeader: it may take as long as somebody reads what a run prints, and stays if the run is killed.
const (
	keptHeader = "krmflow kept 2\n"
	partHeader = "krmflow part 2\n"
)

// Keep stores data for a key among those of one kind: a word that may be the name of a folder. What is kept later counts. In one file,
// unlike a blob with an entry, and written in place, which a temporary cache does not stand in for: most are small, and there are many.
// Who can do without what is kept can do without this, too.
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

// A keptFile is a file with kept bytes that is being written. After an error nothing more is.
type keptFile struct {
	c    *Cache
	path string
	file *os.File // nil if it was not made
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

// finish says that all is there, and what its digest is.
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
	// keeperSize is how many bytes a [Keeper] writes at a time: a file system takes less time for them than for those that an encoder makes at a time.
	keeperSize = 128 << 10
	// keeperBuffers is how many buffers of that size there are. With two, who writes to a Keeper often waits.
	keeperBuffers = 4
)

// A Keeper takes the bytes that are kept for a key, piece by piece. Its methods are not safe for concurrent use, but it writes and computes the digest
// meanwhile, on a core that the run may leave free.
type Keeper struct {
	c    *Cache
	kind string
	key  krm.Digest
	sum  hash.Hash
	buf  []byte // what was not handed over
	// The goroutine that writes, if there was so much: it takes buffers from full and gives them back to free, and sends the file in the end.
	full, free chan []byte
	done       chan *keptFile
}

// Keeper is [Cache.Keep] for data that is not all there yet: [Keeper.Commit] keeps it. What was kept for the key before may stay until then, or go. Discard
// must be called in any case.
func (c *Cache) Keeper(kind string, key krm.Digest) (*Keeper, error) {
	if c.fixed {
		return nil, errFixed
	}
	return &Keeper{c: c, kind: kind, key: key, sum: keptSum(kind, key), buf: newKeeperBuffer()}, nil
}

func newKeeperBuffer() []byte { return make([]byte, 0, keeperSize) }

// Write adds bytes. It does not keep p, and always succeeds: it is Commit that tells an error.
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

// handOver lets the goroutine write what is in the buffer.
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

// end returns the file when all that was handed over is written: nil if nothing was.
func (k *Keeper) end() *keptFile {
	if k.full == nil {
		return nil
	}
	close(k.full)
	k.full = nil
	return <-k.done
}

// Commit keeps what was written, and returns a digest of it and of its place. It is called once.
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

// Discard removes what was not committed.
func (k *Keeper) Discard() {
	if f := k.end(); f != nil {
		f.discard()
	}
}

// Kept returns what [Cache.Keep] or a [Keeper] has stored for a key among those of one kind. Something that is damaged, or was stored for another key,
// was not stored.
func (c *Cache) Kept(kind string, key krm.Digest) ([]byte, bool) {
	data, _, ok := c.keptAndSum(kind, key)
	return data, ok
}

// KeptAs is [Cache.Kept] for who knows what [Keeper.Commit] has returned: anything else was not stored.
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

// unwrap returns what a file with kept bytes holds, and the digest at its end, if it is whole and in its place.
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

// Forget removes what is kept for a key.
func (c *Cache) Forget(kind string, key krm.Digest) { os.RemoveAll(c.kept(kind, key)) }

// kept returns the path of kept bytes. One folder has all of a kind: a file in another one costs file systems three times as much.
func (c *Cache) kept(kind string, key krm.Digest) string {
	return filepath.Join(c.folder(), "kept", kind, hex.EncodeToString(key[:]))
}

// keptSum begins the digest of what is kept. It is of the place, too: a file that was moved is as good as damaged.
func keptSum(kind string, key krm.Digest) hash.Hash {
	h := sha256.New()
	io.WriteString(h, kind+"\x00")
	h.Write(key[:])
	return h
}
