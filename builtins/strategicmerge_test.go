package builtins

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
	yamlv3 "go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
)

// parseYAML reads one document with kustomize's parser.
func parseYAML(t testing.TB, text string) yaml.Value {
	t.Helper()
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if doc.Kind == 0 {
		return yaml.Value{}
	}
	return valueOfNode(t, doc.Content[0])
}

func valueOfNode(t testing.TB, n *yamlv3.Node) yaml.Value {
	switch n.Kind {
	case yamlv3.MappingNode:
		fields := make([]yaml.Field, 0, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			fields = append(fields, yaml.Field{Key: n.Content[i].Value, Value: valueOfNode(t, n.Content[i+1])})
		}
		return yaml.MapOf(fields...)
	case yamlv3.SequenceNode:
		items := make([]yaml.Value, 0, len(n.Content))
		for _, x := range n.Content {
			items = append(items, valueOfNode(t, x))
		}
		return yaml.SeqOf(items...)
	}
	switch n.Tag {
	case "!!null":
		if n.Value == "" {
			return yaml.OmittedNull
		}
		return yaml.NullValue
	case "!!bool":
		return yaml.BoolValue(strings.EqualFold(n.Value, "true"))
	case "!!int":
		return yaml.Number(yaml.Int, n.Value)
	case "!!float":
		return yaml.Number(yaml.Float, n.Value)
	case "!!str":
		return yaml.Str(n.Value).WithQuotes(n.Style != 0)
	}
	t.Fatalf("unexpected tag %s", n.Tag)
	return yaml.Value{}
}

// show prints v in a form that shows the types.
func show(v yaml.Value) string {
	var b strings.Builder
	switch v.Type() {
	case yaml.Map:
		b.WriteByte('{')
		for i, f := range v.Fields() {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s: %s", f.Key, show(f.Value))
		}
		b.WriteByte('}')
	case yaml.Seq:
		b.WriteByte('[')
		for i, x := range v.Items() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(show(x))
		}
		b.WriteByte(']')
	case yaml.String:
		fmt.Fprintf(&b, "%q", v.Text())
	case yaml.None:
		return "nothing"
	case yaml.Null:
		return "null"
	default:
		return v.Text()
	}
	return b.String()
}

// kyamlMerge is the oracle.
func kyamlMerge(t testing.TB, dest, patch string) (result yaml.Value, failed string) {
	defer func() {
		if r := recover(); r != nil {
			failed = fmt.Sprint("panic: ", r)
		}
	}()
	d, p := kyaml.MustParse(dest), kyaml.MustParse(patch)
	got, err := merge2.Merge(p, d, kyaml.MergeOptions{ListIncreaseDirection: kyaml.MergeOptionsListPrepend})
	if err != nil {
		return yaml.Value{}, err.Error()
	}
	if got == nil {
		return yaml.Value{}, ""
	}
	clearFlow(got.YNode())
	text, err := got.String()
	if err != nil {
		return yaml.Value{}, err.Error()
	}
	return parseYAML(t, text), ""
}

// clearFlow switches nodes to block style: an omitted null in flow style is read back as a string.
func clearFlow(n *yamlv3.Node) {
	n.Style &^= yamlv3.FlowStyle
	for _, x := range n.Content {
		clearFlow(x)
	}
}

func checkMerge(t testing.TB, dest, patch string) (agreed bool) {
	t.Helper()
	want, failed := kyamlMerge(t, dest, patch)
	if strings.HasPrefix(failed, "panic") {
		return true
	}
	d := parseYAML(t, dest)
	before := show(d)
	got, deleted, err := MergePatch(nil, d, parseYAML(t, patch))
	if show(d) != before {
		t.Errorf("the merge wrote to its input:\n%s\n%s", dest, patch)
	}
	switch {
	case (err != nil) != (failed != ""):
		t.Errorf("dest:  %s\npatch: %s\ngot error  %v\nwant error %s", dest, patch, err, failed)
	case err != nil:
		return true
	case deleted != !want.Exists() || !got.Equal(want):
		t.Errorf("dest:  %s\npatch: %s\ngot  %s\nwant %s", dest, patch, show(got), show(want))
	case got.Equal(d) && !got.Same(d):
		t.Errorf("dest:  %s\npatch: %s\nnothing changed, but the value is a copy", dest, patch)
	default:
		return true
	}
	return false
}

