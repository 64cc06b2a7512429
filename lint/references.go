package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// references reports fields that still hold an old name of an object in list.
//
// kustomize updates only the fields that its configuration lists, and only if both objects are in
// the same namespace. A string is a leftover if it equals an old name of a renamed object, no
// object of that kind has the name now, and the field's name says that it refers to that kind.
func references(list *krm.List, named func(name string, most int32) []int32, warn diag.Warn) {
	s := search{list: list, named: named, warn: warn}
	renamed := false
	for _, r := range list.All() {
		if renamed = len(r.Prev) > 0; renamed {
			break
		}
	}
	if !renamed {
		return
	}
	s.kinds = map[string]bool{"serviceaccount": true, "virtualservice": true}
	for _, r := range list.All() {
		s.kinds[r.ID().Kind] = true
	}
	for kind := range s.kinds {
		s.kinds[strings.ToLower(kind)] = true
	}
	for _, r := range list.All() {
		if r.IsLocal() || r.ID().Kind == "CustomResourceDefinition" {
			continue
		}
		s.referrer = r
		s.object(r.Value())
		if s.found >= maxFindings {
			warn(diag.LeftReference, "more references to old names may exist: only the first %d are reported", s.found)
			return
		}
	}
}

// maxTargets is the number of objects that had one name, above which a text with this name says
// too little about the object that it means.
const maxTargets = 32

// A target is an object that was renamed.
type target struct {
	*krm.Resource
	kind string // in lower case
}

// targets returns the objects that had a name and have another one now. It returns none if there
// are more than [maxTargets]. The slice is valid until the next call.
func (s *search) targets(name string) []target {
	found := s.named(name, maxTargets)
	s.scratch = s.scratch[:0]
	for _, i := range found {
		if r := s.list.At(int(i)); r.ID().Name != name && name != "" {
			s.scratch = append(s.scratch, target{r, strings.ToLower(r.ID().Kind)})
		}
	}
	return s.scratch
}

// currentNames returns the kinds and names of the objects in list.
func currentNames(list *krm.List) map[[2]string]bool {
	names := make(map[[2]string]bool, list.Len())
	for _, r := range list.All() {
		names[[2]string{r.ID().Kind, r.ID().Name}] = true
	}
	return names
}

// A search looks for old names in one object after the other.
type search struct {
	named    func(name string, most int32) []int32
	scratch  []target
	hosts    map[string]target // Services by an old host name: see hostsIn; nil until needed
	list     *krm.List
	kinds    map[string]bool    // the kinds of the root, also in lower case
	current  map[[2]string]bool // see currentNames; nil until it is needed
	warn     diag.Warn
	found    int
	referrer *krm.Resource
	path     []hop
}

// A hop is a field, or an item of a list if field is empty. A slice of any would allocate each
// name.
type hop struct {
	field string
	item  int
}

// pathOf returns a path in the form used by messages.
func pathOf(path []hop) []any {
	all := make([]any, len(path))
	for i, s := range path {
		if all[i] = s.field; s.field == "" {
			all[i] = s.item
		}
	}
	return all
}

// object searches an object. Its name, its labels and the data of a Secret are not references, and
// the data of a ConfigMap can only have host names.
func (s *search) object(v yaml.Value) {
	kind := s.referrer.ID().Kind
	for _, f := range v.Fields() {
		switch f.Key {
		case "apiVersion", "kind", "status", "stringData", "binaryData":
			continue
		case "data":
			if kind == "Secret" {
				continue
			}
			if kind == "ConfigMap" {
				for _, x := range f.Value.Fields() {
					s.path = append(s.path[:0], hop{f.Key, 0}, hop{x.Key, 0})
					s.host(x.Value)
				}
				continue
			}
		case "metadata":
			s.annotations(f.Value.Get("annotations"))
			continue
		}
		s.path = append(s.path[:0], hop{f.Key, 0})
		s.value(f.Value, v)
	}
}

