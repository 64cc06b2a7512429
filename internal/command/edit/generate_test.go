package edit_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A writer writes random kustomization files in all styles that people use.
type writer struct {
	*rand.Rand
	dash, gap string // of lists in block style
	flow      bool   // whether flow style is frequent
	comments  bool
}

func (w *writer) chance(percent int) bool { return w.IntN(100) < percent }

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// files are the other files in the directory of the kustomization file.
var files = map[string]string{
	"a.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n",
	"b.yaml":         "apiVersion: v1\nkind: Service\nmetadata:\n  name: b\n  annotations: {x: $(V), a.b/c: 'x-$(V)-y'}\nspec:\n- a\n- http://$(V) # c\n",
	"c d.yaml":       "apiVersion: v1\nkind: Service\nmetadata:\n  name: c\n",
	".hidden.yaml":   "apiVersion: v1\nkind: Service\nmetadata:\n  name: h\n",
	"patch.yaml":     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: w\n",
	"app.env":        "A=1\n# c\nB=2\n",
	"other.env":      "\xef\xbb\xbfC=1\n\nD\n",
	"bad.env":        "A=\xff\n",
	"conf/x.ini":     "x=1\n",
	"conf/y.ini":     "y=1\n",
	"base/k.yaml":    "",
	"base2/k.yaml":   "",
	"comp/one/k.txt": "",
	"comp/two/k.txt": "",
}

var (
	paths  = []string{"a.yaml", "b.yaml", "c d.yaml", "base", "base2", "comp/one", "comp/two", "patch.yaml", "none.yaml", "../x", "https://example.com/o/r//d?ref=v1", "no", "2"}
	names  = []string{"web", "db", "nginx", "postgres", "a", "b", "registry.example.com:5000/x/y", "true"}
	keys   = []string{"app", "tier", "a.b/c", "x", "on", "owner"}
	values = []string{"web", "yes", "1", "", "a b", "x: y", "#no", "é", "it's", `say "hi"`, "1.0", "null", "{a}", "- b", "a, b", "0x1f",
		"2020-01-01", "~", "*", "a\tb"}
	literals = []string{"k=v", "k=w", "x=1", "x=a=b", "y=", "z", "=q", `q="a b"`, "on=yes"}
	textsOf  = []string{"kind: Foo\nmetadata:\n  name: x\n", "- op: remove\n  path: /a\n", "a: b", "# c\na: b\n\n", "a: b\nc: d", "{}",
		"x: 'é'\n"}
	fieldsOf = []string{"apiVersion", "kind", "resources", "bases", "namePrefix", "nameSuffix", "namespace", "crds", "commonLabels",
		"labels", "commonAnnotations", "patchesStrategicMerge", "patchesJson6902", "patches", "configMapGenerator", "secretGenerator",
		"generatorOptions", "vars", "images", "imageTags", "replicas", "configurations", "generators", "transformers", "components",
		"buildMetadata", "metadata", "helmCharts", "helmChartInflationGenerator", "replacements", "openapi"}
	generated = []string{"settings", "tokens", "web", ""}
)