// A treeGen generates random objects and patches in YAML flow style.
type treeGen struct {
	*rand.Rand
	patch bool // add directives and nulls
	tame  bool // no values of the wrong type
}

func (g *treeGen) pick(options ...string) string { return options[g.IntN(len(options))] }

// wrong returns text, or a valid value if the generator is tame.
func (g *treeGen) wrong(text string) string {
	if g.tame {
		return "merge"
	}
	return text
}

func (g *treeGen) chance(percent int) bool { return g.IntN(100) < percent }

func (g *treeGen) scalar() string {
	if g.chance(g.nullChance()) {
		return g.pick("null", "~", "")
	}
	return g.pick("a", "b", `"a"`, "'c'", "1", `"1"`, "1.5", "true", `"true"`, "0x1F", `""`)
}

func (g *treeGen) nullChance() int {
	if g.patch {
		return 12
	}
	return 4
}

func (g *treeGen) fields(fields ...string) string {
	var kept []string
	if g.patch && g.chance(6) {
		kept = append(kept, "$patch: "+g.pick("delete", "replace", "merge", "delete", "replace", "merge", g.wrong("other"),
			g.wrong("null")))
	}
	for _, f := range fields {
		if f != "" {
			kept = append(kept, f)
		}
	}
	g.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
	return "{" + strings.Join(kept, ", ") + "}"
}

// field returns "name: value", or often nothing.
func (g *treeGen) field(name string, value func() string) string {
	switch {
	case g.chance(45):
		return ""
	case g.chance(g.nullChance()):
		return name + ": " + g.pick("null", "~", "")
	case !g.tame && g.chance(2):
		return name + ": " + g.pick("{}", "[]", "a")
	}
	return name + ": " + value()
}

