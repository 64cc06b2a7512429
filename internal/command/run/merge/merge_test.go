package merge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/command/run/merge"
	"github.com/krmflow/krmflow/krm/yaml"
)

// fields maps paths of names to the scalars of an object.
type fields map[string]string

// object makes an object from fields. A name like "l:x" is the list item with the name x.
func object(f fields) yaml.Value {
	v := yaml.MapOf()
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		v = set(v, strings.Split(name, "."), f[name])
	}
	return v
}

func set(v yaml.Value, path []string, text string) yaml.Value {
	list, item, isItem := strings.Cut(path[0], ":")
	if !isItem {
		if len(path) == 1 {
			return v.With(path[0], yaml.Str(text))
		}
		inner := v.Get(path[0])
		if !inner.Exists() {
			inner = yaml.MapOf()
		}
		return v.With(path[0], set(inner, path[1:], text))
	}
	items := slices.Clone(v.Get(list).Items())
	for i, x := range items {
		if x.Get("name").Text() == item {
			items[i] = set(x, path[1:], text)
			return v.With(list, yaml.SeqOf(items...))
		}
	}
	items = append(items, set(yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str(item)}), path[1:], text))
	return v.With(list, yaml.SeqOf(items...))
}

// names are the possible fields of an object.
var names = func() (list []string) {
	for _, a := range []string{"a", "b.c", "b.d", "list:x.e", "list:x.f", "list:y.e", "b.deep.list:z.g", "b.deep.h"} {
		for i := range 3 {
			list = append(list, fmt.Sprint(a, i))
		}
	}
	return list
}()

// edited returns fields with some changed, added or removed. It touches only fields that may
// allows.
func edited(r *rand.Rand, base fields, side string, may func(string) bool) fields {
	out := fields{}
	for name, text := range base {
		out[name] = text
	}
	for _, name := range names {
		if !may(name) || r.IntN(3) > 0 {
			continue
		}
		if _, there := out[name]; there && r.IntN(3) == 0 {
			delete(out, name)
		} else {
			out[name] = side + fmt.Sprint(r.IntN(9))
		}
	}
	return out
}

// TestEditsSurvive makes random objects, with random edits of different fields by people and by a
// function. All edits of both must survive (RL-13, IM-18).
func TestEditsSurvive(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		base := fields{"list:x.k": "", "list:y.k": "", "b.k": "", "b.deep.k": "", "b.deep.list:z.k": ""} // no edit removes a whole mapping
		for _, name := range names {
			if r.IntN(2) == 0 {
				base[name] = fmt.Sprint(r.IntN(9))
			}
		}
		theirs := func(name string) bool {
			return strings.Contains("048", fmt.Sprint((int(seed)+len(name)*7+int(name[len(name)-1]))%9))
		}
		mine := edited(r, base, "mine", func(name string) bool { return !theirs(name) })
		made := edited(r, base, "made", theirs)
		want := fields{"list:x.k": "", "list:y.k": "", "b.k": "", "b.deep.k": "", "b.deep.list:z.k": ""}
		for _, name := range names {
			from := mine
			if theirs(name) {
				from = made
			}
			if text, ok := from[name]; ok {
				want[name] = text
			}
		}
		got, conflicts := merge.Three(object(base), object(mine), object(made), true)
		if len(conflicts) > 0 {
			t.Fatalf("seed %d: %v\nbase %s\nmine %s\nmade %s", seed, conflicts, show(object(base)), show(object(mine)), show(object(made)))
		}
		if text := flat(got); text != flat(object(want)) {
			t.Fatalf("seed %d:\nbase %s\nmine %s\nmade %s\ngot  %s\nwant %s", seed, show(object(base)), show(object(mine)),
				show(object(made)), text, flat(object(want)))
		}
	}
}

func show(v yaml.Value) string { return string(yaml.AppendJSON(nil, v)) }

