package krm

import (
	"reflect"
	"strings"
	"testing"
)

func TestManifestRoundTrip(t *testing.T) {
	m := manifest{
		".":       {"v1_configmap_x.yaml": DigestOf([]byte("x")), "line\nbreak.yaml": {}, "quote\".yaml": {}, "\xff.yaml": {}},
		"a/b c":   {"x.yaml": {1}},
		"a/b\n/x": {"x.yaml": {2}},
	}
	text := m.encode()
	got, err := parseManifest(text)
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%v %v\n%s", got, err, text)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for i := range lines[:len(lines)-1] {
		without := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
		if _, err := parseManifest([]byte(without)); err == nil && !strings.HasPrefix(lines[i], "root ") {
			t.Errorf("accepted without line %d", i+1)
		}
	}
}

func TestManifestRefuses(t *testing.T) {
	const sum = "0000000000000000000000000000000000000000000000000000000000000000"
	good := "krmflow-manifest 1\nroot \"a\"\n" + sum + " \"x.yaml\"\nfiles 1\n"
	if _, err := parseManifest([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for old, new := range map[string]string{
		`"x.yaml"`:          `"../x.yaml"`,
		`"x.yaml`:           `"a/x.yaml`,
		`x.yaml"`:           `x\x00.yaml"`,
		` "x`:               ` ".x`,
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
		if m, err := parseManifest([]byte(bad)); err == nil {
			t.Errorf("accepted %q: %v", bad, m)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(manifest{"a": {"x.yaml": {}}}.encode()))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		if err != nil {
			return
		}
		again, err := parseManifest(m.encode())
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