func (g *treeGen) list(item func() string) string {
	n := g.IntN(4)
	items := make([]string, 0, n+1)
	for range n {
		x := item()
		if x == "" {
			x = "~" // an item of a list in flow style cannot be omitted
		}
		items = append(items, x)
	}
	if g.patch && g.chance(8) {
		items = append(items, "{$patch: "+g.pick("delete", "replace", "merge", "replace", g.wrong("other"))+"}")
		g.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	}
	if !g.tame && g.chance(2) {
		items = append(items, g.pick("null", "{}", "a", "[]", "{other: a}"))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func (g *treeGen) strMap() string {
	return g.fields(g.field("a", g.scalar), g.field("b", g.scalar), g.field("c", g.scalar))
}

func (g *treeGen) keyed(key string, more ...string) func() string {
	return func() string {
		k := key + ": " + g.pick("a", "b", `"b"`, "c", "d", "1", `"1"`)
		if g.chance(4) {
			k = g.field(key, g.scalar)
		}
		fields := []string{k}
		for _, m := range more {
			fields = append(fields, g.field(m, g.scalar))
		}
		return g.fields(fields...)
	}
}

func (g *treeGen) port(key string) func() string {
	return func() string {
		k := key + ": " + g.pick("80", "81", `"80"`)
		if g.chance(4) {
			k = ""
		}
		return g.fields(k, g.field("protocol", func() string { return g.pick("TCP", "UDP", `"TCP"`) }), g.field("name", g.scalar))
	}
}

func (g *treeGen) container() string {
	return g.fields("name: "+g.pick("a", "b", "c"), g.field("image", g.scalar), g.field("args", func() string { return g.list(g.scalar) }),
		g.field("env", func() string { return g.list(g.keyed("name", "value")) }),
		g.field("ports", func() string { return g.list(g.port("containerPort")) }),
		g.field("volumeMounts", func() string { return g.list(g.keyed("mountPath", "name")) }), g.field("resources", g.strMap))
}

func (g *treeGen) podSpec() string {
	return g.fields(g.field("containers", func() string { return g.list(g.container) }),
		g.field("initContainers", func() string { return g.list(g.container) }),
		g.field("volumes", func() string { return g.list(g.keyed("name", "hostPath")) }), g.field("nodeSelector", g.strMap),
		g.field("topologySpreadConstraints", func() string {
			return g.list(func() string {
				return g.fields(g.field("topologyKey", g.scalar), g.field("whenUnsatisfiable", g.scalar), g.field("maxSkew", g.scalar),
					g.field("labelSelector", g.strMap))
			})
		}), g.field("tolerations", func() string { return g.list(g.keyed("key")) }))
}

func (g *treeGen) meta() string {
	return g.fields("name: a", g.field("labels", g.strMap), g.field("annotations", g.strMap),
		g.field("finalizers", func() string { return g.list(g.scalar) }),
		g.field("ownerReferences", func() string { return g.list(g.keyed("uid", "name")) }))
}

func (g *treeGen) template() string {
	return g.fields(g.field("metadata", g.meta), g.field("spec", g.podSpec))
}

func (g *treeGen) object(kind string) string {
	switch kind {
	case "Deployment":
		return g.fields("apiVersion: apps/v1", "kind: Deployment", "metadata: "+g.meta(), g.field("spec", func() string {
			return g.fields(g.field("replicas", g.scalar), g.field("template", g.template), g.field("strategy", g.strMap))
		}))
	case "Service":
		return g.fields("apiVersion: v1", "kind: Service", "metadata: "+g.meta(), g.field("spec", func() string {
			return g.fields(g.field("ports", func() string { return g.list(g.port("port")) }), g.field("selector", g.strMap))
		}))
	}
	return g.fields("apiVersion: example.com/v1", "kind: Thing", "metadata: {name: a}", g.field("pod", func() string {
		return strings.Replace(g.template(), "{", "{apiVersion: v1, kind: Pod"+g.pick("", "x")+", ", 1)
	}), g.field("list", func() string { return g.list(g.keyed("name", "value")) }), g.field("map", g.strMap))
}

// checkSeed compares one random merge with the oracle.
func checkSeed(t *testing.T, seed uint64) bool {
	g := &treeGen{Rand: rand.New(rand.NewPCG(seed, 1))}
	kind := g.pick("Deployment", "Deployment", "Service", "Thing")
	dest := g.object(kind)
	g.patch = true
	return checkMerge(t, dest, g.object(kind))
}

func TestMergePatchAgreesWithKyaml(t *testing.T) {
	for seed := range uint64(1500) {
		if !checkSeed(t, seed) {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzMergePatch(f *testing.F) {
	f.Fuzz(func(t *testing.T, seed uint64) { checkSeed(t, seed) })
}

const benchDeployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web, tier: front}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: app:1
        env: [{name: A, value: "1"}, {name: B, value: two}, {name: C, value: three}]
        ports: [{containerPort: 80, protocol: TCP}, {containerPort: 81, protocol: TCP}]
        volumeMounts: [{name: v, mountPath: /v}, {name: w, mountPath: /w}]
        resources: {limits: {cpu: "1", memory: 1Gi}, requests: {cpu: 100m, memory: 100Mi}}
      - {name: side, image: "side:1"}
      volumes: [{name: v, emptyDir: {}}, {name: w, emptyDir: {}}]
`

func BenchmarkMergePatch(b *testing.B) {
	dest := parseYAML(b, benchDeployment)
	for name, patch := range map[string]string{
		"replicas": "{spec: {replicas: 3}}",
		"image":    "{spec: {template: {spec: {containers: [{name: app, image: 'app:2', env: [{name: D, value: x}]}]}}}}",
	} {
		p := parseYAML(b, patch)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := MergePatch(nil, dest, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
