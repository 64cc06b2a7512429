package shard

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/krmflow/krmflow/render"
)

func TestSetRejectsWrongValues(t *testing.T) {
	for _, text := range []string{"", "x", "1", "0/3", "4/3", "1/0", "0/0", "-1/3", "1/-3", "1/3/3",
		" 1/3", "+1/3", "1/10001", "1/99999999999999999999"} {
		if err := new(Shard).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	for _, text := range []string{"1/1", "3/3", "10000/10000"} {
		var s Shard
		if err := s.Set(text); err != nil || s.String() != text || !s.On() {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}

// TestAssignIsDeterministic checks random items: each has one shard, which does not depend on the
// order of the items, and no shard exceeds the bound of the algorithm: the mean and one item more.
func TestAssignIsDeterministic(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		items := make([]Item, r.IntN(60))
		var sum, largest int64
		for i := range items {
			items[i] = Item{fmt.Sprint(i), r.Int64N(5)} // many ties
			sum, largest = sum+items[i].Weight, max(largest, items[i].Weight)
		}
		n := 1 + r.IntN(9)
		of, loads := map[string]int{}, make([]int64, n)
		for i, at := range Assign(items, n) {
			if at < 1 || at > n {
				t.Fatalf("seed %d: shard %d of %d", seed, at, n)
			}
			of[items[i].Name] = at
			loads[at-1] += items[i].Weight
		}
		if most := slices.Max(loads); most > sum/int64(n)+largest {
			t.Errorf("seed %d: %v", seed, loads)
		}
		r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		for i, at := range Assign(items, n) {
			if of[items[i].Name] != at {
				t.Fatalf("seed %d: item %s is in shard %d and %d", seed, items[i].Name, of[items[i].Name], at)
			}
		}
	}
}

// tree writes a random tree of layers that use each other, and returns its roots.
func tree(t *testing.T, r *rand.Rand) (roots render.Roots) {
	t.Helper()
	top := t.TempDir()
	for i := range 1 + r.IntN(20) {
		out := fmt.Sprintf("r%d", i)
		dir := filepath.Join(top, out)
		text := "resources: [cm.yaml"
		if i > 0 {
			text += fmt.Sprintf(", ../r%d", r.IntN(i))
		}
		for name, data := range map[string]string{"kustomization.yaml": text + "]\n", "cm.yaml": string(make([]byte, r.IntN(9000)))} {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		roots = append(roots, render.Root{Dir: dir, Out: out})
	}
	return roots
}

// TestSplitIsComplete checks that the shards of a tree are disjoint and complete, and that they are
// the same with several goroutines.
func TestSplitIsComplete(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		roots := tree(t, r)
		n := 1 + r.IntN(6)
		var all []string
		for i := 1; i <= n; i++ {
			s := Shard{i, n}
			one, again := s.Split(roots, nil, 1), s.Split(roots, nil, 8)
			if one.Own == nil || !slices.Equal(one.Own, again.Own) || len(one.Own)+len(one.Others()) != len(roots) ||
				one.Empty() != nil != (len(one.Own) == 0) {
				t.Errorf("seed %d, shard %d/%d: %v, %v", seed, i, n, one.Own, again.Own)
			}
			all = append(all, one.Own.Outs()...)
		}
		if want := slices.Sorted(slices.Values(roots.Outs())); !slices.Equal(slices.Sorted(slices.Values(all)), want) {
			t.Errorf("seed %d: %q, want %q", seed, all, want)
		}
	}
}

// TestWeights checks the weights of layers, charts and functions.
func TestWeights(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{
		"base/kustomization.yaml":   "resources: [a.yaml]\n",
		"base/a.yaml":               string(make([]byte, 5000)),
		"base/README.md":            string(make([]byte, 5000)),
		"over/kustomization.yaml":   "resources: [../base, ../base/]\nconfigMapGenerator: [{files: [k=b.txt]}]\n",
		"over/b.txt":                string(make([]byte, 100)),
		"chart/kustomization.yaml":  "helmCharts: [{name: a}]\n",
		"fn/kustomization.yaml":     "transformers:\n- fn.yaml\n- p.yaml\n- {apiVersion: v1, kind: B}\n",
		"fn/fn.yaml":                "apiVersion: example.com/v1\nkind: A\nmetadata: {name: a}\n",
		"fn/p.yaml":                 "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: a}\n",
		"loop/kustomization.yaml":   "resources: [../loop, ../missing]\n",
		"broken/kustomization.yaml": "resources: [\n",
	} {
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	weigh := func(dir string) int64 { return new(Weigher).weigh([]string{filepath.Join(top, dir)}) }
	base := int64(layerWeight + 20 + 5000)
	for dir, want := range map[string]int64{
		"base": base, "over": base + layerWeight + 72 + 100, "chart": layerWeight + 24 + chartWeight,
		"fn": layerWeight + 63 + 2*functionWeight + 54 + 63, "loop": layerWeight + 33, "broken": layerWeight + 13, "missing": 0,
	} {
		if got := weigh(dir); got != want {
			t.Errorf("%s: %d, want %d", dir, got, want)
		}
	}
}
