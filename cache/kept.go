package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/krm"
)

// keptHeader begins each file with kept bytes: its last digit changes with the form of the file.
const keptHeader = "krmflow kept 1\n"

// Keep stores data for a key among those of one kind: a word that may be the name of a folder. What is kept later counts. In one file,
// unlike a blob with an entry, and written in place, which a temporary cache does not stand in for: most are small, and there are many.
// Who can do without what is kept can do without this, too.
func (c *Cache) Keep(kind string, key krm.Digest, data []byte) error {
	if c.fixed {
		return errFixed
	}
	sum := keptSum(kind, key, data)
	text := append(make([]byte, 0, len(keptHeader)+len(sum)+len(data)), keptHeader...)
	return c.put(c.kept(kind, key), append(append(text, sum[:]...), data...))
}

// Kept returns what [Cache.Keep] has stored for a key among those of one kind. Something that is damaged, or was stored for another key,
// was not stored.
func (c *Cache) Kept(kind string, key krm.Digest) ([]byte, bool) {
	path := c.kept(kind, key)
	text, err := c.read(path)
	if err != nil {
		return nil, false
	}
	data, ok := unwrap(kind, key, text)
	if ok {
		c.use(path)
	}
	return data, ok
}

// unwrap returns what a file with kept bytes holds, if it is whole and in its place.
func unwrap(kind string, key krm.Digest, text []byte) (data []byte, ok bool) {
	head := len(keptHeader) + len(key)
	if len(text) < head || string(text[:len(keptHeader)]) != keptHeader {
		return nil, false
	}
	data = text[head:]
	return data, keptSum(kind, key, data) == krm.Digest(text[len(keptHeader):head])
}

// Forget removes what is kept for a key.
func (c *Cache) Forget(kind string, key krm.Digest) { os.RemoveAll(c.kept(kind, key)) }

// kept returns the path of kept bytes. One folder has all of a kind: a file in another one costs file systems three times as much.
func (c *Cache) kept(kind string, key krm.Digest) string {
	return filepath.Join(c.folder(), "kept", kind, hex.EncodeToString(key[:]))
}

// keptSum is over the place, too: a file that was moved is as good as damaged.
func keptSum(kind string, key krm.Digest, data []byte) krm.Digest {
	h := sha256.New()
	io.WriteString(h, kind+"\x00")
	h.Write(key[:])
	h.Write(data)
	return krm.Digest(h.Sum(nil))
}
