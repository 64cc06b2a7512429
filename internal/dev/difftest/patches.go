package main

import (
	"strconv"
	"strings"
)

// patches adds strategic merge and JSON patches, inline or in files, with or without a target.
func (g *generator) patches(dir string, k *node) {
	l := list()
	for range 1 + g.IntN(2) {
		t, o := g.known()
		p := mapping()
		var patch *node
		if g.chance(0.5) {
			patch = g.jsonPatch(o)
			p.set("target", g.exactly(t))
		} else {
			patch = g.mergePatch(t, o)
			if g.chance(0.4) {
				p.set("target", g.target(t))
			}
		}
		if g.chance(0.7) {
			p.set("patch", block("|", g.yaml(patch)))
		} else {
			p.set("path", g.file(dir, "p", patch))
		}
		if g.chance(0.1) {
			p.set("options", object(of(g.random, "allowNameChange", "allowKindChange"), "true"))
		}
		l.items = append(l.items, p)
	}
	k.set("patches", l)
}

// oldPatches adds patches in the deprecated fields.
func (g *generator) oldPatches(dir string, k *node) {
	t, o := g.known()
	if g.chance(0.5) {
		patch := g.mergePatch(t, o)
		if g.chance(0.5) {
			k.set("patchesStrategicMerge", list(block("|-", g.yaml(patch))))
		} else {
			k.set("patchesStrategicMerge", texts(g.file(dir, "p", patch)))
		}
		return
	}
	target := object("version", "v1", "kind", t.kind, "name", t.name)
	k.set("patchesJson6902", list(object("target", target, "patch", block("|-", g.yaml(g.jsonPatch(o))))))
}

// target returns a selector that matches t and possibly other objects.
func (g *generator) target(t thing) *node {
	s := mapping()
	if g.chance(0.8) {
		s.set("kind", t.kind)
	}
	if g.chance(0.5) {
		s.set("name", of(g.random, t.name, t.name, ".*", t.name+".*", "a|b"))
	}
	if g.chance(0.1) {
		s.set("labelSelector", of(g.random, "app", "app=a", `"!x"`, `"a in (a, b)"`, `"="`, "a!=b", `"a,b"`, `"a=b=c"`, `"a in ()"`,
			`"1"`, "a notin (x)"))
	}
	if g.chance(0.05) {
		s.set("annotationSelector", of(g.random, "a=a", "b", `"!a"`, "k=1"))
	}
	if g.chance(0.1) {
		s.set(of(g.random, "version", "group", "namespace"), of(g.random, "v1", "apps", "ns1", `""`))
	}
	return s
}

// exactly returns a selector that usually matches only t.
func (g *generator) exactly(t thing) *node {
	if g.chance(0.3) {
		return g.target(t)
	}
	return object("kind", t.kind, "name", t.name)
}

// mergePatch returns a strategic merge patch for t. o is the object, or nil if it is unknown.
func (g *generator) mergePatch(t thing, o *node) *node {
	meta := t.metadata()
	if g.chance(0.25) {
		meta.set(of(g.random, "annotations", "labels"), g.strings(2))
	}
	if g.chance(0.05) {
		meta.set(of(g.random, "annotations", "labels"), g.value(1))
	}
	p := object("apiVersion", t.apiVersion, "kind", t.kind, "metadata", meta)
	if g.chance(0.04) {
		p.set("$patch", of(g.random, "delete", "replace", "merge"))
	}
	switch {
	case o == nil:
		p.set("data", g.strings(2))
	case g.chance(0.3): // new content for the same kind
		g.body(t, p)
	default:
		for _, f := range o.fields {
			if f.key != "metadata" && f.key != "kind" && f.key != "apiVersion" && g.chance(0.8) {
				p.set(f.key, g.altered(f.value, 0))
			}
		}
		if g.chance(0.2) {
			p.set(of(g.random, "spec", "data", "extra"), g.value(2))
		}
	}
	return p
}

