package builtins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// TestSelectEqualsMatch compares Select on one list, which soon has an index, with Match for each
// resource, also for invalid selectors.
func TestSelectEqualsMatch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	var rs []*krm.Resource
	for i := range 40 {
		v := doc(t, fmt.Sprintf("{apiVersion: v1, kind: %s, metadata: {name: n%d}}", []string{"A", "B"}[rnd.IntN(2)], i%20)).Value()
		for _, field := range []string{"labels", "annotations"} {
			for range rnd.IntN(3) {
				v = v.WithAt(yaml.Plain(fmt.Sprint(rnd.IntN(4))), "metadata", field, string(rune('a'+rnd.IntN(3))))
			}
		}
		rs = append(rs, krm.NewResource(v, nil))
	}
	list := krm.NewList(rs...)
	terms := []string{"", "", "a=1", "a in (1,2)", "b!=1", "!c", "a", "c notin (0)", "b=0,a=1", "a>1", "c in (3,,2)", "=", "a=1,c"}
	pick := func(of []string) string { return of[rnd.IntN(len(of))] }
	for range 3000 {
		s := &Selector{Kind: pick([]string{"", "", "A", "B|C"}), Name: pick([]string{"", "", "", "n1", "n1.*"}),
			LabelSelector: pick(terms), AnnotationSelector: pick(terms)}
		if err := s.Compile(); err != nil {
			t.Fatal(err)
		}
		got, err := s.Select(list)
		var want []int
		var wantErr error
		for i, r := range list.All() {
			ok, err := s.Match(r)
			if err != nil {
				want, wantErr = nil, err
				break
			}
			if ok {
				want = append(want, i)
			}
		}
		if !slices.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%s: found %v, %v; want %v, %v", s, got, err, want, wantErr)
		}
	}
}
