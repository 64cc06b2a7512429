package catalog

import (
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

func requiring(requires string) string {
	return "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec:\n  krmFunctions:\n  - group: example.com\n    names: {kind: Fn}\n" +
		"    versions:\n    - name: v1\n      requires: " + requires + "\n      runtime: {exec: {path: fn, programs: []}}\n"
}

func TestRequirementsAreRead(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"{env: [A, [B, C], {name: D, optional: true}], files: [{from: env, name: B}, {from: tree}], network: optional}",
			"A, B or C, D (optional), tree, network (optional)", ""},
		{"{files: tree, network: true}", "tree, network", ""},
		{"{files: [{from: env, name: K}, {from: tree, optional: true}]}", "K, tree (optional)", ""},
		{"{}", "", ""},
		{"{env: [A, A]}", "", "requires A twice"},
		{"{env: [tree]}", "", `"tree" is not the name of an environment variable`},
		{"{env: [LD_PRELOAD]}", "", "LD_PRELOAD cannot be required"},
		{"{env: ['A=b']}", "", "is not the name of an environment variable"},
		{"{files: all}", "", `"all" is not tree or a list`},
		{"{files: [{from: tree, name: X}]}", "", "is for from: env"},
		{"{secrets: [x]}", "", "secrets"},
	} {
		text := strings.Replace(requiring(c.text), "path: fn, programs: []", "path: fn", 1)
		catalog, err := parse(text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.text, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		e := catalog.Entries[0]
		if got := e.Requires.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
		again, err := parse(string(yaml.AppendYAML(nil, catalog.Value())))
		if err != nil || !again.Entries[0].Requires.equal(&e.Requires) || !again.Entries[0].SameProgram(e) {
			t.Errorf("%s: written and read again: %v\n%s", c.text, err, yaml.AppendYAML(nil, catalog.Value()))
		}
	}
}

// A version replaces the requirements of its function.
func TestVersionHasItsOwnRequirements(t *testing.T) {
	text := strings.Replace(requiring("{env: [OWN]}"), "    names:", "    requires: {env: [SHARED]}\n    names:", 1)
	text = strings.Replace(text, ", programs: []", "", 1) + "    - name: v2\n      runtime: {exec: {path: fn}}\n"
	catalog, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := catalog.Entries[0].Requires.String(), catalog.Entries[1].Requires.String(); a != "OWN" || b != "SHARED" {
		t.Errorf("%s and %s", a, b)
	}
}
