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
	k, err := c.Keeper(kind, key)
	if err != nil {
		return err
	}
	defer k.Discard()
	if _, err := k.Write(data); err != nil {
		return err
	}
	_, err = k.Commit()
	return err
}

// A Keeper takes the bytes that are kept for a key, piece by piece. Its methods are not safe for concurrent use.
type Keeper struct {
	c    *Cache
	file *os.File // nil after Commit
	sum  hash.Hash
	size int64
}

// Keeper is [Cache.Keep] for data that is not all there yet: as long as [Keeper.Commit] has not been called, nothing is kept for the key. Discard must be
// called in any case.
func (c *Cache) Keeper(kind string, key krm.Digest) (*Keeper, error) {
	if c.fixed {
		return nil, errFixed
	}
	file, err := createNew(c.kept(kind, key))
	if err != nil {
		return nil, c.without(err)
	}
	k := &Keeper{c: c, file: file, sum: keptSum(kind, key)}
	if err := k.append([]byte(partHeader)); err != nil {
		k.Discard()
		return nil, c.without(err)
	}
	return k, nil
}

func (k *Keeper) append(p []byte) error {
	n, err := k.file.Write(p)
	k.size += int64(n)
	return err
}

// Write adds bytes. It does not keep p.
func (k *Keeper) Write(p []byte) (int, error) {
	if err := k.append(p); err != nil {
		return 0, k.c.without(err)
	}
	return k.sum.Write(p)
}

// Commit keeps what was written, and returns a digest of it and of its place.
func (k *Keeper) Commit() (krm.Digest, error) {
	sum := k.sum.Sum(nil)
	if err := k.append(sum); err != nil {
		return krm.Digest{}, k.c.without(err)
	}
	if _, err := k.file.WriteAt([]byte(keptHeader), 0); err != nil {
		return krm.Digest{}, k.c.without(err)
	}
	path := k.file.Name()
	if err := k.file.Close(); err != nil {
		return krm.Digest{}, k.c.without(err)
	}
	k.file = nil
	k.c.use(path)
	k.c.added.Add(onDisk(k.size))
	return krm.Digest(sum), nil
}

// Discard removes what was not committed.
func (k *Keeper) Discard() {
	if k.file != nil {
		k.file.Close()
		os.Remove(k.file.Name())
		k.file = nil
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
