package cache

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
)

func TestKeptReturnsOnlyIntactData(t *testing.T) {
	c := open(t)
	key, other := krm.DigestOf([]byte("key")), krm.DigestOf([]byte("other"))
	if _, ok := c.Kept("things", key); ok {
		t.Error("something is kept in an empty cache")
	}
	for _, data := range [][]byte{[]byte("first"), nil, bytes.Repeat([]byte("x"), 1<<16)} {
		if err := c.Keep("things", key, data); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Kept("things", key); !ok || !bytes.Equal(got, data) {
			t.Errorf("%d bytes instead of %d, %t", len(got), len(data), ok)
		}
	}
	if _, ok := c.Kept("others", key); ok {
		t.Error("a key of another kind is the same")
	}
	if err := os.MkdirAll(c.kept("things", other), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Kept("things", other); ok {
		t.Error("a folder is kept")
	}
	if err := c.Keep("things", other, []byte("second")); err != nil {
		t.Errorf("a folder is in the way: %v", err)
	}
	text, err := os.ReadFile(c.kept("things", other))
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		bad := bytes.Clone(text)
		bad[i] ^= 4
		for _, damaged := range [][]byte{bad, text[:i]} {
			if err := os.WriteFile(c.kept("things", other), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, ok := c.Kept("things", other); ok {
				t.Fatalf("damaged at %d of %d: %q", i, len(text), got)
			}
		}
	}
	if err := os.Rename(c.kept("things", key), c.kept("things", other)); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Kept("things", other); ok {
		t.Error("what is kept for one key is taken for another's")
	}
	if err := c.Keep("things", key, []byte("x")); err != nil {
		t.Fatal(err)
	}
	c.Forget("things", key)
	if _, ok := c.Kept("things", key); ok {
		t.Error("what was forgotten is still there")
	}
}

// The cost of a run that keeps one result: open the cache, miss, keep a result, and close the cache
// within its size limit.
func BenchmarkKeepOne(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "cache")
	data := make([]byte, 2000)
	for i := 0; b.Loop(); i++ {
		c, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		c.Bound(DefaultMax)
		if _, ok := c.Kept("things", keyOf(i)); ok {
			b.Fatal("it is there")
		}
		if err := c.Keep("things", keyOf(i), data); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// The cost of a run that hits the cache.
func BenchmarkKeptOne(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "cache")
	c, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Keep("things", keyOf(0), make([]byte, 2000)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := c.Kept("things", keyOf(0)); !ok {
			b.Fatal("it is not there")
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// A Keeper stores in pieces the same result as Keep does at once. The result is visible only when
// it is complete.
func TestKeeperStoresOnlyWholeResults(t *testing.T) {
	c := open(t)
	key := krm.DigestOf([]byte("key"))
	var sums []krm.Digest
	large := strings.Repeat("0123456789", keeperSize/10) // ends within a written piece
	for _, pieces := range [][]string{{"old"}, {"first ", "", "second"}, {}, {"first second"}, {large, "x", large, large}, {"short"},
		{large[:keeperSize/2], large[:keeperSize/2]}} {
		before, was := c.Kept("things", key)
		k, err := c.Keeper("things", key)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pieces {
			if n, err := k.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
			if got, ok := c.Kept("things", key); ok && (!was || !bytes.Equal(got, before)) {
				t.Errorf("%.20q is kept before all is there", got)
			}
		}
		sum, err := k.Commit()
		if err != nil {
			t.Fatal(err)
		}
		k.Discard() // leaves nothing
		if got, ok := c.Kept("things", key); string(got) != strings.Join(pieces, "") || !ok {
			t.Errorf("kept %.20q of %.20q, %t", got, pieces, ok)
		}
		if got, ok := c.KeptAs("things", key, sum); string(got) != strings.Join(pieces, "") || !ok {
			t.Errorf("kept %.20q of %.20q, %t", got, pieces, ok)
		}
		if len(sums) > 0 {
			if got, ok := c.KeptAs("things", key, sums[len(sums)-1]); ok {
				t.Errorf("%q is taken for what was kept before", got)
			}
		}
		sums = append(sums, sum)
	}
	if sums[1] != sums[3] || sums[0] == sums[1] || sums[1] == sums[2] {
		t.Errorf("digests of what is kept: %s", sums)
	}
	half := krm.DigestOf([]byte("half"))
	k, err := c.Keeper("things", half)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * keeperBuffers { // so that some of them are written
		if _, err := k.Write([]byte(large)); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := c.Kept("things", half); ok {
		t.Errorf("half of something is kept: %.20q", got)
	}
	if n, err := c.Verify(t.Context(), false, func(path string, why error) { t.Errorf("%s: %v", path, why) }); n != 2 || err != nil {
		t.Errorf("%d files verified, %v", n, err)
	}
	k.Discard()
	if _, err := os.Lstat(c.kept("things", half)); err == nil {
		t.Error("something is left of what was not committed")
	}
	for _, pieces := range []string{"small", large + large} {
		if err := os.WriteFile(filepath.Join(c.folder(), "kept", "blocked"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := c.Keeper("blocked", key)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = k.Write([]byte(pieces))
		if sum, err := k.Commit(); err == nil || sum != (krm.Digest{}) {
			t.Errorf("%v, %v where no file can be made", sum, err)
		}
		k.Discard()
	}
	c.fixed = true
	if _, err := c.Keeper("things", key); err == nil {
		t.Error("something is added to a cache that is only read")
	}
}
