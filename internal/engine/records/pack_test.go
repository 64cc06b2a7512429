package records

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
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

// Old entries and old versions of a GitOps object are removed.
func TestPackIsBounded(t *testing.T) {
	p := pack{"/a/new": {day: today()}, "/a/old": {day: today() - maxAge - 1}}
	p.expire()
	if len(p) != 1 || p["/a/new"].day == 0 {
		t.Errorf("%v", p)
	}
	for i := range 3 * maxRecords {
		p[fmt.Sprintf("object Application/a/b %d", i)] = stored{day: today() - uint64(i)}
	}
	p["object Application/a/c 0"] = stored{}
	p.limit([]string{"object Application/a/b 11"})
	for i := range 3 * maxRecords {
		_, ok := p[fmt.Sprintf("object Application/a/b %d", i)]
		if want := i < maxRecords || i == 11; ok != want {
			t.Errorf("version %d is there: %t, want %t", i, ok, want)
		}
	}
	if len(p) != maxRecords+3 {
		t.Errorf("%d entries: %v", len(p), p)
	}
}