// altered returns a random part of n with changes, as in a patch.
func (g *generator) altered(n *node, depth int) *node {
	if g.chance(0.06) {
		return g.value(2)
	}
	switch n.kind {
	case 'm':
		m := mapping()
		if g.chance(0.04) {
			m.set("$patch", of(g.random, "replace", "delete", "merge"))
		}
		for _, f := range n.fields {
			switch {
			case f.key == "name" || f.key == "containerPort" || f.key == "port":
				m.set(f.key, f.value)
			case g.chance(0.1):
				m.set(f.key, of(g.random, "null", "", "~"))
			case g.chance(0.6):
				m.set(f.key, g.altered(f.value, depth+1))
			}
		}
		if g.chance(0.15) {
			m.set(g.key(), g.value(2))
		}
		return m
	case 'l':
		l := list()
		for _, item := range n.items {
			if g.chance(0.7) {
				l.items = append(l.items, g.altered(item, depth+1))
			}
		}
		if g.chance(0.1) {
			l.items = append(l.items, of(g.random, object("$patch", "replace"), object("name", "new"),
				object("name", "web", "$patch", "delete"), text("null"), text("a")))
		}
		return l
	}
	return text(g.scalar())
}

// jsonPatch returns a random JSON patch for o.
func (g *generator) jsonPatch(o *node) *node {
	l := list()
	for range 1 + g.IntN(3) {
		op := object("op", of(g.random, "add", "add", "replace", "replace", "remove", "test", "copy", "move"))
		path, v := g.pointer(o)
		op.set("path", path)
		switch kind := op.fields[0].value.scalar; kind {
		case "test":
			if v == nil || g.chance(0.1) {
				op.fields[0].value = text("add")
				v = g.value(1)
			}
			op.set("value", v)
		case "copy", "move":
			from, _ := g.pointer(o)
			op.set("from", from)
		case "remove":
		default:
			if g.chance(0.97) {
				op.set("value", g.value(2))
			}
		}
		l.items = append(l.items, op)
	}
	return l
}

// pointer returns a JSON pointer into o and the value there, or nil if it does not exist.
func (g *generator) pointer(o *node) (string, *node) {
	path := g.path(o)
	var b strings.Builder
	for _, step := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step.name))
	}
	var at *node
	if len(path) > 0 {
		at = path[len(path)-1].value
	}
	s := b.String()
	if strings.ContainsAny(s, `"'`) || g.chance(0.05) {
		s = strings.NewReplacer(`"`, "", `'`, "").Replace(s)
		return strconv.Quote(s), at
	}
	return s, at
}

// A step is one element of a path.
type step struct {
	name  string
	item  *node // the list item with name as its index
	value *node // nil if it does not exist
}

// path returns a random path into o. It may end one step after the last existing value.
func (g *generator) path(o *node) []step {
	if o == nil {
		o = object("metadata", object("name", "a"), "data", object("a", "b"))
	}
	var steps []step
	for n := o; ; {
		switch {
		case n.kind == 'm' && len(n.fields) > 0 && (len(steps) == 0 || g.chance(0.85)):
			f := n.fields[g.IntN(len(n.fields))]
			if len(steps) == 0 && (f.key == "apiVersion" || f.key == "kind") && g.chance(0.8) {
				continue
			}
			steps = append(steps, step{name: f.key, value: f.value})
			n = f.value
		case n.kind == 'l' && len(n.items) > 0 && g.chance(0.85):
			i := g.IntN(len(n.items))
			steps = append(steps, step{name: strconv.Itoa(i), item: n.items[i], value: n.items[i]})
			n = n.items[i]
		default:
			if n.kind == 's' && g.chance(0.03) || n.kind == 'l' && g.chance(0.3) || n.kind == 'm' && g.chance(0.6) {
				name := g.key()
				if n.kind == 'l' {
					name = of(g.random, "-", "-", "0", "-1", "7")
				}
				steps = append(steps, step{name: name})
			}
			return steps
		}
	}
}
