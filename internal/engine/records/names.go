package records

import (
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
)

// found is the kind of the cache entries for the roots of a revision.
const found = "found1"

// Names returns the names that an earlier call has stored for key. If there are none, it calls
// find, and stores the result of find if it is lasting: if it depends only on the content of the
// key. The cache may be nil.
func Names(c *cache.Cache, key krm.Digest, find func() (names []string, lasting bool, err error)) ([]string, error) {
	if c != nil {
		if data, ok := c.Kept(found, key); ok && len(data) > 0 {
			return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00"), nil
		}
	}
	names, lasting, err := find()
	if c != nil && lasting && len(names) > 0 {
		_ = c.Keep(found, key, []byte(strings.Join(names, "\x00")+"\x00")) // on failure, the next run finds them again
	}
	return names, err
}
