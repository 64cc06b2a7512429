package resourcelist_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/internal/resourcelist"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/filters"
)

// deployment returns a Deployment whose fields are in any order, and some are missing.
func deployment(r *rand.Rand) string {
	var b strings.Builder
	fields := []string{"apiVersion: apps/v1", "kind: Deployment", "metadata:\n  name: web\n  labels:\n    zone: a\n    app: web\n    name: x",
		"spec:\n" + spec(r)}
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for _, f := range fields {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

func spec(r *rand.Rand) string {
	lines := []string{"  replicas: " + fmt.Sprint(r.IntN(3)), "  # the strategy\n  strategy:\n    type: Recreate", "  paused: false", "  zz:\n  - b\n  - a", "  minReadySeconds: 3"}
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	lines = lines[:1+r.IntN(len(lines))]
	containers := "  template:\n    spec:\n      containers:\n"
	names := []string{"web", "side", "app"}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:1+r.IntN(3)] {
		containers += fmt.Sprintf("      - image: nginx:%d\n        name: %s\n        ports:\n        - protocol: TCP\n          containerPort: %d\n", r.IntN(4), name, 80+r.IntN(2))
		if r.IntN(2) == 0 {
			containers += "        env:\n        - value: x\n          name: A\n"
		}
	}
	return strings.Join(append(lines, containers), "\n")
}

// What is merged and formatted here has the data and the order of what kustomize's library makes of it.
func TestAgreesWithKyaml(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		text := deployment(r) + "---\n" + deployment(r)
		var want bytes.Buffer
		err := kio.Pipeline{
			Inputs:  []kio.Reader{&kio.ByteReader{Reader: strings.NewReader(text), OmitReaderAnnotations: true}},
			Filters: []kio.Filter{filters.MergeFilter{}, filters.FormatFilter{}},
			Outputs: []kio.Writer{kio.ByteWriter{Writer: &want}},
		}.Execute()
		if err != nil {
			t.Fatal(err)
		}
		list, err := resourcelist.Read("text", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		items, err := resourcelist.Merge(list.Items)
		if err != nil {
			t.Fatal(err)
		}
		resourcelist.Format(items)
		var got bytes.Buffer
		if err := resourcelist.Encode(&got, false, items...); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(plain(want.String()), plain(got.String())); d != "" {
			t.Fatalf("%s\n%s", text, d)
		}
	}
}

// plain returns a text without comments and the forms in which lists and mappings are written.
func plain(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// A list survives the way through kustomize's library as a file does: with its comments.
func TestReadsWhatItWrites(t *testing.T) {
	const text = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  # above
  kind: ConfigMap # beside
  metadata:
    name: a
  data:
    a: "1"
    b: |
      x

      y
functionConfig:
  kind: X
results:
- message: hi
`
	list, err := resourcelist.Read("text", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := list.Write(&got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(text, got.String()); d != "" {
		t.Error(d)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("kind: A\n---\n- a\n"))
	f.Add([]byte("kind: ResourceList\nitems: [{kind: A, metadata: &a {name: x}}, {kind: B, metadata: *a}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := resourcelist.Read("text", data)
		if err != nil {
			return
		}
		resourcelist.Format(list.Items)
		for _, n := range list.Items {
			resourcelist.SetPlace(n, "a.yaml", 1)
			if file, index, err := resourcelist.Place(n); err != nil || file != "a.yaml" || index != 1 {
				t.Fatalf("%s %d %v", file, index, err)
			}
			resourcelist.RemoveAnnotations(n, resourcelist.Path, resourcelist.LegacyPath, resourcelist.Index, resourcelist.LegacyIndex)
		}
		_, _ = resourcelist.Merge(list.Items)
	})
}
