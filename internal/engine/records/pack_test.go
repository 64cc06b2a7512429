package records

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
)

func TestPackIsReadAsItWasWritten(t *testing.T) {
	p := pack{"/a/b": {day: 3, records: []*Record{example(), example()}}, "object Application/a/b 00": {day: 1 << 20}}
	text := p.bytes()
	if twice := len(text); twice > 3*len(example().Bytes())/2+50 {
		t.Errorf("%d bytes: files that two records share are stored twice", twice)
	}
	if got, err := decodePack(slices.Clone(text)); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%v, want %v; %v", got, p, err)
	}
	for i := range text {
		if _, err := decodePack(slices.Clone(text[:i])); err == nil {
			t.Errorf("the first %d of %d bytes are a pack", i, len(text))
		}
	}
}

// Old entries, old versions of a GitOps object and the oldest of too many entries are removed.
func TestPackIsBounded(t *testing.T) {
	p := pack{"/a/new": {day: today()}, "/a/old": {day: today() - maxAge - 1}}
	for i := range 3 * maxRecords {
		p[fmt.Sprintf("object Application/a/b %d", i)] = stored{day: today() - uint64(i)}
	}
	p["object Application/a/c 0"] = stored{day: today() - 1}
	p.limit([]string{"object Application/a/b 11"})
	for i := range 3 * maxRecords {
		_, ok := p[fmt.Sprintf("object Application/a/b %d", i)]
		if want := i < maxRecords || i == 11; ok != want {
			t.Errorf("version %d is there: %t, want %t", i, ok, want)
		}
	}
	if len(p) != maxRecords+3 || p["/a/new"].day == 0 {
		t.Errorf("%d entries: %v", len(p), p)
	}
	p = pack{}
	for i := range maxRoots + 7 {
		p[fmt.Sprint("/tmp/", i)] = stored{day: today() - uint64(i%20)}
	}
	p.limit([]string{"/tmp/19"})
	for real, want := range map[string]bool{"/tmp/19": true, "/tmp/0": true, "/tmp/999": false} {
		if _, ok := p[real]; ok != want || len(p) != maxRoots+1 {
			t.Errorf("%s is there: %t, of %d entries", real, ok, len(p))
		}
	}
}

func openCache(t *testing.T) *cache.Cache {
	t.Helper()
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestUsedRecordsAreKept stores a root in a pack whose other root is old, but used by the same run.
func TestUsedRecordsAreKept(t *testing.T) {
	c := openCache(t)
	top := t.TempDir()
	names := []string{filepath.Join(top, "a"), filepath.Join(top, "b"), filepath.Join(top, "gone")}
	for _, name := range names[:2] {
		if err := os.Mkdir(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	rs := Open(c, top, nil, nil, &filestat.Dirs{})
	p := pack{}
	for _, name := range names {
		p[name] = stored{today() - maxAge, []*Record{{trace: trace{dirs: []*dir{{name, name}}}}}}
	}
	if err := c.Replace(kind, rs.packOf(names[0]), p.bytes()); err != nil {
		t.Fatal(err)
	}
	if found := rs.Find(names); found[0] == nil || found[1] == nil || found[2] != nil {
		t.Fatalf("found %v", found)
	}
	if err := rs.keep(names[:1]); err != nil {
		t.Fatal(err)
	}
	p = readPack(c, rs.packOf(names[0]))
	for i, want := range []uint64{today(), today(), today() - maxAge} {
		if got := p[names[i]].day; got != want {
			t.Errorf("%s is of day %d, want %d", names[i], got, want)
		}
	}
}

// TestNewMetadataIsStoredOnce checks a file that was written again with the same content: only the
// first search afterwards stores its record.
func TestNewMetadataIsStoredOnce(t *testing.T) {
	c := openCache(t)
	top := t.TempDir()
	name := filepath.Join(top, "x")
	if err := os.WriteFile(name, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // until the metadata of the file is settled
	d := &dir{top, top}
	f := &file{dir: d, name: "x", kind: loaders.SawFile, sum: krm.DigestOf([]byte("x"))}
	rs := Open(c, top, nil, nil, &filestat.Dirs{})
	rs.known[top] = []*Record{{trace: trace{dirs: []*dir{d}, files: []*file{f}}}}
	for round := range 2 {
		if rs.Find([]string{top})[0] == nil {
			t.Fatal("the record is not valid")
		}
		if f.stat == (filestat.Stat{}) {
			t.Skip("metadata proves nothing on this system")
		}
		if _, ok := c.Kept(kind, rs.packOf(top)); ok != (round == 0) {
			t.Errorf("search %d: stored: %t", round, ok)
		}
		c.Forget(kind, rs.packOf(top))
		rs.Again(c, nil, nil)
	}
}
