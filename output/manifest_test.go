package output

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
)

func TestManifestRoundTrip(t *testing.T) {
	m := manifest{
		".":       {"v1_configmap_x.yaml": recordOf("v1_configmap_x.yaml", []byte("x"), false), "line\nbreak.yaml": {}, "quote\".yaml": {}, "\xff.yaml": {}},
		"a/b c":   {"x.yaml": {sum: krm.Digest{1}}},
		"a/b\n/x": {"x.yaml": {sum: krm.Digest{2}, secret: true}},
	}
	text := string(m.encode())
	got, err := parseManifest(text)
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%v %v\n%s", got, err, text)
	}
	lines := strings.SplitAfter(text, "\n")
	for i := range lines[:len(lines)-1] {
		without := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
		if _, err := parseManifest(without); err == nil && !strings.HasPrefix(lines[i], "root ") {
			t.Errorf("accepted without line %d", i+1)
		}
	}
}

func TestManifestRefuses(t *testing.T) {
	const sum = "0000000000000000000000000000000000000000000000000000000000000000"
	good := "krmflow-manifest 1\nroot \"a\"\n" + sum + " \"x.yaml\"\nfiles 1\n"
	if _, err := parseManifest(good); err != nil {
		t.Fatal(err)
	}
	if m, err := parseManifest("krmflow-manifest 1\nroot \".\"\nfiles 0\n"); err == nil {
		t.Errorf("accepted a folder without files: %v", m)
	}
	deep := strings.Repeat("/a", maxPath/2-20)
	if _, err := parseManifest(strings.Replace(good, `"a"`, `"a`+deep+deep+`"`, 1)); err == nil {
		t.Error("accepted a path that is too long")
	}
	var many strings.Builder
	many.WriteString(manifestHeader + "\n")
	for i := range 3 * maxFolders / maxPath {
		fmt.Fprintf(&many, "root \"%d%s\"\n%s \"x.yaml\"\n", i, deep, sum)
	}
	if _, err := parseManifest(many.String()); err == nil || !strings.Contains(err.Error(), "too many folders") {
		t.Errorf("too many folders: %v", err)
	}
	for old, new := range map[string]string{
		`"x.yaml"`:          `"../x.yaml"`,
		`"x.yaml`:           `"a/x.yaml`,
		`x.yaml"`:           `x\x00.yaml"`,
		` "x`:               ` ".x`,
		`x.yaml`:            `x.yml`,
		`"x`:                `"` + strings.Repeat("x", maxFileName),
		sum + " ":           "secret secret " + sum + " ",
		`"a"`:               `".."`,
		`root "a`:           `root "/a`,
		`t "a`:              `t "a/../../b`,
		`"a"` + "\n":        `"a"` + "\nroot \"a\"\n",
		"manifest 1":        "manifest 2",
		"files 1":           "files 2",
		"files 1\n":         "",
		"1\n":               "1\nroot \"b\"\n",
		sum:                 sum[2:],
		"000 \"":            "00g \"",
		"root \"a\"\n":      "",
		"files":             "fil\x00es",
		"krmflow-manifest ": "",
	} {
		bad := strings.Replace(good, old, new, 1)
		if old == "1\n" {
			bad = good + "root \"b\"\n"
		}
		if m, err := parseManifest(bad); err == nil {
			t.Errorf("accepted %q: %v", bad, m)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(string(manifest{"a": {"x.yaml": {}, "y.yaml": {secret: true}}}.encode()))
	f.Fuzz(func(t *testing.T, data string) {
		m, err := parseManifest(data)
		if err != nil {
			return
		}
		again, err := parseManifest(string(m.encode()))
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("%q: %v", data, err)
		}
		for root, files := range m {
			if validRoot(root) != nil || strings.Contains("/"+root+"/", "/../") {
				t.Errorf("root %q", root)
			}
			for name := range files {
				if !validFileName(name) {
					t.Errorf("name %q", name)
				}
			}
		}
	})
}
