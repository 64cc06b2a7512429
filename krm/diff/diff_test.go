package diff

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

func list(t *testing.T, text string) *krm.List {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{File: "f.yaml", Data: []byte(text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return krm.NewList(rs...)
}

// told prints changes in a short form.
func told(c *Changes) string {
	var b strings.Builder
	for _, r := range c.Resources {
		fmt.Fprintf(&b, "%s %s", r.What, r.ID())
		if r.Renamed {
			fmt.Fprintf(&b, " (%s)", r.Base)
		}
		b.WriteByte('\n')
		tell(&b, r.Edits, "  ")
	}
	return b.String()
}

func tell(b *strings.Builder, edits []Edit, indent string) {
	for _, e := range edits {
		fmt.Fprintf(b, "%s%s %s", indent, e.Op, e.Path)
		switch {
		case e.Hidden:
			b.WriteString(" hidden")
		case e.Follows != "":
			b.WriteString(" follows " + e.Follows)
		case e.Format != "":
			b.WriteString(" in " + e.Format)
		case e.Lines != nil:
			for _, line := range e.Lines {
				fmt.Fprintf(b, " %c%s", line.Op, line.Text)
			}
		default:
			for _, v := range []yaml.Value{e.Old, e.New} {
				if v.Exists() {
					fmt.Fprintf(b, " %s", yaml.AppendJSON(nil, v))
				}
			}
		}
		b.WriteByte('\n')
		tell(b, e.Inside, indent+"  ")
	}
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - {name: side, image: "s:1"}
      - {name: web, image: "w:1", args: [a, b, c], ports: [{containerPort: 80}, {containerPort: 443}], envFrom: [{configMapRef: {name: conf-2456789bcd}}]}
`

func TestListsReportsChanges(t *testing.T) {
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s%s}\ndata: {same: c2FtZQ==, k: %s}\nstringData: {t: %s}\n"
	for name, c := range map[string]struct{ old, now, want string }{
		"the same": {deployment, strings.ReplaceAll(deployment, "replicas: 1", "replicas: 0x1"), ""},
		"merge keys": {deployment, strings.NewReplacer(`image: "w:1"`, `image: "w:2"`, "{containerPort: 80}, ", "", "{name: side, image",
			"{name: new, image").Replace(deployment),
			`changed apps/v1 Deployment web
  remove spec.template.spec.containers[name=side] {"image":"s:1","name":"side"}
  add spec.template.spec.containers[name=new] {"image":"s:1","name":"new"}
  replace spec.template.spec.containers[name=web].image "w:1" "w:2"
  remove spec.template.spec.containers[name=web].ports[containerPort=80] {"containerPort":80}
`},
		"scalars of a list": {deployment, strings.ReplaceAll(deployment, "[a, b, c]", "[c, a, x, y]"), `changed apps/v1 Deployment web
  move spec.template.spec.containers[name=web].args[0]
  replace spec.template.spec.containers[name=web].args[2] "b" "x"
  add spec.template.spec.containers[name=web].args[3] "y"
`},
		"hash": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf-2456789bcd}\ndata: {k: a}\n---\n" + deployment,
			strings.ReplaceAll("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf-2456789bcd}\ndata: {k: b}\n---\n"+deployment,
				"2456789bcd", "mmmmmmmmmm"),
			`changed v1 ConfigMap conf-mmmmmmmmmm (conf)
  replace data.k "a" "b"
  replace metadata.name follows conf
changed apps/v1 Deployment web
  replace spec.template.spec.containers[name=web].envFrom[0].configMapRef.name follows conf
`},
		"version": {
			"apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: i}\n---\napiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n",
			"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}\n---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n",
			`changed networking.k8s.io/v1 Ingress i
  replace apiVersion "extensions/v1beta1" "networking.k8s.io/v1"
changed autoscaling/v2 HorizontalPodAutoscaler h
  replace apiVersion "autoscaling/v1" "autoscaling/v2"
`},
		"added and removed": {deployment, strings.ReplaceAll(deployment, "{name: web}", "{name: web2}"),
			"removed apps/v1 Deployment web\nadded apps/v1 Deployment web2\n"},
		"secret": {fmt.Sprintf(secret, "", "b2xk", "old"), fmt.Sprintf(secret, "", "bmV3", "new") + "type: Opaque\n",
			"changed v1 Secret s\n  replace data.k hidden\n  replace stringData.t hidden\n  add type \"Opaque\"\n"},
		"secret in texts": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a.json: '{\"kind\": \"Secret\", \"data\": {\"k\": \"old\"}}'\n  b: |\n    kind: Secret\n    stringData: {k: old, l: l}\n    type: a\n  c: |\n    kind: Secret\n    data: {k: old}\n    ---\n    kind: X\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a.json: '{\"kind\": \"Secret\", \"data\": {\"k\": \"new\"}}'\n  b: |\n    kind: Secret\n    stringData: {k: new, l: l}\n    type: b\n  c: |\n    kind: Secret\n    data: {k: new}\n    ---\n    kind: X\n",
			"changed v1 ConfigMap c\n  replace data.a\\.json hidden\n    replace data.k hidden\n  replace data.b hidden\n    replace stringData.k hidden\n    replace type \"a\" \"b\"\n  replace data.c hidden\n"},
		"secrets without a kind of their own, and kinds that are written otherwise": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    kind: SecretList\n    items: [{data: {k: old}}]\n  b: |\n    x: y\n    ---\n    kind: !!str Secret\n    data: {k: old}\n  c: |\n    x: y\n    ---\n    kind: >-\n      SecretList\n    items: [{data: {k: old}}]\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    kind: SecretList\n    items: [{data: {k: new}}]\n  b: |\n    x: y\n    ---\n    kind: !!str Secret\n    data: {k: new}\n  c: |\n    x: y\n    ---\n    kind: >-\n      SecretList\n    items: [{data: {k: new}}]\n",
			"changed v1 ConfigMap c\n  replace data.a hidden\n    replace items hidden\n  replace data.b hidden\n  replace data.c hidden\n"},
		"texts": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    x: 1 # one\n    list: [{name: a, v: 1}]\n  b: \"1\\n2\\n3\\n4\\n5\\n6\\n7\\n\"\n  c: |\n    x: 1 # one\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    list: [{name: a, v: 2}]\n    x: 1\n  b: \"1\\n2\\n3\\n4\\n5\\nsix\\n7\\n\"\n  c: |\n    x: 1\n",
			"changed v1 ConfigMap c\n  replace data.a in yaml\n    replace list[name=a].v 1 2\n  replace data.b  3  4  5 -6 +six  7\n  replace data.c -x: 1 # one +x: 1\n"},
		"passwords in addresses": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {u: \"https://u:old@host/a\", v: \"https://u:pw@host/a\", w: \"a (db://u:o,l(d;@host), db://a:1,db://b:2/c\"}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {u: \"https://u:new@host/a\", v: \"https://u:pw@host/b\", w: \"b (db://u:o,l(d;@host), db://a:1,db://b:2/c\"}\n",
			"changed v1 ConfigMap c\n  replace data.u hidden\n  replace data.v hidden\n  replace data.w hidden\n"},
	} {
		got := told(Lists(list(t, c.old), list(t, c.now), nil))
		if want := strings.ReplaceAll(c.want, `data.a\.json`, `data."a.json"`); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		for _, hidden := range []string{"b2xk", "bmV3", "u:old", "u:new", "k: old", ":pw@", "l(d"} {
			c := Lists(list(t, c.old), list(t, c.now), nil)
			if all := fmt.Sprintf("%s %s", told(c), shownSides(c)); strings.Contains(all, hidden) {
				t.Errorf("%s: shows %q:\n%s", name, hidden, all)
			}
		}
	}
}

// shownSides prints the objects of all changes.
func shownSides(c *Changes) string {
	var b []byte
	for _, r := range c.Resources {
		b = yaml.AppendYAML(yaml.AppendYAML(b, r.Before), r.After)
	}
	return string(b)
}

// TestShownSides checks that an object that is shown in full also hides the values of Secrets, and
// marks the values that differ.
func TestShownSides(t *testing.T) {
	c := Lists(list(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: b2xk, l: bA==}\n"),
		list(t,
			"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: bmV3, l: bA==, m: bQ==}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: t}\nstringData: {k: secret}\n"), nil)
	want := "apiVersion: v1\ndata:\n  k: (hidden)\n  l: (hidden)\nkind: Secret\nmetadata:\n  name: s\n" +
		"apiVersion: v1\ndata:\n  k: (hidden, changed)\n  l: (hidden)\n  m: (hidden)\nkind: Secret\nmetadata:\n  name: s\n" +
		"apiVersion: v1\nkind: Secret\nmetadata:\n  name: t\nstringData:\n  k: (hidden)\n"
	if got := strings.ReplaceAll(shownSides(c), "null\n", ""); got != want {
		t.Errorf("%s", got)
	}
}

var rounds = flag.Int("rounds", 60, "how many random edits TestApplyMakesNewValue makes")

// random generates and edits values.
type random struct{ *rand.Rand }

func (r random) value(depth int) yaml.Value {
	n := 10
	if depth > 4 {
		n = 7
	}
	switch r.IntN(n) {
	case 0:
		return yaml.NullValue
	case 1:
		return yaml.BoolValue(r.IntN(2) == 0)
	case 2:
		return yaml.Number(yaml.Int, fmt.Sprint(r.IntN(4)))
	case 3:
		return yaml.Number(yaml.Float, []string{"1.50", "1e3", "0.1", "12345678901234567890"}[r.IntN(4)])
	case 4, 5, 6:
		return yaml.Str([]string{"", "a", "b", "x\ny\nz\n", "x\nz", "{\"a\": [1, 2]}", "{\"a\": [2]}", "a: 1\nb: {c: 2}\n",
			"a: 2\n# c\nb: {c: 3}\n", "l: [x]\nm: [y]\n"}[r.IntN(10)])
	case 7:
		items := make([]yaml.Value, r.IntN(5))
		keyed := r.IntN(2) == 0
		for i := range items {
			items[i] = r.value(depth + 1)
			if keyed {
				items[i] = yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str(fmt.Sprint(i))}, yaml.Field{Key: "v", Value: items[i]})
			}
		}
		return yaml.SeqOf(items...)
	}
	v := yaml.MapOf()
	for range r.IntN(5) {
		v = v.With([]string{"a", "b", "containers", "ports", "metadata", "kind.x"}[r.IntN(6)], r.value(depth+1))
	}
	return v
}

// edit returns v with a random change.
func (r random) edit(v yaml.Value, depth int) yaml.Value {
	if r.IntN(6) == 0 {
		return r.value(depth)
	}
	switch {
	case v.Type() == yaml.Map && v.Len() > 0:
		key := v.Fields()[r.IntN(v.Len())].Key
		switch r.IntN(6) {
		case 0:
			return v.Without(key)
		case 1:
			return v.With("new", r.value(depth+1))
		}
		return v.With(key, r.edit(v.Get(key), depth+1))
	case v.Type() == yaml.Seq:
		items := append([]yaml.Value(nil), v.Items()...)
		switch n := r.IntN(6); {
		case n == 0 || len(items) == 0:
			i := r.IntN(len(items) + 1)
			items = append(items[:i], append([]yaml.Value{r.value(depth + 1)}, items[i:]...)...)
		case n == 1:
			i := r.IntN(len(items))
			items = append(items[:i], items[i+1:]...)
		case n == 2:
			r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		default:
			i := r.IntN(len(items))
			items[i] = r.edit(items[i], depth+1)
		}
		return yaml.SeqOf(items...)
	}
	return r.value(depth)
}

// check fails the test if the edits do not turn old into now.
func check(t *testing.T, old, now yaml.Value, node schema.Node) {
	t.Helper()
	edits := Values(old, now, node, nil)
	got := string(yaml.AppendJSON(nil, Apply(canonical(old), edits)))
	if want := string(yaml.AppendJSON(nil, now)); got != want {
		var b strings.Builder
		tell(&b, edits, "")
		t.Fatalf("of %s\nthe edits\n%smake %s\nwant %s", yaml.AppendJSON(nil, old), &b, got, want)
	}
	for _, e := range edits {
		if e.Op == Replace && !e.Hidden && e.Old.Equal(e.New) {
			t.Fatalf("%s: nothing changes", e.Path)
		}
		if len(e.Inside) > 0 {
			inOld, _ := open(e.Old.Text())
			inNow, _ := open(e.New.Text())
			if got := Apply(inOld, e.Inside); string(yaml.AppendJSON(nil, got)) != string(yaml.AppendJSON(nil, inNow)) {
				t.Fatalf("inside of %s: %s", e.Path, yaml.AppendJSON(nil, got))
			}
		}
	}
	if len(Values(now, now, node, nil)) > 0 {
		t.Fatal("a value differs from itself")
	}
}

// TestApplyMakesNewValue checks that edits turn any old value into any new value.
func TestApplyMakesNewValue(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := random{rand.New(rand.NewPCG(seed, 0))}
	nodes := []schema.Node{{}, (*schema.Schema)(nil).For(schema.Kind{Version: "v1", Kind: "Pod"}).Field("spec")}
	for range *rounds {
		old := r.value(0)
		for range 10 {
			now := old
			for range 1 + r.IntN(3) {
				now = r.edit(now, 0)
			}
			check(t, old, now, nodes[r.IntN(2)])
			old = now
		}
	}
}

func FuzzApply(f *testing.F) {
	f.Add("{a: [{name: x, v: 1}, {name: y}]}", "{a: [{name: y, v: 2}, {name: x}]}")
	f.Add("[a, b, c, a, b]", "[b, a, d, c, b]")
	f.Add("- {key: 1, v: 0x1F}\n- {key: 2}", "- {key: 2}\n- {key: 3, v: 1e3}")
	f.Add("x: |\n  a: 1\n  b: 2\n", "x: |\n  a: 1\n  b: 3\n")
	f.Add("kind: Secret\ndata: {a: b}", "kind: Secret\ndata: {a: c}")
	f.Fuzz(func(t *testing.T, a, b string) {
		old, err := (&yaml.Source{Data: []byte(a)}).Value()
		if err != nil {
			return
		}
		now, err := (&yaml.Source{Data: []byte(b)}).Value()
		if err != nil {
			return
		}
		edits := Values(old, now, schema.Node{}, nil)
		for _, e := range edits {
			if e.Hidden { // a hidden value cannot be applied
				return
			}
		}
		check(t, old, now, schema.Node{})
	})
}

// TestListsOfRandom checks that each resource is paired once, and that applying the changes to the
// old list makes the new list.
func TestListsOfRandom(t *testing.T) {
	r := random{rand.New(rand.NewPCG(rand.Uint64(), 0))}
	make1 := func(n int) *krm.List {
		var rs []*krm.Resource
		for range n {
			v := yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str([]string{"v1", "v2", "g/v1"}[r.IntN(3)])},
				yaml.Field{Key: "kind", Value: yaml.Str([]string{"ConfigMap", "Pod"}[r.IntN(2)])},
				yaml.Field{Key: "metadata",
					Value: yaml.MapOf(yaml.Field{Key: "name",
						Value: yaml.Str([]string{"a", "b", "c", "a-2222222222", "a-4444444444"}[r.IntN(5)])})},
				yaml.Field{Key: "x", Value: r.value(2)})
			rs = append(rs, krm.NewResource(v, nil))
		}
		return krm.NewList(rs...)
	}
	for range *rounds {
		old, now := make1(r.IntN(8)), make1(r.IntN(8))
		c := Lists(old, now, nil)
		used := map[int]bool{}
		changed := 0
		for _, one := range c.Resources {
			if one.What != Added {
				if used[one.Old.At] {
					t.Fatal("twice")
				}
				used[one.Old.At] = true
			}
			if one.What == Removed {
				continue
			}
			changed++
			got := one.After
			if one.What == Changed {
				got = Apply(canonical(old.At(one.Old.At).Value()), one.Edits)
			}
			if want := now.At(one.New.At).Value(); string(yaml.AppendJSON(nil, got)) != string(yaml.AppendJSON(nil, want)) {
				t.Fatalf("%s\nwant %s", yaml.AppendJSON(nil, got), yaml.AppendJSON(nil, want))
			}
		}
		if changed+c.Same != now.Len() {
			t.Fatalf("%d changed, %d the same, of %d", changed, c.Same, now.Len())
		}
	}
}
