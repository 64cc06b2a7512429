package records

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
	"golang.org/x/sync/errgroup"
)

// Records are stored in packs, because a file for each root would take most of the time of a run
// that changes nothing. All runs in one working directory share its packs. A run of one root reads
// and writes one pack, which is small.

// kind is the kind of the cache entries. Its number changes with their format.
const kind = "roots4"

// maxPacks is the number of packs of a working directory. maxRoots is the maximum number of roots
// in a pack, not counting the roots of the run that stores the pack. Without this limit, records of
// temporary directories would stay for [maxAge] days.
const (
	maxPacks = 64
	maxRoots = 4096
)

// A pack has the stored records of roots, by their keys.
type pack map[string]stored

// stored are the records of a root, and the day when they were stored, in days since 1970.
type stored struct {
	day     uint64
	records []*Record
}

// maxAge is the number of days that the records of a root are kept if no run uses them. The root
// may no longer exist.
const maxAge = 30

func today() uint64 { return uint64(time.Now().Unix() / (24 * 60 * 60)) }

// family returns the text by which a root is assigned to a pack: the directory that contains the
// root, or the name of a GitOps object without its version.
func family(real string) string {
	if filepath.IsAbs(real) {
		return filepath.Dir(real)
	}
	return real[:max(strings.LastIndexByte(real, ' '), 0)]
}

// packOf returns the cache key of the pack of a root.
func (rs *Records) packOf(real string) krm.Digest {
	sum := krm.DigestOf([]byte(family(real)))
	return krm.DigestOf(fmt.Appendf(nil, "%s\x00%d", rs.scope, sum[0]%maxPacks))
}

// inParallel calls do for each item on all cores.
func inParallel[T any](list []T, do func(T) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, item := range list {
		g.Go(func() error { return do(item) })
	}
	return g.Wait()
}

// read reads the records of roots that have not been read, on all cores.
func (rs *Records) read(reals []string) {
	byPack := map[krm.Digest][]string{}
	for _, real := range reals {
		if _, ok := rs.known[real]; ok || real == "" || rs.cache == nil {
			continue
		}
		rs.known[real] = nil
		key := rs.packOf(real)
		byPack[key] = append(byPack[key], real)
	}
	type part struct {
		key  krm.Digest
		pack pack
	}
	var parts []*part
	for key := range byPack {
		parts = append(parts, &part{key: key})
	}
	_ = inParallel(parts, func(p *part) error { // never returns an error
		p.pack = readPack(rs.cache, p.key)
		return nil
	})
	for _, p := range parts {
		for _, real := range byPack[p.key] {
			rs.known[real] = p.pack[real].records
		}
	}
}

// readPack reads a pack. A missing or damaged pack is empty.
func readPack(c *cache.Cache, key krm.Digest) pack {
	data, ok := c.Kept(kind, key)
	if !ok {
		return pack{}
	}
	p, _ := decodePack(data)
	return p
}

// keep stores the records of roots in the cache. If two runs write a pack at the same moment, the
// records of one run are lost, and the next run renders these roots again.
func (rs *Records) keep(reals []string) error {
	if rs.cache == nil || len(reals) == 0 {
		return nil
	}
	byPack := map[krm.Digest][]string{}
	for _, real := range reals {
		key := rs.packOf(real)
		byPack[key] = append(byPack[key], real)
	}
	return inParallel(slices.Collect(maps.Keys(byPack)), func(key krm.Digest) error {
		p := readPack(rs.cache, key) // another run may have changed it
		for real, s := range p {
			if slices.ContainsFunc(rs.known[real], func(r *Record) bool { return rs.valid[r] }) {
				p[real] = stored{today(), s.records}
			}
		}
		for _, real := range byPack[key] {
			p[real] = stored{today(), rs.known[real]}
		}
		p.limit(byPack[key])
		return rs.cache.Replace(kind, key, p.bytes())
	})
}

// limit removes expired entries, and old versions of the GitOps objects in roots, the roots that
// were just stored.
func (p pack) limit(roots []string) {
	maps.DeleteFunc(p, func(_ string, s stored) bool { return s.day+maxAge < today() })
	stored := map[string]bool{}
	for _, real := range roots {
		stored[real] = true
	}
	var all []string
	versions := map[string][]string{}
	for real := range p {
		switch {
		case stored[real]:
		case filepath.IsAbs(real):
			all = append(all, real)
		default:
			versions[family(real)] = append(versions[family(real)], real)
		}
	}
	p.keepNewest(all, maxRoots)
	for _, real := range roots {
		p.keepNewest(versions[family(real)], maxRecords)
	}
}

// keepNewest removes all but the n newest entries of a list of roots.
func (p pack) keepNewest(list []string, n int) {
	if len(list) <= n {
		return
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(p[b].day, p[a].day), strings.Compare(a, b)) })
	for _, old := range list[n:] {
		delete(p, old)
	}
}

func (p pack) bytes() []byte {
	e := &packer{settings: map[string]int{}, dirs: map[dir]int{}, files: map[fileKey]int{}}
	e.uint(uint64(len(p)))
	for _, real := range slices.Sorted(maps.Keys(p)) {
		e.text(real)
		e.uint(p[real].day)
		list(&e.encoder, p[real].records, e.record)
	}
	return e.bytes()
}

var errPack = errors.New("not a pack of records")

// decodePack decodes a pack, and takes ownership of data.
func decodePack(data []byte) (pack, error) {
	u := newUnpacker(data)
	p := pack{}
	for n := u.uint(); n > 0 && u.err == nil; n-- {
		real := u.text()
		p[real] = stored{u.uint(), items(&u.decoder, u.record)}
	}
	if u.err != nil || u.b != "" {
		return pack{}, errPack
	}
	return p, nil
}