// file returns a complete file.
func (w *writer) file() string {
	w.dash = pick(w.Rand, "", "", "  ", "    ")
	w.gap = pick(w.Rand, " ", " ", " ", "   ")
	w.flow, w.comments = w.chance(20), w.chance(60)
	var b strings.Builder
	switch w.IntN(12) {
	case 0:
		b.WriteString("---\n")
	case 1:
		b.WriteString("# License\n# of this file\n\n")
	case 2:
		b.WriteString("# The header.\n")
	}
	switch w.IntN(40) {
	case 0:
		return b.String()
	case 1:
		return b.String() + "{}\n"
	case 2:
		return b.String() + "null # nothing\n"
	case 3:
		return b.String() + "{resources: [a.yaml], namespace: x, commonLabels: {a: b}}\n"
	}
	airy := w.chance(40)
	perm := w.Perm(len(fieldsOf))
	n := 1 + w.IntN(9)
	if w.chance(70) {
		b.WriteString("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
	}
	for _, i := range perm[:n] {
		if i < 2 && b.Len() > 60 {
			continue
		}
		if airy {
			b.WriteString("\n")
		}
		w.comment(&b, "", 25)
		b.WriteString(w.field(fieldsOf[i]))
	}
	if text := strings.ToLower(b.String()); w.chance(8) && !strings.Contains(text, "commonlabels") &&
		!strings.Contains(text, "commonannotations") {
		b.WriteString("commonLabels: &l" + pick(w.Rand, "\n  app: web # behind 1\n  x: 'y'\n", " {app: web, tier: \"1\"}\n"))
		b.WriteString("commonAnnotations:" + pick(w.Rand, " *l # behind 2\n", "\n  <<: *l\n  owner: me\n", "\n  owner: me\n  <<: *l\n"))
	}
	if w.chance(4) {
		b.WriteString(w.field(pick(w.Rand, fieldsOf[2:]...))) // it may exist already
	}
	w.comment(&b, "", 15)
	if w.chance(5) {
		b.WriteString("...\n")
	}
	text := b.String()
	switch w.IntN(12) {
	case 0:
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case 1:
		text = strings.TrimRight(text, "\n")
	case 2:
		text = "\xef\xbb\xbf" + text
	}
	return text
}

// comment sometimes writes a comment line.
func (w *writer) comment(b *strings.Builder, indent string, percent int) {
	if w.comments && w.chance(percent) {
		fmt.Fprintf(b, "%s# comment %d\n", indent, w.IntN(1000))
	}
}

// behind sometimes returns a comment to follow a value.
func (w *writer) behind() string {
	if w.comments && w.chance(15) {
		return fmt.Sprintf("  # behind %d", w.IntN(1000))
	}
	return ""
}

// text returns a string as a scalar.
func (w *writer) text(s string) string {
	switch {
	case w.chance(15) || strings.ContainsAny(s, "\t\n"):
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`, "\n", `\n`).Replace(s) + `"`
	case w.chance(15) || needsQuotes(s):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return s
}

func needsQuotes(s string) bool {
	return s == "" || strings.ContainsAny(s, ":#{}[],'\"*&!|>%@`~-?") || strings.ContainsAny(s[:1], "0123456789") || s == "yes" ||
		s == "no" || s == "on" || s == "null" || s == "true"
}

// A node is a value to write: a scalar in its written form, a list, or a mapping.
type node struct {
	text   string // of a scalar
	lines  []string
	items  []node
	fields []pair
}

type pair struct {
	key   string
	value node
}

func (w *writer) scalar(s string) node {
	if strings.Contains(s, "\n") && w.chance(80) {
		head := "|"
		if !strings.HasSuffix(s, "\n") {
			head = "|-"
		}
		if strings.HasSuffix(s, "\n\n") {
			head = "|+"
		}
		return node{text: head, lines: strings.Split(strings.TrimSuffix(s, "\n"), "\n")}
	}
	return node{text: w.text(s)}
}

func (w *writer) list(n int, item func() node) node {
	v := node{items: []node{}}
	for range n {
		v.items = append(v.items, item())
	}
	return v
}

func (w *writer) someTexts(from []string) node {
	return w.list(w.IntN(4), func() node { return node{text: w.text(pick(w.Rand, from...))} })
}

func (w *writer) mapping(pairs ...any) node {
	v := node{fields: []pair{}}
	for i := 0; i < len(pairs); i += 2 {
		if n, ok := pairs[i+1].(node); ok && (n.text != "-" || n.items != nil) {
			v.fields = append(v.fields, pair{pairs[i].(string), n})
		}
	}
	return v
}

// maybe returns a scalar, or the marker for a field that mapping omits.
func (w *writer) maybe(percent int, n node) any {
	if w.chance(percent) {
		return n
	}
	return nil
}

func (w *writer) pairs() node {
	v := node{fields: []pair{}}
	for _, i := range w.Perm(len(keys))[:w.IntN(4)] {
		v.fields = append(v.fields, pair{w.text(keys[i]), node{text: w.text(pick(w.Rand, values...))}})
	}
	if len(v.fields) > 0 && v.fields[0].key == "on" {
		v.fields[0].key = `"on"`
	}
	return v
}

func (w *writer) target() node {
	return w.mapping("group", w.maybe(20, w.scalar("apps")), "version", w.maybe(20, w.scalar("v1")), "kind",
		w.maybe(80, w.scalar("Deployment")), "name", w.maybe(60, w.scalar("web")), "labelSelector", w.maybe(10, w.scalar("a=b")))
}

func (w *writer) patch() node {
	if w.chance(50) {
		return w.mapping("path", w.scalar("patch.yaml"), "target", w.maybe(60, w.target()), "options",
			w.maybe(5, w.mapping("allowNameChange", node{text: "true"})))
	}
	return w.mapping("target", w.maybe(60, w.target()), "patch", w.scalar(pick(w.Rand, textsOf...)))
}

func (w *writer) generator(secret bool) node {
	var kind any
	if secret {
		kind = w.maybe(40, w.scalar("Opaque"))
	}
	return w.mapping("name", w.scalar(pick(w.Rand, generated[:3]...)), "namespace", w.maybe(25, w.scalar(pick(w.Rand, "prod", "default"))),
		"type", kind,
		"behavior", w.maybe(10, w.scalar("merge")), "literals",
		w.maybe(60, w.list(w.IntN(3), func() node { return node{text: w.text(pick(w.Rand, literals[:3]...))} })),
		"files", w.maybe(20, w.someTexts([]string{"conf/x.ini", "z=conf/y.ini"})), "envs", w.maybe(15, w.someTexts([]string{"app.env"})),
		"env", w.maybe(10, w.scalar("other.env")),
		"options", w.maybe(20, w.mapping("disableNameSuffixHash", w.maybe(50, node{text: "true"}), "labels", w.maybe(50, w.pairs()))))
}

// field returns the text of a top-level field.
func (w *writer) field(name string) string {
	var v node
	some := 1 + w.IntN(3)
	switch name {
	case "apiVersion":
		v = w.scalar("kustomize.config.k8s.io/v1beta1")
	case "kind":
		v = w.scalar("Kustomization")
	case "namePrefix", "nameSuffix", "namespace":
		v = w.scalar(pick(w.Rand, "prod", "p-", "-s", "1", ""))
	case "metadata":
		v = w.mapping("name", w.scalar("x"), "annotations", w.maybe(50, w.pairs()))
	case "commonLabels", "commonAnnotations":
		v = w.pairs()
	case "openapi":
		v = w.mapping("path", w.scalar("schema.json"))
	case "labels":
		v = w.list(some, func() node {
			return w.mapping("includeSelectors", w.maybe(40, node{text: pick(w.Rand, "true", "false")}), "pairs", w.pairs(),
				"includeTemplates", w.maybe(30, node{text: "true"}))
		})
	case "patchesStrategicMerge":
		v = w.list(some, func() node { return w.scalar(pick(w.Rand, append(textsOf, "patch.yaml")...)) })
	case "patches", "patchesJson6902":
		v = w.list(some, w.patch)
	case "configMapGenerator", "secretGenerator":
		v = w.list(some, func() node { return w.generator(name[0] == 's') })
	case "generatorOptions":
		v = w.mapping("disableNameSuffixHash", w.maybe(50, node{text: "true"}), "labels", w.maybe(50, w.pairs()), "annotations",
			w.maybe(30, w.pairs()))
	case "vars":
		v = w.list(some, func() node {
			return w.mapping("name", w.scalar("V"), "objref",
				w.mapping("kind", w.scalar("Service"), "name", w.scalar("b"), "apiVersion", w.maybe(70, w.scalar("v1"))),
				"fieldref", w.maybe(30, w.mapping("fieldPath", w.scalar("metadata.name"))))
		})
	case "images", "imageTags":
		v = w.list(some, func() node {
			return w.mapping("name", w.scalar(pick(w.Rand, names...)), "newTag", w.maybe(60, w.scalar(pick(w.Rand, "1.0", "v2", "12"))),
				"newName", w.maybe(30, w.scalar(pick(w.Rand, names...))),
				"digest", w.maybe(15, w.scalar("sha256:abc")), "tagSuffix", w.maybe(10, w.scalar("-x")))
		})
	case "replicas":
		v = w.list(some, func() node {
			return w.mapping("name", w.scalar(pick(w.Rand, names...)), "count", w.maybe(90, node{text: pick(w.Rand, "1", "3", "0")}))
		})
	case "helmCharts":
		v = w.list(1, func() node { return w.mapping("name", w.scalar("chart"), "version", w.scalar("1.0.0")) })
	case "helmChartInflationGenerator":
		v = w.list(1, func() node {
			return w.mapping("chartName", w.scalar("chart"), "chartVersion", w.scalar("1.0.0"), "values", w.maybe(50, w.scalar("v.yaml")),
				"chartHome", w.maybe(30, w.scalar("charts")), "valuesLocal", w.maybe(30, w.mapping("a", w.scalar("b"))))
		})
	case "replacements":
		v = w.list(1, func() node { return w.mapping("path", w.scalar("r.yaml")) })
	case "buildMetadata":
		v = w.someTexts([]string{"originAnnotations", "managedByLabel", "transformerAnnotations"})
	default:
		v = w.someTexts(paths)
	}
	if w.chance(5) && v.text == "" {
		return name + ":" + pick(w.Rand, "", " null", " ~", "  # none") + "\n"
	}
	if w.chance(3) {
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	if w.chance(3) {
		name = `"` + name + `"`
	}
	var b strings.Builder
	w.put(&b, name+":", "", v, w.flow && w.chance(50), true)
	return b.String()
}

// put writes a value after a head, which is a key or a dash.
func (w *writer) put(b *strings.Builder, head, indent string, v node, flow, key bool) {
	isList, isMap := v.items != nil, v.fields != nil
	switch {
	case (isList && len(v.items) == 0) || (isMap && len(v.fields) == 0) || (flow || w.chance(4)) && (isList || isMap):
		many := w.chance(25) && key && !hasLines(v)
		fmt.Fprintf(b, "%s%s %s%s\n", indent, head, inBrackets(v, many, indent), w.behind())
	case isList:
		fmt.Fprintf(b, "%s%s%s\n", indent, head, w.behind())
		in := indent + w.dash
		for _, item := range v.items {
			w.comment(b, in, 12)
			w.item(b, in, item)
		}
	case isMap:
		fmt.Fprintf(b, "%s%s%s\n", indent, head, w.behind())
		w.putFields(b, indent+"  ", v)
	case len(v.lines) > 0:
		fmt.Fprintf(b, "%s%s %s\n", indent, head, v.text)
		for _, line := range v.lines {
			if line != "" {
				line = indent + "  " + line
			}
			b.WriteString(line + "\n")
		}
	default:
		fmt.Fprintf(b, "%s%s %s%s\n", indent, head, v.text, w.behind())
	}
}

func (w *writer) putFields(b *strings.Builder, indent string, v node) {
	for i, f := range v.fields {
		if i > 0 {
			w.comment(b, indent, 8)
		}
		w.put(b, f.key+":", indent, f.value, w.flow && w.chance(30), true)
	}
}

// item writes an item of a list.
func (w *writer) item(b *strings.Builder, indent string, v node) {
	if len(v.fields) == 0 || w.chance(8) {
		w.put(b, "-", indent, v, w.chance(30) && v.fields != nil, false)
		return
	}
	var fields strings.Builder
	in := indent + " " + w.gap
	w.putFields(&fields, in, v)
	b.WriteString(indent + "-" + w.gap + fields.String()[len(in):])
}

func hasLines(v node) bool {
	for _, i := range v.items {
		if hasLines(i) {
			return true
		}
	}
	for _, f := range v.fields {
		if hasLines(f.value) {
			return true
		}
	}
	return len(v.lines) > 0
}

// inBrackets returns a value in flow style, on one line or on several.
func inBrackets(v node, many bool, indent string) string {
	var parts []string
	for _, i := range v.items {
		parts = append(parts, inBrackets(i, false, ""))
	}
	for _, f := range v.fields {
		parts = append(parts, f.key+": "+inBrackets(f.value, false, ""))
	}
	open, end := "[", "]"
	switch {
	case v.fields != nil:
		open, end = "{", "}"
	case v.items == nil && len(v.lines) > 0:
		return fmt.Sprintf("%q", strings.Join(v.lines, "\n"))
	case v.items == nil:
		if strings.ContainsAny(v.text, ",[]{}") && !strings.ContainsAny(v.text[:1], `'"`) {
			return `"` + v.text + `"`
		}
		return v.text
	}
	if many && len(parts) > 0 {
		return open + "\n" + indent + "  " + strings.Join(parts, ",\n"+indent+"  ") + pick(rand.New(rand.NewPCG(1, uint64(len(parts)))),
			",", "") + "\n" + indent + end
	}
	return open + strings.Join(parts, ", ") + end
}

// command returns a random edit, which may be invalid.
func (w *writer) command() []string {
	some := func(from []string) []string {
		var list []string
		for range 1 + w.IntN(3) {
			list = append(list, pick(w.Rand, from...))
		}
		if w.chance(2) {
			return nil
		}
		return list
	}
	joined := func(from []string) []string {
		if list := some(from); !w.chance(5) {
			return []string{strings.Join(list, ",")}
		}
		return some(from)
	}
	var pairs []string
	for range 1 + w.IntN(2) {
		pairs = append(pairs, pick(w.Rand, keys...)+pick(w.Rand, ":", ":", ":", "")+pick(w.Rand, append(values, `"quoted"`)...))
	}
	if w.chance(4) {
		pairs = append(pairs, pick(w.Rand, ":x", "", "a", "-a:b", "ü:b"))
	}
	options := []string{"originAnnotations", "managedByLabel", "transformerAnnotations"}
	if w.chance(5) {
		options = append(options, "other")
	}
	flag := func(percent int, list ...string) []string {
		if w.chance(percent) {
			return list
		}
		return nil
	}
	patterns := append([]string{"*.yaml", "b*", "comp/*", "./*.yaml", "conf/*", "[", "", ".*.yaml", "kustomization.yaml", "base/"},
		paths[:9]...)
	verb := pick(w.Rand, "add", "set", "remove", "add", "set")
	cat := func(parts ...[]string) (all []string) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	switch verb {
	case "add":
		switch kind := pick(w.Rand, "annotation", "base", "buildmetadata", "component", "configmap", "configuration", "generator", "label",
			"patch", "resource", "secret", "transformer"); kind {
		case "annotation":
			return cat([]string{verb, kind}, flag(30, "--force"), []string{"--"}, pairs)
		case "label":
			return cat([]string{verb, kind}, flag(30, "-f"), flag(40, "--without-selector"), flag(20, "--include-templates"),
				[]string{"--"}, pairs)
		case "base":
			return cat([]string{verb, kind}, joined([]string{"base", "base2", "comp/one", "a.yaml", "none"}))
		case "buildmetadata":
			return cat([]string{verb, kind}, joined(options))
		case "patch":
			return cat([]string{verb, kind}, w.patchFlags())
		case "resource":
			return cat([]string{verb, kind}, flag(20, "--no-verify"), some(patterns))
		case "configmap", "secret":
			return cat([]string{verb, kind}, w.generatorFlags(kind), flag(98, pick(w.Rand, generated...)))
		default:
			return cat([]string{verb, kind}, some(patterns))
		}
	case "set":
		switch kind := pick(w.Rand, "annotation", "buildmetadata", "configmap", "image", "image", "label", "nameprefix", "namesuffix",
			"namespace", "replicas", "secret"); kind {
		case "annotation", "label":
			return cat([]string{verb, kind, "--"}, pairs)
		case "buildmetadata":
			return cat([]string{verb, kind}, joined(options))
		case "image":
			var args []string
			for range 1 + w.IntN(3) {
				args = append(args, pick(w.Rand, "", "", names[w.IntN(len(names))]+"=")+pick(w.Rand, names...)+
					pick(w.Rand, ":1.0", ":v3", "@sha256:def", ":v1@sha256:abc", ":*", "@*", "", ":12", "=*"))
			}
			return cat([]string{verb, kind}, flag(98, args...))
		case "replicas":
			var args []string
			for range 1 + w.IntN(3) {
				args = append(args, pick(w.Rand, names...)+pick(w.Rand, "=1", "=5", "=0", "=3", "=-1", "=5=6", "=x", "=007", "=+2"))
			}
			return cat([]string{verb, kind}, args)
		case "configmap", "secret":
			return cat([]string{verb, kind}, w.setFlags(), flag(98, pick(w.Rand, generated...)))
		default:
			return cat([]string{verb, kind, "--"}, flag(97, pick(w.Rand, values...)), flag(3, "x"))
		}
	default:
		switch kind := pick(w.Rand, "annotation", "buildmetadata", "component", "configmap", "label", "patch", "resource", "secret",
			"transformer"); kind {
		case "annotation", "label":
			return cat([]string{verb, kind}, flag(40, "-i"), joined(append(keys, "")))
		case "buildmetadata":
			return cat([]string{verb, kind}, joined(options))
		case "configmap", "secret":
			return cat([]string{verb, kind}, flag(25, "--namespace", pick(w.Rand, "prod", "default", "")), joined(generated))
		case "patch":
			return cat([]string{verb, kind}, w.patchFlags())
		default:
			return cat([]string{verb, kind}, some(patterns))
		}
	}
}

func (w *writer) patchFlags() (list []string) {
	if w.chance(55) {
		list = append(list, "--path", pick(w.Rand, "patch.yaml", "none.yaml", ""))
	}
	if w.chance(45) {
		list = append(list, "--patch", pick(w.Rand, append(textsOf, "")...))
	}
	for _, f := range [][2]string{{"group", "apps"}, {"version", "v1"}, {"name", "web"}, {"namespace", "prod"}, {"label-selector", "a=b"},
		{"annotation-selector", "c"}} {
		if w.chance(15) {
			list = append(list, "--"+f[0], f[1])
		}
	}
	if w.chance(60) {
		list = append(list, "--kind=Deployment")
	}
	return list
}

func (w *writer) generatorFlags(kind string) (list []string) {
	for range w.IntN(3) {
		list = append(list, "--from-literal", pick(w.Rand, literals...))
	}
	if w.chance(40) {
		list = append(list, "--from-file", pick(w.Rand, "conf/*.ini", "conf/x.ini", "k=conf/x.ini", "k=conf/*", "none", "a.yaml,b.yaml",
			"=conf/x.ini", "a=b=c", "conf", "../x"))
	}
	if w.chance(20) {
		list = append(list, "--from-env-file", pick(w.Rand, "app.env", "other.env", "bad.env", "none.env"))
	}
	if w.chance(25) {
		list = append(list, "--namespace", pick(w.Rand, "prod", "default", ""))
	}
	if w.chance(20) {
		list = append(list, "--disableNameSuffixHash")
	}
	if kind == "secret" && w.chance(30) {
		list = append(list, "--type", pick(w.Rand, "kubernetes.io/tls", "Opaque", ""))
	}
	if kind == "configmap" && w.chance(30) {
		list = append(list, "--behavior", pick(w.Rand, "merge", "replace", "create", "other", ""))
	}
	return list
}

func (w *writer) setFlags() (list []string) {
	for range w.IntN(3) {
		list = append(list, "--from-literal", pick(w.Rand, literals...))
	}
	if w.chance(40) {
		list = append(list, "--namespace", pick(w.Rand, "prod", "default", ""))
	}
	if w.chance(30) {
		list = append(list, "--new-namespace", pick(w.Rand, "new", "prod", ""))
	}
	return list
}