// value searches a value in the mapping parent.
func (s *search) value(v, parent yaml.Value) {
	switch v.Type() {
	case yaml.Map:
		for _, f := range v.Fields() {
			switch {
			case isLabels(f.Key) && f.Value.Type() == yaml.Map:
				continue
			case f.Key == "metadata" && f.Value.Type() == yaml.Map:
				continue // of a template
			case f.Key == "valuesObject", f.Key == "values" && strings.HasPrefix(s.referrer.ID().Kind, "Helm"):
				continue // of a chart, which gives names a meaning of its own
			}
			s.path = append(s.path, hop{f.Key, 0})
			s.value(f.Value, v)
			s.path = s.path[:len(s.path)-1]
		}
	case yaml.Seq:
		for i, item := range v.Items() {
			s.path = append(s.path, hop{"", i})
			s.value(item, parent)
			s.path = s.path[:len(s.path)-1]
		}
	case yaml.String:
		if len(s.path) > 1 {
			s.host(v)
			s.text(v.Text(), parent)
		}
	}
}

// isLabels reports whether the mapping in a field consists of labels or of free texts.
func isLabels(key string) bool {
	switch key {
	case "labels", "matchLabels", "selector", "nodeSelector", "annotations", "commonLabels", "commonAnnotations":
		return true
	}
	return false
}

// text reports a text in the mapping parent if it is a leftover.
func (s *search) text(text string, parent yaml.Value) {
	name, namespace, group := text, parent.Get("namespace"), s.referrer.ID().Group
	before, after, inText := strings.Cut(text, "/")
	if inText = inText && group == istioGroup; inText { // NAMESPACE/NAME of a Gateway
		name, namespace = after, yaml.Str(before)
	}
	targets := s.targets(name)
	if len(targets) == 0 {
		return
	}
	names, inList := lastFields(s.path)
	for _, t := range targets {
		if t.Resource == s.referrer || inText && t.kind != "gateway" || !s.reaches(t, namespace) {
			continue
		}
		if s.refersTo(names, inList, parent, t) || isHost(group, names[0], t) {
			s.report(t, name, text, inText || names[0] == "name" && namespace.Text() != "")
			return
		}
	}
}

// host reports a text that contains the old host name of a Service.
func (s *search) host(v yaml.Value) {
	if v.Type() != yaml.String {
		return
	}
	const domain = ".svc"
	text := v.Text()
	for end := 0; ; end += len(domain) {
		n := strings.Index(text[end:], domain)
		if n < 0 {
			return
		}
		end += n
		if after := text[end+len(domain):]; after != "" && isLabel(after[0]) {
			continue
		}
		start := end
		for start > 0 && (isLabel(text[start-1]) || text[start-1] == '.') {
			start--
		}
		labels := strings.Split(text[start:end], ".")
		if len(labels) < 2 {
			continue
		}
		old := strings.Join(labels[len(labels)-2:], ".")
		if s.hosts == nil {
			s.hosts = hostsIn(s.list)
		}
		if t, ok := s.hosts[old]; ok {
			s.found++
			id := t.ID()
			at(s.referrer, s.warn, diag.LeftReference, pathOf(s.path),
				fmt.Sprintf("has the host name %s.svc of Service %s, which became %s in namespace %s", old, t.OrigID().Name, id.Name,
					id.EffectiveNamespace()),
				fmt.Sprintf("kustomize does not update a name within a text: set it by replacements, from Service %s", id.Name))
			return
		}
	}
}

// isLabel reports whether c can be a part of a host name's label.
func isLabel(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-'
}

// hostsIn returns the Services with a new name or namespace, by each of their old names with the
// old namespace: NAME.NAMESPACE.
func hostsIn(list *krm.List) map[string]target {
	hosts := map[string]target{}
	for _, r := range list.All() {
		if id := r.ID(); id.Kind != "Service" || id.Group != "" {
			continue
		}
		for _, prev := range r.Prev {
			if prev.Name == r.ID().Name && prev.EffectiveNamespace() == r.ID().EffectiveNamespace() {
				continue
			}
			hosts[prev.Name+"."+prev.EffectiveNamespace()] = target{r, "service"}
		}
	}
	for _, r := range list.All() {
		if r.ID().Kind == "Service" {
			delete(hosts, r.ID().Name+"."+r.ID().EffectiveNamespace())
		}
	}
	return hosts
}

