package catalog

import (
	"errors"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

func at(t *testing.T, path, text string) *Catalog {
	t.Helper()
	c, err := parseAs(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSearchReturnsFirstMatch(t *testing.T) {
	a := at(t, "/a.yaml", run("{container: {image: a}}"))
	b := at(t, "/b.yaml", run("{container: {image: b}}"))
	a2 := at(t, "/a2.yaml", run("{container: {image: docker.io/library/a}}"))
	args := at(t, "/args.yaml", strings.Replace(run("{container: {image: a}}"), "    versions:", "    allowArgs: true\n    versions:", 1))
	twice := at(t, "/t.yaml",
		list(
			"    versions:\n    - name: v1\n      runtime: {container: {image: a}}\n    - name: v1\n      runtime: {container: {image: b}}\n"))
	fn := krm.GVK{Group: "example.com", Version: "v1", Kind: "Fn"}
	tests := []struct {
		row      string
		gvk      krm.GVK
		catalogs []*Catalog
		image    string
		shadowed int
		hint     string
	}{
		{"two catalogs define the function: the first wins", fn, []*Catalog{a, b}, "a", 1, ""},
		{"swapped, the other", fn, []*Catalog{b, a}, "b", 1, ""},
		{"the same definition twice shadows nothing", fn, []*Catalog{a, a2}, "a", 0, ""},
		{"the same program with other rights is another definition", fn, []*Catalog{a, args}, "a", 1, ""},
		{"within a catalog the first entry wins", fn, []*Catalog{twice}, "a", 1, ""},
		{"group and kind match, version absent: the offer", krm.GVK{Group: "example.com", Version: "v2", Kind: "Fn"}, []*Catalog{a},
			"", 0, "catalog /a.yaml offers: v1"},
		{"another group", krm.GVK{Group: "other.org", Version: "v1", Kind: "Fn"}, []*Catalog{a},
			"", 0, "did you mean example.com/v1 Fn (catalog /a.yaml, entry 1)?"},
		{"matching is case-sensitive", krm.GVK{Group: "example.com", Version: "v1", Kind: "fn"}, []*Catalog{a},
			"", 0, "did you mean example.com/v1 Fn"},
		{"no globbing", krm.GVK{Group: "*", Version: "v1", Kind: "Fn"}, []*Catalog{a}, "", 0, ""},
		{"no catalogs", fn, nil, "", 0, ""},
		{"built-ins are never looked up", krm.GVK{Version: "builtin", Kind: "PrefixTransformer"}, []*Catalog{a}, "", 0, ""},
	}
	for _, tt := range tests {
		m := Search(tt.gvk, tt.catalogs)
		image := ""
		if m.Entry != nil {
			image = m.Entry.Container.Text
		}
		if image != tt.image || len(m.Shadowed) != tt.shadowed || !strings.Contains(strings.Join(m.Hints, "\n"), tt.hint) {
			t.Errorf("%s: got %q, %d shadowed, %q", tt.row, image, len(m.Shadowed), m.Hints)
		}
	}
}

func TestSelectPrefersMostSpecificPlatform(t *testing.T) {
	item := func(os, arch, uri string) string {
		return "{os: '" + os + "', arch: '" + arch + "', path: " + uri + "}"
	}
	tests := []struct {
		row, runtime string
		prefer       function.Runtime
		want         string
		err          error
	}{
		{"the entry matching os and arch is used", "{exec: [" + item("darwin", "amd64", "d") + "," + item("linux", "amd64", "l") + "]}",
			"", "exec l", nil},
		{"specific beats generic, whatever the order", "{exec: [" + item("", "", "any") + "," + item("linux", "", "half") +
			"," + item("linux", "amd64", "full") + "]}", "", "exec full", nil},
		{"half specific beats generic", "{exec: [" + item("", "", "any") + "," + item("linux", "", "half") + "]}", "", "exec half", nil},
		{"first match wins among equals", "{exec: [" + item("linux", "amd64", "one") + "," + item("linux", "amd64", "two") + "]}", "",
			"exec one", nil},
		{"no match lists the offered platforms", "{exec: [" + item("darwin", "arm64", "d") + "," + item("windows", "amd64", "w") + "]}",
			"", "darwin/arm64, windows/amd64", ErrNoPlatform},
		{"an unknown os is never selected", "{exec: [" + item("plan9", "amd64", "p") + "]}", "", "plan9/amd64", ErrNoPlatform},
		{"container preferred", "{container: {image: x}, exec: {path: p}}", "", "container ", nil},
		{"exec by wish", "{container: {image: x}, exec: {path: p}}", function.RuntimeExec, "exec p", nil},
		{"exec by wish, but for another platform", "{container: {image: x}, exec: [" + item("darwin", "", "d") + "]}", function.RuntimeExec,
			"container ", nil},
		{"that of a third party", "{wasm: {uri: p}}", "", "wasm p", nil},
		{"starlark is refused with a way out", "{starlark: s}", "", "container that runs the script", ErrStarlark},
		{"neither", "{}", "", "at least one of container and exec must be set", ErrNoRuntime},
	}
	for _, tt := range tests {
		e := mustParse(t, run(tt.runtime)).Entries[0]
		sel, err := e.Select("linux", "amd64", tt.prefer)
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v", tt.row, err)
		} else if err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.row, err)
		} else if got := string(sel.Runtime) + " " + sel.Platform.URI; err == nil && got != tt.want {
			t.Errorf("%s: %s", tt.row, got)
		}
		if both := e.Container != nil && e.Exec != nil; both != (sel.Reason != "") {
			t.Errorf("%s: reason %q", tt.row, sel.Reason)
		}
	}
}
