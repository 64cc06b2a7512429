package builtins

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// TestMergesIntoLongLists applies random patches to objects with long lists: to a list that owns
// its resources and remembers their lists, and to a clone for each patch, which remembers nothing.
// Results, errors and warnings must be equal, and earlier clones must not change.
func TestMergesIntoLongLists(t *testing.T) {
	known, loose, flat := 0, 0, 0
	for seed := range uint64(40) {
		g := listPatches{rand.New(rand.NewPCG(seed, 5))}
		text := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, finalizers: [" + g.many(g.name) +
			"], labels: {" + g.fields(18) + "}}\nspec: {template: {spec: {volumes: [" + g.many(g.env) +
			"], containers: [" + g.many(g.container) + "]}}, selector: {" + g.fields(18) + "}}\n"
		owned, cloned := krm.NewList(docs(t, text)...), krm.NewList(docs(t, text)...)
		var before []*krm.List
		var texts []string
		for step := range 60 {
			patch := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d" + g.part("finalizers", "["+g.few(g.name)+"]") +
				g.part("labels", "{"+g.fields(g.IntN(3))+"}") + "}\nspec: {minReadySeconds: 1" +
				g.part("selector", "{"+g.fields(g.IntN(3))+"}") + ", template: {spec: {hostname: x" +
				g.part("volumes", "["+g.few(g.env)+"]") + g.part("containers", "["+g.few(g.container)+"]") + "}}}\n"
			run := func(list *krm.List) string {
				tr := &PatchTransformer{Patch: patch}
				if step%3 == 0 {
					tr.Target = &Selector{Kind: "Deployment"}
				}
				if err := tr.Configure(Env{}); err != nil {
					return err.Error()
				}
				var said []string
				err := tr.Transform(list, func(code diag.Code, format string, args ...any) {
					said = append(said, fmt.Errorf(format, args...).Error())
				})
				text := fmt.Sprintln(strings.Join(said, "\n"), err) + string(list.AppendYAML(nil))
				for _, r := range list.All() {
					text += quotes(r.Value())
				}
				return text
			}
			cloned = cloned.Clone()
			if got, want := run(owned), run(cloned); got != want {
				t.Fatalf("seed %d, step %d: got\n%s\nwant\n%s\nfor\n%s", seed, step, got, want, patch)
			}
			if owned.Len() == 0 {
				break
			}
			if m := memoryOf(owned, 0); m != nil {
				known, flat = known+len(m.lists), flat+len(m.flat)
				for _, k := range m.lists {
					loose += len(k.loose)
					checkKnown(t, k)
				}
			}
			if g.IntN(10) == 0 {
				before, texts = append(before, owned.Clone()), append(texts, string(owned.AppendYAML(nil)))
				owned = owned.Take(krm.HandedOver)
			}
		}
		for i, list := range before {
			if string(list.AppendYAML(nil)) != texts[i] {
				t.Fatalf("seed %d: clone %d has changed", seed, i)
			}
		}
	}
	if known < 1000 || loose < 100 || flat < 1000 {
		t.Errorf("only %d lists, %d loose items and %d mappings were remembered", known, loose, flat)
	}
}

// quotes returns a letter for each part of v: q for strings that are marked as written in quotes.
// The text of v does not show the marks, but later merges depend on them.
func quotes(v yaml.Value) (text string) {
	for _, x := range v.Items() {
		text += quotes(x)
	}
	for _, f := range v.Fields() {
		text += quotes(f.Value)
	}
	if v.Quoted() {
		return text + "q"
	}
	return text + "p"
}

// checkKnown compares the index of a list with the list.
func checkKnown(t *testing.T, k *knownList) {
	t.Helper()
	if len(k.index) != k.list.Len() {
		t.Fatalf("the index has %d of %d items", len(k.index), k.list.Len())
	}
	for _, item := range k.list.Items() {
		if !k.Find(item).Same(item) {
			t.Fatalf("the index lacks %s", show(item))
		}
		if name := item.Get("name").Text(); len(k.keys) == 1 && k.keys[0] == "name" {
			name = name[:len(name)-1] + "zz"
			if got, ok := k.Misspelt(name); !ok || got != "" {
				t.Fatalf("%q misspells %q", name, got)
			}
		}
	}
}

// listPatches makes items of lists, now and then malformed ones.
type listPatches struct{ *rand.Rand }

func (g listPatches) many(item func() string) string {
	var items []string
	seen := map[string]bool{}
	for len(items) < 18 {
		if x := item(); !seen[x] && !strings.Contains(x, "$") && (g.IntN(200) == 0 || !seen[firstWord(x)]) {
			items = append(items, x)
			seen[x], seen[firstWord(x)] = true, true
		}
	}
	return strings.Join(items, ", ")
}

func (g listPatches) few(item func() string) string {
	var items []string
	for range g.IntN(3) {
		items = append(items, item())
	}
	if g.IntN(60) == 0 {
		items = append(items, g.pick("{$patch: replace}", "{$patch: delete}", "{$patch: wrong}", "~", "{}", "x", "{name: ~}"))
	}
	return strings.Join(items, ", ")
}

func (g listPatches) pick(options ...string) string { return options[g.IntN(len(options))] }

func (g listPatches) name() string {
	return fmt.Sprintf("%s%s-%d", g.pick("alpha", "alhpa", "bravo", "Bravo", "bravos"), g.pick("", "x"), g.IntN(12))
}

func (g listPatches) env() string {
	extra := g.pick("", "", "", ", $patch: delete", ", $patch: replace", ", more: ~")
	return fmt.Sprintf("{name: %s, value: %s%s}", g.name(), g.pick("1", "x", "yes", "'2'", "true", "~", "{a: ~}"), extra)
}

// part returns a field of a patch, which most patches have.
func (g listPatches) part(key, value string) string {
	if g.IntN(4) == 0 {
		return ""
	}
	return ", " + key + ": " + value
}

// fields returns n fields of a mapping. Few of the values are odd.
func (g listPatches) fields(n int) string {
	var fields []string
	for _, key := range g.Perm(100)[:n] {
		value := g.pick("x", "'2'", "'yes'")
		if g.IntN(60) == 0 {
			value = g.pick("~", "yes", "1", "{a: b}", "[a]", "{a: ~}")
		}
		fields = append(fields, fmt.Sprintf("k%d: %s", key, value))
	}
	if n < 3 && g.IntN(60) == 0 {
		fields = append(fields, g.pick("$patch: replace", "$patch: delete"))
	}
	return strings.Join(fields, ", ")
}

func (g listPatches) port() string {
	protocol := g.pick("", "", "", ", protocol: TCP")
	if g.IntN(4) > 0 {
		protocol = ", protocol: " + g.pick("TCP", "UDP")
	}
	return fmt.Sprintf("{containerPort: %d%s, name: p%d%s}", g.IntN(20), protocol, g.IntN(20), g.pick("", "", ", $patch: delete"))
}

func (g listPatches) container() string {
	ports, env := g.few(g.port), g.few(g.env)
	if g.IntN(8) == 0 {
		protocol := g.pick("", ", protocol: TCP")
		ports, env = g.many(func() string { return fmt.Sprintf("{containerPort: %d%s}", g.IntN(100), protocol) }), g.many(g.env)
	}
	return fmt.Sprintf("{name: %s, image: %s, ports: [%s], env: [%s]}", g.name(), g.pick("a", "b"), ports, env)
}

// firstWord returns an item up to its first field.
func firstWord(item string) string {
	word, _, _ := strings.Cut(item, ",")
	return word
}
