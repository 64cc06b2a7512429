package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// evaluate returns the results for the objects of a YAML stream, one line each.
func evaluate(t *testing.T, stream string) (lines []string) {
	t.Helper()
	var items []json.RawMessage
	for _, doc := range strings.Split(stream, "\n---\n") {
		item, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	list, err := json.Marshal(map[string]any{"kind": "ResourceList", "apiVersion": "config.kubernetes.io/v1", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(bytes.NewReader(list), &out); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Items   []json.RawMessage
		Results []result
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Items) != len(items) {
		t.Errorf("%d items became %d", len(items), len(answer.Items))
	}
	for _, r := range answer.Results {
		line := fmt.Sprintf("%s %s %s", r.Severity, r.ResourceRef.Kind, r.ResourceRef.Name)
		if r.Field != nil {
			line += " " + r.Field.Path
		}
		lines = append(lines, line+": "+r.Message+" "+r.Tags["fields"])
	}
	return lines
}

// TestRules runs the files of testdata. The first comment of a file has the expected results.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for line := range strings.Lines(string(data)) {
				text, ok := strings.CutPrefix(line, "# want ")
				if ok {
					want = append(want, strings.TrimSpace(text))
				}
			}
			var got []string
			for _, line := range evaluate(t, string(data)) {
				got = append(got, strings.TrimSpace(line))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestFieldsOf(t *testing.T) {
	vars := map[string]string{"a": "object.x + variables.b", "b": "object.y", "c": "variables.c"}
	for _, c := range []struct{ expression, root, want string }{
		{"self.min <= self.max", "self", `[["min"],["max"]]`},
		{"has(self.a.b) && self.a.b > 1 && self.c == self.a.b", "self", `[["c"],["a","b"]]`},
		{"self.list.all(x, x.n > self.min) && self.list[0].n > 1", "self", `[["list"],["min"],["list",0,"n"]]`},
		{"self.metadata.annotations['a/b'] == 'x'", "self", `[["metadata","annotations","a/b"]]`},
		{"self.?a.b.orValue(1) == 1", "self", `[["a","b"]]`},
		{"self.__namespace__ == self.a__dot__b", "self", `[["namespace"],["a.b"]]`},
		{"self == 1", "self", "null"},
		{"variables.a > 1 && variables.c", "object", `[["x"],["y"]]`},
		{"self.a >", "self", "null"},
	} {
		got, _ := json.Marshal(fieldsOf(c.expression, c.root, vars))
		if string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.expression, got, c.want)
		}
	}
}

func TestPathIn(t *testing.T) {
	object := map[string]any{"l": []any{map[string]any{"m": map[string]any{"a.b": 1, "0": 2}}}}
	for text, want := range map[string]string{"": "[]", "l": `["l"]`, "l[0].m[a.b]": `["l",0,"m","a.b"]`, "l[0].m[0]": `["l",0,"m","0"]`,
		"x.y": `["x","y"]`} {
		if got := pathText(pathIn(object, text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestGroups checks the form of questions of krmflow validate.
func TestGroups(t *testing.T) {
	data, err := os.ReadFile("testdata/range.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var items []json.RawMessage
	for _, doc := range strings.Split(string(data), "\n---\n") {
		item, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	list, _ := json.Marshal(map[string]any{"kind": "ResourceList", "items": items,
		"functionConfig": map[string]any{"spec": map[string]any{"groups": []any{
			map[string]any{"objects": []int{1}, "context": []int{}},
			map[string]any{"objects": []int{1}, "context": []int{0}}}}}})
	var out bytes.Buffer
	if err := run(bytes.NewReader(list), &out); err != nil {
		t.Fatal(err)
	}
	var answer resourceList
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Items) != 0 || len(answer.Results) == 0 {
		t.Fatalf("%s", out.Bytes())
	}
	for _, r := range answer.Results {
		if r.Tags["group"] != "1" || r.Tags["item"] != "1" || !strings.HasPrefix(r.Tags["path"], `["spec"`) {
			t.Errorf("%v", r.Tags)
		}
	}
}

// TestUpdates checks transition rules, and that errors of unchanged values are dropped. The objects
// of a case differ only in their spec.
func TestUpdates(t *testing.T) {
	data, err := os.ReadFile("testdata/updates.crd")
	if err != nil {
		t.Fatal(err)
	}
	crd, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, now, want string }{
		{"{name: a}", "{name: a, max: 3}", ""},
		{"{name: a}", "{name: b}", `["spec"] name is immutable [["spec","name"]]`},
		{"{name: a, max: 3}", "{name: a}", `["spec"] max cannot be removed [["spec","max"]]`},
		{"{name: a}", "{name: a, min: 1}", ""}, // the default
		{"{name: a, min: 1}", "{name: a}", ""},
		// An unchanged value keeps its error, unless a rule around it is violated by a change.
		{"{name: a, list: [{key: x, num: -1}]}", "{name: a, list: [{key: x, num: -1}], max: 3}", ""},
		{"{name: a, list: [{key: x, num: -1}]}", "{name: a, list: [{key: y, num: 1}, {key: x, num: -1}]}", ""},
		{"{name: a, list: [{key: x, num: -2}]}", "{name: a, list: [{key: x, num: -1}]}",
			`["spec","list",0] num must not be negative [["spec","list",0,"num"]]`},
		{"{name: a, list: [{key: x, num: 2}]}", "{name: a, list: [{key: x, num: 1}]}",
			`["spec","list",0,"num"] num cannot decrease`},
		{"{name: a, min: 5, max: 3}", "{name: a, min: 5, max: 4}", `["spec"] min must not exceed max [["spec","min"],["spec","max"]]`},
		{"{name: a}", "{name: a, unknown: 1}", ""},
		{"{name: a}", "{name: 1}", ""}, // the schema is violated
		{"{name: a}", "{name: a, once: 1}", `["spec"] once is only for new objects [["spec","once"]]`},
	} {
		var items []json.RawMessage
		for _, spec := range []string{c.old, c.now} {
			item, err := yaml.YAMLToJSON([]byte("apiVersion: example.com/v1\nkind: Range\nmetadata: {name: a}\nspec: " + spec))
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, item)
		}
		list, _ := json.Marshal(map[string]any{"kind": "ResourceList", "items": append(items, crd),
			"functionConfig": map[string]any{"spec": map[string]any{"groups": []any{
				map[string]any{"objects": []int{1}, "context": []int{2}, "old": map[string]int{"1": 0}}}}}})
		var out bytes.Buffer
		if err := run(bytes.NewReader(list), &out); err != nil {
			t.Fatal(err)
		}
		var answer resourceList
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range answer.Results {
			got = append(got, strings.TrimSpace(r.Tags["path"]+" "+r.Message+" "+r.Tags["fields"]))
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s -> %s: got %q, want %q", c.old, c.now, got, c.want)
		}
	}
}

func TestMistakesInList(t *testing.T) {
	for text, want := range map[string]string{
		"a: [":    "cannot read the ResourceList",
		"kind: X": `expected a ResourceList, found the kind "X"`,
		`{kind: ResourceList, functionConfig: {spec: {groups: [{objects: [0]}]}}}`:  "there is no item 0",
		`{kind: ResourceList, functionConfig: {spec: {groups: [{old: {"0": 1}}]}}}`: "there is no item 1",
		`{kind: ResourceList, functionConfig: {spec: {groups: 1}}}`:                 "cannot read the functionConfig",
		`{"kind": "ResourceList", "items": {}}`:                                     "cannot read the ResourceList",
	} {
		if err := run(strings.NewReader(text), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
