package krm

import (
	"hash/maphash"
	"slices"

	"github.com/krmflow/krmflow/krm/yaml"
)

// labelFields are the metadata fields that the index of [List.Labelled] contains.
var labelFields = [...]string{"labels", "annotations"}

// scansBeforeIndex is the number of calls of [List.Labelled] without an index. Most lists are
// searched by label only a few times, and building the index takes longer than a few scans.
const scansBeforeIndex = 8

// Labelled returns the positions of the resources whose metadata.field, which is "labels" or
// "annotations", has a key with one of values, in order. ok is false if the caller must scan the
// list instead, because an index is not worthwhile yet.
//
// Steps may change labels between searches, so the index is kept up to date instead of rebuilt. It
// retains the positions of earlier values: lookups compare the resources anyway.
func (l *List) Labelled(field, key string, values []string) (found []int, ok bool) {
	if l.labels == nil {
		if l.scans++; l.scans <= scansBeforeIndex {
			return nil, false
		}
		l.labels = newIndex(len(l.items))
		for i, r := range l.items {
			l.addLabels(yaml.Value{}, r.value, i)
		}
	}
	for _, value := range values {
		found = append(found, l.labels.find(hashLabel(field, key, value), func(i int) bool {
			v := l.items[i].value.At("metadata", field, key)
			return v.Exists() && v.Text() == value
		})...)
	}
	slices.Sort(found)
	return slices.Compact(found), true
}

// addLabels adds to l.labels the entries of the object v at pos that old, the object before a
// change, does not have.
func (l *List) addLabels(old, v yaml.Value, pos int) {
	if l.labels == nil {
		return
	}
	oldMeta, meta := old.Get("metadata"), v.Get("metadata")
	if meta.Same(oldMeta) {
		return
	}
	for _, field := range labelFields {
		before, entries := oldMeta.Get(field), meta.Get(field)
		if entries.Same(before) {
			continue
		}
		known := before.Finder(entries.Len())
		for _, f := range entries.Fields() {
			if x := known.Get(f.Key); !x.Exists() || x.Text() != f.Value.Text() {
				l.labels.insert(hashLabel(field, f.Key, f.Value.Text()), pos)
			}
		}
	}
}

// dropLabels removes the index of labels.
func (l *List) dropLabels() { l.labels, l.scans = nil, 0 }

func hashLabel(field, key, value string) uint64 {
	return maphash.Comparable(indexSeed, [3]string{field, key, value})
}
