package records

import (
	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
)

// IDs are the object ids of files in a git repository, by the digests of their contents. With
// them, a file whose digest is known can be compared with a revision without reading it. IDs
// must not be used concurrently.
type IDs struct {
	open  func() *cache.Cache
	cache *cache.Cache // nil before the first use, and without a cache
	key   krm.Digest
	known map[krm.Digest]string
	used  map[krm.Digest]string
	fresh bool // there are new ids
}

// ids is the kind of the cache entries for object ids.
const ids = "objects1"

// maxIDs is the maximum number of stored ids of a repository. If there are more, only the ids
// that the last run has used are kept.
const maxIDs = 100_000

// OpenIDs returns the cached ids of the repository with this top directory. open returns the
// cache, which may be nil. It is called on the first use of the ids.
func OpenIDs(open func() *cache.Cache, top string) *IDs {
	return &IDs{open: open, key: krm.DigestOf([]byte(top)), used: map[krm.Digest]string{}}
}

// load reads the cached ids.
func (i *IDs) load() {
	i.cache, i.known = i.open(), map[krm.Digest]string{}
	if i.cache == nil {
		return
	}
	data, ok := i.cache.Kept(ids, i.key)
	if !ok {
		return
	}
	d := newDecoder(data)
	for range min(d.uint(), uint64(len(data))) {
		sum := d.digest()
		i.known[sum] = d.text()
	}
	if d.err != nil {
		clear(i.known)
	}
}

// Of returns the id of the file whose content has this digest. If it is not cached, Of calls
// id, which returns "" if it cannot determine the id.
func (i *IDs) Of(sum krm.Digest, id func() string) string {
	if i.known == nil {
		i.load()
	}
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

// OfFile returns the id of the file at path if its content has this digest. If the id is not
// cached, OfFile reads the file and calls id with its content. It returns "" if that fails.
func (i *IDs) OfFile(path string, sum krm.Digest, id func(data []byte) string) string {
	return i.Of(sum, func() string {
		data, err := loaders.ReadFile(path, loaders.MaxProgram)
		if err != nil || krm.DigestOf(data) != sum {
			return ""
		}
		return id(data)
	})
}

// Save stores the ids, if there are new ones.
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
	_ = i.cache.Keep(ids, i.key, e.b) // on failure, the next run reads the files again
}
