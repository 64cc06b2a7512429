package builtins

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// TestReplacementRecorded checks the cases in recorded.txt. They were generated at random and
// applied to resources.yaml by kustomize v5.8.2. A case is a list of replacements and a line that
// starts with "=>", followed by the lines added to and removed from the output, or "error".
func TestReplacementRecorded(t *testing.T) {
	resources, err := os.ReadFile("testdata/replacements/resources.yaml")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := os.ReadFile("testdata/replacements/recorded.txt")
	if err != nil {
		t.Fatal(err)
	}
	base, err := buildReplaced(t, resources, "[]")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(strings.TrimSuffix(string(recorded), "\n\n"), "\n\n")
	if len(cases) < 100 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		config, want, ok := strings.Cut(c, "=>")
		if !ok {
			t.Fatalf("malformed case:\n%s", c)
		}
		got := " error"
		if out, err := buildReplaced(t, resources, "\n"+config); err == nil {
			got = "\n" + changedLines(base, out)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s-want +got\n%s", config, diff)
		}
	}
}

func buildReplaced(t *testing.T, resources []byte, config string) (string, error) {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{File: "resources.yaml", Data: resources}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := krm.NewList(rs...)
	v, err := (&yaml.Source{Data: []byte("replacements: " + config)}).Value()
	if err != nil {
		t.Fatal(err)
	}
	var tr ReplacementTransformer
	if errs := yaml.Decode(v, &tr); errs != nil {
		t.Fatal(errs)
	}
	quiet := func(diag.Code, string, ...any) {}
	if err := tr.Configure(Env{}); err != nil {
		return "", err
	}
	if err := tr.Transform(list, quiet); err != nil {
		return "", err
	}
	if err := new(Finish).Transform(list, quiet); err != nil {
		return "", err
	}
	docs := strings.Split(string(list.AppendYAML(nil)), "---\n")
	slices.Sort(docs)
	return strings.Join(docs, "---\n"), nil
}

// changedLines returns the lines of b that are missing in a, in order, then the lines of a that are
// missing in b.
func changedLines(a, b string) string {
	left := map[string]int{}
	for line := range strings.SplitSeq(a, "\n") {
		left[line]++
	}
	var out []string
	for line := range strings.SplitSeq(b, "\n") {
		if left[line]--; left[line] < 0 {
			left[line] = 0
			out = append(out, "+"+line)
		}
	}
	for line := range strings.SplitSeq(a, "\n") {
		if left[line] > 0 {
			left[line]--
			out = append(out, "-"+line)
		}
	}
	return strings.Join(out, "\n")
}