// annotations reports annotations that hold an old name, alone or after a namespace.
func (s *search) annotations(v yaml.Value) {
	for _, f := range v.Fields() {
		if f.Value.Type() != yaml.String {
			continue
		}
		name, namespace := f.Value.Text(), yaml.Value{}
		if before, after, ok := strings.Cut(name, "/"); ok {
			name, namespace = after, yaml.Str(before)
		}
		for _, t := range s.targets(name) {
			if annotates(f.Key, t.kind) && s.reaches(t, namespace) {
				s.path = append(s.path[:0], hop{"metadata", 0}, hop{"annotations", 0}, hop{f.Key, 0})
				s.report(t, name, f.Value.Text(), namespace.Exists())
				break
			}
		}
	}
}

// reaches reports whether a reference of the referrer, with a namespace in a field of its own or
// None, can mean t.
func (s *search) reaches(t target, namespace yaml.Value) bool {
	id, from := t.ID(), s.referrer.ID()
	if ns := namespace.Text(); ns != "" && !id.Cluster {
		return id.Namespace == "" || id.Namespace == ns ||
			slices.ContainsFunc(t.Prev, func(p krm.ID) bool { return p.Namespace == ns })
	}
	return id.Cluster || from.Cluster || id.Namespace == "" || from.Namespace == "" || id.Namespace == from.Namespace
}

// report warns about the field at the current path. all is the whole text if the name is a part of
// it, and qualified is true if the reference has a namespace of its own.
func (s *search) report(t target, name, all string, qualified bool) {
	if s.current == nil {
		s.current = currentNames(s.list)
	}
	if s.current[[2]string{t.ID().Kind, name}] {
		return
	}
	s.found++
	from, id := s.referrer.ID(), t.ID()
	text := fmt.Sprintf("refers to %s %s, which became %s", id.Kind, name, id.Name)
	var hints []string
	switch {
	case all != "" && all != name:
		hints = append(hints, fmt.Sprintf("kustomize does not update a name within a text: set it by replacements, from %s %s", id.Kind,
			name))
	case qualified && !from.Cluster && id.EffectiveNamespace() != from.EffectiveNamespace():
		hints = append(hints, fmt.Sprintf("kustomize updates a reference only within a namespace: set it by replacements, from %s %s",
			id.Kind, id.Name))
	case qualified:
		hints = append(hints, "add this entry to a file that the field configurations lists:")
		hints = append(hints, nameReference(id, from.Kind, pathOf(s.path[:len(s.path)-1]))...)
	case !id.Cluster && !from.Cluster && id.Namespace == "" && from.Namespace != "":
		text += fmt.Sprintf(" without a namespace; the %s is in %s", from.Kind, from.Namespace)
		hints = append(hints, fmt.Sprintf("kustomize updates a reference only within a namespace: give the %s the namespace %s%s",
			id.Kind, from.Namespace, s.made(t)))
	case !id.Cluster && !from.Cluster && from.Namespace == "" && id.Namespace != "":
		text += fmt.Sprintf(" in namespace %s; the %s has no namespace", id.Namespace, from.Kind)
		hints = append(hints, fmt.Sprintf("kustomize updates a reference only within a namespace: give the %s the namespace %s",
			from.Kind, id.Namespace))
	default:
		hints = append(hints, "add this entry to a file that the field configurations lists:")
		hints = append(hints, nameReference(id, from.Kind, pathOf(s.path))...)
	}
	at(s.referrer, s.warn, diag.LeftReference, pathOf(s.path), text, hints...)
}

// made returns the place where t is made, as the end of a hint.
func (s *search) made(t target) string {
	if t.Pos.File == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", t.Start())
}

// nameReference returns the lines of an entry that makes kustomize update the field at path of
// objects of kind from.
func nameReference(to krm.ID, from string, path []any) []string {
	var keys []string
	for _, step := range path {
		if key, ok := step.(string); ok {
			keys = append(keys, strings.ReplaceAll(key, "/", `\/`))
		}
	}
	lines := []string{"nameReference:", "- kind: " + to.Kind}
	if to.Group != "" {
		lines = append(lines, "  group: "+to.Group)
	}
	return append(lines, "  fieldSpecs:", "  - kind: "+from, "    path: "+strings.Join(keys, "/"))
}