// flat returns the scalars of an object in order, without the names of items.
func flat(v yaml.Value) string {
	var list []string
	var visit func(at string, v yaml.Value)
	visit = func(at string, v yaml.Value) {
		for _, f := range v.Fields() {
			visit(at+"."+f.Key, f.Value)
		}
		for _, x := range v.Items() {
			visit(at+":"+x.Get("name").Text(), x)
		}
		if v.IsScalar() && !strings.HasSuffix(at, ".name") {
			list = append(list, at+"="+v.Text())
		}
	}
	visit("", v)
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestConflictReportsBothSides has people and a function change the same field. Both sides are
// reported, but not the values of other fields.
func TestConflictReportsBothSides(t *testing.T) {
	for _, name := range names {
		base, mine, made := fields{"other": "same", name: "0"}, fields{"other": "same", name: "mine"}, fields{"other": "same", name: "made"}
		_, conflicts := merge.Three(object(base), object(mine), object(made), true)
		if len(conflicts) != 1 || conflicts[0].Mine != `"mine"` || conflicts[0].Theirs != `"made"` {
			t.Errorf("%s: %v", name, conflicts)
		}
		if _, conflicts = merge.Three(object(base), object(mine), object(mine), true); len(conflicts) != 0 {
			t.Errorf("%s: both are the same: %v", name, conflicts)
		}
	}
	if _, conflicts := merge.Three(object(fields{"a": "0"}), object(fields{}), object(fields{"a": "1"}), true); len(conflicts) != 1 ||
		conflicts[0].Mine != "nothing" {
		t.Errorf("a field that is gone and changed: %v", conflicts)
	}
}

// TestMemoryRoundTrips reads the stored memory back.
func TestMemoryRoundTrips(t *testing.T) {
	var m merge.Memory
	v := object(fields{"a.b": "yes", "list:x.n": "1", "a.t": "text\nof lines\n", "a.date": "2001-01-01"})
	m.Put("f", "id", v)
	m.Put("f", "secret", yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str("v1")},
		yaml.Field{Key: "kind", Value: yaml.Str("Secret")}, yaml.Field{Key: "data", Value: object(fields{"p": "hunter2"})}))
	text := m.Text()
	if strings.Contains(string(text), "hunter2") {
		t.Errorf("it has the value of a Secret:\n%s", text)
	}
	again, err := merge.Parse("file", text)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := again.Get("f", "id"); !ok || flat(got) != flat(v) {
		t.Errorf("read %s, want %s", flat(got), flat(v))
	}
	if string(again.Text()) != string(text) {
		t.Errorf("written again it is another text:\n%s\nwas\n%s", again.Text(), text)
	}
	if m, err := merge.Parse("file", nil); err != nil || m.Text() != nil {
		t.Errorf("no file: %v", err)
	}
}

// TestSecretsInside checks that a Secret inside an object is stored without its values, and that
// edits of the values are still detected.
func TestSecretsInside(t *testing.T) {
	template := func(password, script string) yaml.Value {
		secret := yaml.MapOf(yaml.Field{Key: "kind", Value: yaml.Str("Secret")},
			yaml.Field{Key: "stringData", Value: object(fields{"p": password})})
		return yaml.MapOf(yaml.Field{Key: "kind", Value: yaml.Str("Template")}, yaml.Field{Key: "objects", Value: yaml.SeqOf(secret)},
			yaml.Field{Key: "script", Value: yaml.Str("kind: Secret\ndata: {p: " + script + "}\n")})
	}
	var m merge.Memory
	m.Put("f", "id", template("hunter2", "hunter3"))
	again, err := merge.Parse("file", m.Text())
	if err != nil || strings.Contains(string(m.Text()), "hunter") {
		t.Fatalf("%v: it has values:\n%s", err, m.Text())
	}
	base, _ := again.Get("f", "id")
	if got, conflicts := merge.Three(base, template("hunter2", "mine"), template("made", "hunter3"), true); len(conflicts) > 0 ||
		flat(got) != flat(template("made", "mine")) {
		t.Errorf("changes of both: %s, %v", flat(got), conflicts)
	}
	if got, conflicts := merge.Three(base, template("hunter2", "hunter3"), template("made", "made"), true); len(conflicts) > 0 ||
		flat(got) != flat(template("made", "made")) {
		t.Errorf("no edit: %s, %v", flat(got), conflicts)
	}
	_, conflicts := merge.Three(base, template("hunter2", "mine"), template("hunter2", "made"), true)
	if len(conflicts) != 1 || strings.Contains(conflicts[0].Mine+conflicts[0].Theirs, "mine") {
		t.Errorf("conflict: %v", conflicts)
	}
}
