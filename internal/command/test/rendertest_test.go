package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

const objects = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {a.b/c: x}}
spec:
  replicas: 1
  containers:
  - {name: a, image: "r/a:1", ports: [{port: 80}, {port: 81}]}
  - {name: b, image: "r/b:2", args: []}
  empty: []
  url: http://user:hunter2@example.com/x
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {p: hunter2}
`

func list(t *testing.T, text string) *krm.List {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{File: "in.yaml", Data: []byte(text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return krm.NewList(rs...)
}

// suite reads a file with one document about the directory of the file.
func suite(t *testing.T, dir, text string) *Suite {
	t.Helper()
	suites, err := Parse(&yaml.Source{File: filepath.ToSlash(filepath.Join(dir, Name)),
		Data: []byte("apiVersion: krmflow.dev/v1alpha1\nkind: Test\n" + text)})
	if err != nil {
		t.Fatal(err)
	}
	return suites[0]
}

// failures returns the failed expectations, one per line, with the hints.
func failures(results []*Result) string {
	var b strings.Builder
	for _, r := range results {
		for _, e := range r.Failures {
			at := *e
			at.Pos = diag.Pos{}
			b.WriteString(r.Name + ": " + at.Error() + "\n")
		}
	}
	return b.String()
}

func TestExpectationsReportMismatches(t *testing.T) {
	for _, c := range []struct{ kind, expect, want string }{
		{"Deployment", `{field: spec.replicas, equals: 1}`, ``},
		{"Deployment", `{field: spec.replicas, equals: "1"}`, `Deployment web: spec.replicas is 1, want "1"`},
		{"Deployment", `{field: spec.replicas, equals: null}`, `Deployment web: spec.replicas is 1, want null`},
		{"Deployment", `{field: spec.replicas, not: 1}`, `Deployment web: spec.replicas is 1, want anything else`},
		{"Deployment", `{field: spec.paused, not: true}`, ``},
		{"Deployment", `{field: spec.paused, matches: .}`, `Deployment web has no spec.paused`},
		{"Deployment", `{field: spec.paused, equals: false}`, `Deployment web has no spec.paused`},
		{"Deployment", `{field: spec.paused, absent: true}`, ``},
		{"Deployment", `{field: spec.replicas, absent: true}`, `Deployment web: spec.replicas is 1, want none`},
		{"Deployment", `{field: metadata.labels.a.b/c, equals: x}`, ``},
		{"Deployment", `{field: "spec.containers[*].image", matches: "^r/"}`, ``},
		{"Deployment", `{field: "spec.containers[*].image", matches: ":1$"}`,
			`Deployment web: spec.containers[1].image is "r/b:2", want a match for :1$`},
		{"Deployment", `{field: "spec.containers[*].args"}`, `Deployment web: spec.containers[0] has no spec.containers[*].args`},
		{"Deployment", `{field: "spec.containers[*].args", not: [x]}`, ``},
		{"Deployment", `{field: "spec.containers[*].image", absent: true}`,
			`Deployment web: spec.containers[0].image is "r/a:1", want none|Deployment web: spec.containers[1].image is "r/b:2", want none`},
		{"Deployment", `{field: "spec.containers[0].ports[*].port", not: 81}`,
			`Deployment web: spec.containers[0].ports[1].port is 81, want anything else`},
		{"Deployment", `{field: "spec.containers[*].ports[*].port", not: 81}`,
			`Deployment web: spec.containers[0].ports[1].port is 81, want anything else`},
		{"Deployment", `{field: "spec.empty[*].x", equals: 1}`, ``},
		{"Deployment", `{field: "spec.none[*].x", equals: 1}`, `Deployment web has no spec.none[*].x`},
		{"Deployment", `{field: "spec.containers[name=c]"}`, `Deployment web has no spec.containers[name=c]`},
		{"Deployment", `{field: "spec.containers.[name=b].image", equals: "r/b:2"}`, ``},
		{"Deployment", `{field: spec.containers, contains: {name: a, ports: [{port: 80}, {port: 81}]}}`, ``},
		{"Deployment", `{field: spec.containers, contains: {name: a, image: "r/b:2"}}`,
			`Deployment web: spec.containers is [{"image":"r/a:1","name":"a","ports":[{"port":80},{"port":81}]},{"args":[],"image":"r/b:2","name":"b"}], want something with {"image":"r/b:2","name":"a"}`},
		{"Deployment", `{field: metadata, contains: {labels: {a.b/c: x}}}`, ``},
		{"Deployment", `{field: metadata, contains: name}`,
			`Deployment web: metadata is {"labels":{"a.b/c":"x"},"name":"web"}, want something with "name"`},
		{"Deployment", `{field: spec.url, contains: hunter3}`, `Deployment web: spec.url is "http://user:xxxxx@example.com/x", want a different value`},
		{"Deployment", `{field: spec.replicas, equals: "http://user:hunter4@example.com"}`, `Deployment web: spec.replicas is 1, want "http://user:xxxxx@example.com"`},
		{"Secret", `{field: stringData.p, equals: hunter3}`, `Secret s: stringData.p is "(hidden)", want a different value`},
		{"Secret", `{field: stringData.p, not: hunter2}`, `Secret s: stringData.p is "(hidden)", want a different value`},
		{"Secret", `{field: stringData, contains: {p: hunter3}}`, `Secret s: stringData is {"p":"(hidden)"}, want a different value`},
		{"Secret", `{field: stringData.p, matches: "^hunter2$"}`, ``},
	} {
		s := suite(t, ".", "tests: [{name: a, select: {kind: "+c.kind+"}, expect: ["+c.expect+"]}]")
		want := ""
		for _, line := range strings.Split(c.want, "|") {
			if line != "" {
				want += "a: " + line + "\n"
			}
		}
		if got := failures(s.Check(&Outcome{List: list(t, objects)}, nil, nil)); got != want {
			t.Errorf("%s: %s", c.expect, cmp.Diff(want, got))
		}
	}
}

// An expected value that is too long to be printed whole is hidden just like a short one.
func TestLongSecret(t *testing.T) {
	text := "kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\ndata: {x: '" + strings.Repeat("x", maxText) + " http://user:hunter2@example.com'}\n"
	s := suite(t, ".", "tests: [{name: a, expect: [{field: data.x, equals: 'hunter3'}]}]")
	if got := failures(s.Check(&Outcome{List: list(t, text)}, nil, nil)); !strings.Contains(got, "want a different value") ||
		strings.Contains(got, "hunter") {
		t.Error(got)
	}
}

func TestWarningsAndErrors(t *testing.T) {
	warning := func(text string) *diag.Error { return diag.Errorf(diag.Pos{}, "", "%s", text) }
	for _, c := range []struct {
		expect   string
		errs     []error
		warnings []*diag.Error
		want     string
	}{
		{"warnings: []", nil, nil, ""},
		{"warnings: []", nil, []*diag.Error{warning("one")}, "render: unexpected warning: one\n"},
		{"warnings: [one]", nil, []*diag.Error{warning("one"), warning("one again")}, ""},
		{"warnings: [one, two]", nil, []*diag.Error{warning("one")}, "render: no warning matches \"two\"\n"},
		{"tests: [{name: a, count: 0}]", nil, []*diag.Error{warning("one")}, ""},
		{"fails: one", []error{warning("two"), warning("one")}, nil, ""},
		{"fails: one", []error{warning("two")}, nil, "render: no error matches \"one\"\nrender: two\n"},
		{"fails: one", nil, nil, "render: . renders, but an error that matches \"one\" is expected\n"},
		{"tests: [{name: a, count: 0}]", []error{warning("one")}, nil, "render: one\n"},
	} {
		if got := failures(suite(t, ".", c.expect).Check(&Outcome{Errs: c.errs, Warnings: c.warnings}, regexp.MustCompile("render"),
			nil)); got != c.want {
			t.Errorf("%s: %s", c.expect, cmp.Diff(c.want, got))
		}
	}
}

// A golden file contains values of Secrets only if a person has written them there, and its order
// matters.
func TestGoldenFilesOmitSecrets(t *testing.T) {
	dir := t.TempDir()
	s := suite(t, dir, "tests: [{name: a, golden: g.yaml}]")
	check := func(objects string, update func(string, []byte) error, want ...string) {
		t.Helper()
		got := strings.ReplaceAll(failures(s.Check(&Outcome{List: list(t, objects)}, nil, update)), filepath.ToSlash(dir)+"/", "")
		got = strings.ReplaceAll(got, filepath.FromSlash(dir+"/"), "")
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%q is not in %s", part, got)
			}
		}
		if len(want) == 0 && got != "" || strings.Contains(got, "hunter") {
			t.Error(got)
		}
	}
	golden := func() string {
		data, err := os.ReadFile(filepath.Join(dir, "g.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	check(objects, nil, "does not exist")
	check(objects, updating())
	if text := golden(); strings.Contains(text, "hunter") || !strings.Contains(text, "p: (hidden)") {
		t.Errorf("the golden file is\n%s", text)
	}
	check(objects, nil)
	check(strings.ReplaceAll(objects, "hunter2", "hunter3"), nil)
	check(strings.ReplaceAll(objects, "stringData: {p", "stringData: {q"), nil, "stringData.p is none",
		"stringData.q is (hidden), want none")
	check(strings.ReplaceAll(objects, "replicas: 1", "replicas: 2"), nil, "spec.replicas is 2, want 1")
	docs := strings.Split(objects, "---\n")
	check(docs[1]+"---\n"+docs[0], nil, "the resources are in a different order")
	check(docs[0], nil, "v1 Secret s is expected, but not rendered")

	// As a person has written it.
	if err := os.WriteFile(filepath.Join(dir, "g.yaml"), []byte(objects), 0o600); err != nil {
		t.Fatal(err)
	}
	check(objects, nil)
	check(objects, updating())
	if golden() != objects {
		t.Error("a golden file that is right was written")
	}
	check(strings.ReplaceAll(objects, "{p: hunter2", "{p: hunter3"), nil, "v1 Secret s: stringData.p has a different value (hidden)")
}

// Two tests cannot update the same golden file with different content.
func TestConflictingGoldenUpdatesFail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "g.yaml")
	write := updating()
	for i, text := range []string{"a", "a", "b"} {
		if err := write(file, []byte(text)); (err != nil) != (i == 2) {
			t.Errorf("write %d: %v", i, err)
		}
	}
}

// A symlink to a directory is searched if it is named. Each file is listed once.
func TestFindListsEachFileOnce(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", ".hidden", "a/.git"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, Name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Skip(err) // not supported here
	}
	t.Chdir(dir)
	for args, want := range map[string]string{
		".": "a/krmflow-test.yaml", "a": "a/krmflow-test.yaml", "a ./a . a/krmflow-test.yaml": "a/krmflow-test.yaml",
		"link": "link/krmflow-test.yaml", ".hidden": ".hidden/krmflow-test.yaml",
	} {
		files, err := Find(strings.Fields(args))
		if got := strings.Join(files, " "); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", args, got, err, want)
		}
	}
}
