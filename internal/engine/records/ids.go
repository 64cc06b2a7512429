package records

import (
	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
)

// IDs are what a repository of git calls files, by the digests of their contents: whoever knows the digest of a file need not read it to compare it with a
// revision. They are not safe for concurrent use.
type IDs struct {
	cache *cache.Cache
	key   krm.Digest
	known map[krm.Digest]string
	used  map[krm.Digest]string
	fresh bool // one of them was not known
}

// ids is what the cache calls them.
const ids = "objects1"

// maxIDs is how many of a repository are kept that the last run has not used.
const maxIDs = 100_000

// OpenIDs returns what the cache, which may be nil, knows of the repository with this top directory.
func OpenIDs(c *cache.Cache, top string) *IDs {
	i := &IDs{cache: c, key: krm.DigestOf([]byte(top)), known: map[krm.Digest]string{}, used: map[krm.Digest]string{}}
	if c == nil {
		return i
	}
	data, ok := c.Kept(ids, i.key)
	if !ok {
		return i
	}
	d := newDecoder(data)
	for range min(d.uint(), uint64(len(data))) {
		sum := d.digest()
		i.known[sum] = d.text()
	}
	if d.err != nil {
		clear(i.known)
	}
	return i
}

// Of returns the id of the file whose content has this digest. If it is not known, id is called, which returns "" if it does not know either.
func (i *IDs) Of(sum krm.Digest, id func() string) string {
	known, ok := i.known[sum]
	if !ok {
		if known = id(); known == "" {
			return ""
		}
		i.known[sum], i.fresh = known, true
	}
	i.used[sum] = known
	return known
}

// Save keeps them, if there are new ones.
func (i *IDs) Save() {
	if i.cache == nil || !i.fresh {
		return
	}
	all := i.known
	if len(all) > maxIDs {
		all = i.used
	}
	e := newEncoder(len(all))
	e.uint(uint64(len(all)))
	for sum, id := range all {
		e.digest(sum)
		e.text(id)
	}
	_ = i.cache.Keep(ids, i.key, e.b) // without them files are read again
}
