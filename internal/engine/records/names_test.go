package records

import (
	"errors"
	"slices"
	"testing"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
)

// Only lasting names without an error are kept, each under its key.
func TestNamesKeepsLastingNames(t *testing.T) {
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	failed := errors.New("failed")
	for i, s := range []struct {
		cache   *cache.Cache
		key     string
		lasting bool
		err     error
		found   bool // a second call of find is not needed
	}{
		{c, "lasting", true, nil, true},
		{c, "changing", false, nil, false},
		{c, "error", false, failed, false},
		{nil, "no cache", true, nil, false},
	} {
		key, calls, want := krm.DigestOf([]byte(s.key)), 0, []string{"a", "b\nc"}
		for range 2 {
			names, err := Names(s.cache, key, func() ([]string, bool, error) {
				calls++
				return want, s.lasting, s.err
			})
			if !slices.Equal(names, want) || !errors.Is(err, s.err) {
				t.Errorf("%d: %q, %v", i, names, err)
			}
		}
		if (calls == 1) != s.found {
			t.Errorf("%d: %d calls", i, calls)
		}
	}
}
