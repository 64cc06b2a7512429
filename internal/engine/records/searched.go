package records

import (
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner/roots"
)

// searched is the kind of the cache entries for the files that searches for roots have read.
const searched = "search1"

// A Search identifies the files that searches for roots have read.
type Search struct {
	cache *cache.Cache
	key   krm.Digest
}

// OpenSearch returns the files of a search. texts are all inputs of the search besides files: the
// version of krmflow, the working directory, flags and arguments. The cache may be nil.
func OpenSearch(c *cache.Cache, texts ...string) Search {
	return Search{c, krm.DigestOf([]byte(strings.Join(texts, "\x00")))}
}

// Known returns the files that the last search has read.
func (s Search) Known() roots.Known {
	if s.cache == nil {
		return nil
	}
	data, ok := s.cache.Kept(searched, s.key)
	if !ok {
		return nil
	}
	d := newDecoder(data)
	known := roots.Known{}
	for range min(d.uint(), uint64(len(data))) {
		dir := d.text()
		known[dir] = items(d, func() roots.KnownFile {
			return roots.KnownFile{Name: d.text(), Stat: d.stat(), Traits: roots.Traits(d.uint())}
		})
	}
	if d.err != nil {
		return nil
	}
	return known
}

// Save stores the files that a search has read, unless known is nil.
func (s Search) Save(known roots.Known) {
	if s.cache == nil || known == nil {
		return
	}
	e := newEncoder(len(known))
	e.uint(uint64(len(known)))
	for dir, files := range known {
		e.text(dir)
		list(e, files, func(f roots.KnownFile) {
			e.text(f.Name)
			e.stat(f.Stat)
			e.uint(uint64(f.Traits))
		})
	}
	_ = s.cache.Keep(searched, s.key, e.b) // on failure, the next search reads the files again
}
