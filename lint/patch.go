package lint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Finding is a probable mistake in a part of a patch.
type Finding struct {
	Code diag.Code
	// Path leads to the part. Its steps are names of fields and indexes of items.
	Path []any
	Msg  string
	// Hints returns the lines below the message. It may be expensive.
	Hints diag.Next
}

// A Patch is a strategic merge patch.
type Patch struct {
	Value yaml.Value
	// Schema is the schema that the merge uses, and SchemaAt returns the place of the field that
	// selects it. Both are nil for the schema of Kubernetes.
	Schema   *schema.Schema
	SchemaAt func() diag.Pos
	// Known returns the index of a long list of the object before the patch that merges by the
	// schema n, nil if there is none.
	Known func(list yaml.Value, n schema.Node) Items
}

// Items is an index of a long list.
type Items interface {
	// Find returns the item that has the same merge keys as an item of the patch, None if there is
	// none.
	Find(item yaml.Value) yaml.Value
	// Misspelt returns the first name of an item that name is probably a misspelling of, "" if
	// there is none. ok is false if the index has no names.
	Misspelt(name string) (known string, ok bool)
}

// Check examines one application of the patch: before is the object of kind gvk, and after is the
// result. It reports additions that were probably meant for existing parts, and lost parts.
func (p *Patch) Check(gvk krm.GVK, before, after yaml.Value, report func(Finding)) {
	w := p.walk(gvk, report)
	w.after = after
	w.mapping(before, p.Value, place{}, nil)
}

// CheckLosses is like Check for a further object of a patch that applies to many. It only reports
// lost parts, since the additions are the same for all objects of a kind.
func (p *Patch) CheckLosses(gvk krm.GVK, before yaml.Value, report func(Finding)) {
	p.walk(gvk, report).mapping(before, p.Value, place{}, nil)
}

func (p *Patch) walk(gvk krm.GVK, report func(Finding)) *walk {
	return &walk{Patch: p, gvk: gvk, report: report}
}

// MayLose reports whether the patch of an object of kind gvk has a list that replaces the existing
// list, or a directive. For other patches, [Patch.CheckLosses] reports nothing.
func (p *Patch) MayLose(gvk krm.GVK) bool {
	return p.mayLose(p.Value, p.Schema.For(schema.Kind(gvk)))
}

func (p *Patch) mayLose(v yaml.Value, n schema.Node) bool {
	switch v.Type() {
	case yaml.Seq:
		return !n.Merges() || slices.ContainsFunc(v.Items(), func(item yaml.Value) bool { return p.mayLose(item, n.Elem()) })
	case yaml.Map:
		return slices.ContainsFunc(v.Fields(), func(f yaml.Field) bool {
			return strings.HasPrefix(f.Key, "$") || p.mayLose(f.Value, n.Field(f.Key))
		})
	}
	return false
}

// A walk compares a patch with an object. It follows kustomize's merge: see the merger in package
// builtins.
type walk struct {
	*Patch
	gvk    krm.GVK
	after  yaml.Value // None if only losses are reported
	report func(Finding)
}

// A place is the schema of a part of an object: in the schema of the merge, and in the schema of
// Kubernetes if that is not the same.
type place struct{ merge, kubernetes schema.Node }

func (p place) field(key string) (q place) {
	if p.merge.Exists() {
		q.merge = p.merge.Field(key)
	}
	if p.kubernetes.Exists() {
		q.kubernetes = p.kubernetes.Field(key)
	}
	return q
}

func (p place) elem() (q place) {
	if p.merge.Exists() {
		q.merge = p.merge.Elem()
	}
	if p.kubernetes.Exists() {
		q.kubernetes = p.kubernetes.Elem()
	}
	return q
}

// at returns p, or the schemas of the first value that is a complete object if p is unknown.
func (w *walk) at(p place, values ...yaml.Value) place {
	if p.merge.Exists() || p.kubernetes.Exists() {
		return p
	}
	for _, v := range values {
		kind, apiVersion := v.Get("kind").Text(), v.Get("apiVersion").Text()
		if kind == "" || apiVersion == "" {
			continue
		}
		gvk := schema.Kind(krm.ParseGVK(apiVersion, kind))
		if p.merge = w.Schema.For(gvk); w.Schema != nil || !p.merge.Exists() {
			p.kubernetes = schema.Kubernetes(gvk)
		}
		if p.merge.Exists() || p.kubernetes.Exists() {
			return p
		}
	}
	return p
}

// A step is the last element of a path in a patch: a field or, if field is empty, an item. A
// linked list is enough because only findings need the complete path.
type step struct {
	up    *step
	field string
	item  int
}

// path returns the path in the form used by messages and files.
func (s *step) path() []any {
	if s == nil {
		return nil
	}
	if s.field == "" {
		return append(s.up.path(), s.item)
	}
	return append(s.up.path(), s.field)
}

// pointer returns the path as a JSON pointer into the object, "" if it has items, which the object
// may have at other indexes.
func (s *step) pointer() string {
	if s == nil {
		return ""
	}
	up := s.up.pointer()
	if s.field == "" || s.up != nil && up == "" {
		return ""
	}
	return up + "/" + pointerToken(s.field)
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

func pointerToken(field string) string { return escapePointer.Replace(field) }

const directiveKey = "$patch"

// directive returns the directive of a mapping, "" if there is none or if it is invalid.
func directive(v yaml.Value) string {
	switch d := v.Get(directiveKey).Text(); d {
	case "delete", "replace", "merge":
		return d
	}
	return ""
}

// listDirective returns the directive of a list, which is an item {$patch: ...}.
func listDirective(v yaml.Value) string {
	for _, item := range v.Items() {
		if item.Get(directiveKey).Exists() {
			if item.Len() > 1 {
				break
			}
			return directive(item)
		}
	}
	return ""
}

// isKubectlDirective reports whether key is a directive that kubectl has and kustomize lacks.
func isKubectlDirective(key string) bool {
	return key == "$retainKeys" || strings.HasPrefix(key, "$setElementOrder/") || strings.HasPrefix(key, "$deleteFromPrimitiveList/")
}

// mapping compares two mappings.
func (w *walk) mapping(before, patch yaml.Value, p place, at *step) {
	p = w.at(p, before, patch)
	switch directive(patch) {
	case "delete":
		return
	case "replace":
		before = yaml.Value{}
	}
	inBefore := before.Finder(patch.Len())
	for _, f := range patch.Fields() {
		if f.Key == directiveKey {
			continue
		}
		if isKubectlDirective(f.Key) {
			w.kubectlDirective(f.Key, &step{up: at, field: f.Key})
			continue
		}
		q := p.field(f.Key)
		unknown := p.merge.Exists() && !q.merge.Exists()
		if f.Value.IsScalar() && !unknown {
			continue // without a search in before, which may be long
		}
		old := inBefore.Get(f.Key)
		if f.Value.IsScalar() && old.Exists() {
			continue
		}
		if unknown {
			w.unknown(f, old, p, &step{up: at, field: f.Key})
		}
		switch {
		case f.Value.Type() == yaml.Map:
			if old.Type() != yaml.Map {
				old = yaml.Value{}
			}
			w.mapping(old, f.Value, q, &step{up: at, field: f.Key})
		case f.Value.Type() == yaml.Seq:
			w.list(old, f.Value, q, &step{up: at, field: f.Key})
		}
	}
}

// list compares two lists. before may be None.
func (w *walk) list(before, patch yaml.Value, p place, at *step) {
	if !p.merge.Merges() {
		w.replaced(before, patch, p, at)
		return
	}
	switch listDirective(patch) {
	case "delete":
		return
	case "replace":
		before = yaml.Value{}
	}
	keys := p.merge.MergeKeys()
	if len(keys) == 0 {
		return
	}
	existing := list{Value: before, keys: keys}
	if before.Len() > 16 {
		if w.Known != nil {
			existing.known = w.Known(before, p.merge)
		}
		if existing.known == nil {
			existing.index = indexItems(before.Items(), keys)
		}
	}
	for i, item := range patch.Items() {
		if item.Type() != yaml.Map {
			continue
		}
		next := &step{up: at, item: i}
		old := existing.find(item)
		if !old.Exists() {
			w.added(item, existing, patch, p, next)
		}
		w.mounted(item, next)
		w.mapping(old, item, p.elem(), next)
	}
}

// A list is a list of the object before the patch.
type list struct {
	yaml.Value
	keys []string
	// A long list has one of these indexes.
	known Items
	index map[string]int
}

// find returns the item with the merge keys of an item of the patch, None if there is none.
func (l *list) find(item yaml.Value) yaml.Value {
	if l.known != nil {
		return l.known.Find(item)
	}
	id := itemID(item, l.keys)
	if id == "" {
		return yaml.Value{}
	}
	i, found := l.index[id]
	if l.index == nil {
		i = slices.IndexFunc(l.Items(), func(v yaml.Value) bool { return itemID(v, l.keys) == id })
		found = i >= 0
	}
	if !found {
		return yaml.Value{}
	}
	return l.Items()[i]
}

// misspelt returns the name in the list that name is probably a misspelling of, "" if there is
// none.
func (l *list) misspelt(name string) string {
	if l.known != nil {
		if near, ok := l.known.Misspelt(name); ok {
			return near
		}
	}
	return misspelt(name, itemNames(l.Value))
}

// indexItems returns the indexes of the items by the values of keys.
func indexItems(items []yaml.Value, keys []string) map[string]int {
	if len(items) == 0 {
		return nil
	}
	index := make(map[string]int, len(items))
	for i, item := range items {
		if id := itemID(item, keys); id != "" {
			index[id] = i
		}
	}
	return index
}

// itemID returns the values of keys in an item, "" if it has none.
func itemID(item yaml.Value, keys []string) string {
	id := item.Get(keys[0]).Text()
	for _, key := range keys[1:] {
		if part := item.Get(key).Text(); part != "" {
			id += "\x00" + part
		}
	}
	return id
}

// replaced examines a list that replaces the existing one.
func (w *walk) replaced(before, patch yaml.Value, p place, at *step) {
	if !slices.ContainsFunc(patch.Items(), func(v yaml.Value) bool { return v.Len() > 0 }) && !p.kubernetes.Merges() &&
		!slices.ContainsFunc(before.Items(), func(v yaml.Value) bool { return v.Len() > 0 }) {
		return // scalars
	}
	if hasDirective(patch) {
		w.directiveAsData(before, patch, p, at, findDirective(patch, at))
		return
	}
	if !p.mayMerge() || !p.kubernetes.Merges() && keeps(before, patch) {
		return
	}
	lost := compareLists(before, patch, p.kubernetes.MergeKeys())
	if p.kubernetes.Merges() && lost.empty() {
		lost = compareScalars(before, patch)
	}
	if lost.empty() {
		return
	}
	code := diag.LostItems
	if w.hides(p) {
		code = diag.HiddenSchema
	}
	w.report(Finding{code, at.path(), fmt.Sprintf("the patch replaces the list, so %s: %s", lost, w.reason(p)), func() []string {
		return append(w.schemaHints(code), jsonPatchHint(before, patch, lost, at)...)
	}})
}

// mayMerge reports whether the items of a list that a patch replaces are possibly meant to be
// merged. They are not in lists that are atomic in the API.
func (p place) mayMerge() bool {
	if p.merge.Exists() {
		return p.kubernetes.Merges() || p.merge.ListType() == "map"
	}
	return !p.kubernetes.Exists() || p.kubernetes.Merges()
}

// hides reports whether a custom schema hides a rule of Kubernetes for the list.
func (w *walk) hides(p place) bool {
	return w.Schema != nil && p.kubernetes.Merges() && (*schema.Schema)(nil).For(schema.Kind(w.gvk)).Exists()
}

// reason explains why a list is not merged.
func (w *walk) reason(p place) string {
	known := w.Schema.For(schema.Kind(w.gvk)).Exists()
	where := ""
	if w.Schema != nil && w.SchemaAt != nil {
		where = w.SchemaAt().String()
	}
	switch {
	case p.merge.Exists():
		return fmt.Sprintf("the schema of %s%s has no patch strategy for it", w.gvk.Kind, inFile(where))
	case known:
		return fmt.Sprintf("the schema of %s%s does not have this field", w.gvk.Kind, inFile(where))
	case where != "":
		return fmt.Sprintf("the schema in %s applies to the whole build and lacks %s", where, w.gvk.Kind)
	}
	return fmt.Sprintf("no schema for %s says how its lists merge", w.gvk.Kind)
}

func inFile(where string) string {
	if where == "" {
		return ""
	}
	return " in " + where
}

// schemaHints explains how to give the kind a schema.
func (w *walk) schemaHints(code diag.Code) []string {
	if code == diag.HiddenSchema {
		return []string{"write a schema that includes the kinds of Kubernetes: krmflow schema openapi CRD.yaml -o openapi.json"}
	}
	return []string{fmt.Sprintf("write a schema from the CRD of %s with krmflow schema openapi CRD.yaml -o openapi.json, "+
		"and set openapi: {path: openapi.json}", w.gvk.Kind)}
}

// jsonPatchHint shows an operation of a JSON patch that changes only what the patch contains.
func jsonPatchHint(before, patch yaml.Value, lost losses, at *step) []string {
	list := at.pointer()
	if list == "" || lost.patch == nil {
		return []string{"or write a JSON patch"}
	}
	for _, name := range slices.SortedFunc(maps.Keys(lost.patch), func(a, b string) int { return lost.patch[a] - lost.patch[b] }) {
		i, ok := lost.before[name]
		if !ok {
			return []string{fmt.Sprintf("or write a JSON patch, for example {op: add, path: %s/-, value: ...}", list)}
		}
		old := before.Items()[i]
		for _, f := range patch.Items()[lost.patch[name]].Fields() {
			if !old.Get(f.Key).Equal(f.Value) {
				return []string{fmt.Sprintf("or write a JSON patch, for example {op: add, path: %s/%d/%s, value: ...}", list, i,
					pointerToken(f.Key))}
			}
		}
	}
	return []string{"or write a JSON patch"}
}

// hasDirective reports whether findDirective finds a directive.
func hasDirective(v yaml.Value) bool {
	switch v.Type() {
	case yaml.Seq:
		return slices.ContainsFunc(v.Items(), hasDirective)
	case yaml.Map:
		return slices.ContainsFunc(v.Fields(), func(f yaml.Field) bool {
			return f.Key == directiveKey && directive(v) != "" || isKubectlDirective(f.Key) || hasDirective(f.Value)
		})
	}
	return false
}

// findDirective returns the path to the first directive of kustomize or kubectl in a value that is
// not merged, nil if there is none. at is the path to the value.
func findDirective(v yaml.Value, at *step) *step {
	switch v.Type() {
	case yaml.Seq:
		for i, item := range v.Items() {
			if s := findDirective(item, &step{up: at, item: i}); s != nil {
				return s
			}
		}
	case yaml.Map:
		for _, f := range v.Fields() {
			next := &step{up: at, field: f.Key}
			if f.Key == directiveKey && directive(v) != "" || isKubectlDirective(f.Key) {
				return next
			}
			if s := findDirective(f.Value, next); s != nil {
				return s
			}
		}
	}
	return nil
}

// directiveAsData reports a directive in a list that replaces the existing one. list is the path to
// the list and at the path to the directive.
func (w *walk) directiveAsData(before, patch yaml.Value, p place, list, at *step) {
	lost := compareLists(before, patch, p.kubernetes.MergeKeys())
	loss := ""
	if !lost.empty() {
		loss = fmt.Sprintf(", and the patch replaces the list, so %s", lost)
	}
	name := directiveKey
	if at.field != directiveKey {
		name = at.field
	}
	var item yaml.Value // of the list, with the directive in it
	inItem := at
	for inItem.up != list {
		inItem = inItem.up
	}
	item = patch.Items()[inItem.item]
	d := directive(item)
	if d != "" && at.up == inItem {
		name += ": " + d
	}
	reason := fmt.Sprintf("kustomize does not merge this list of %s", w.gvk.Kind)
	if !p.merge.Exists() {
		reason = w.reason(p)
	}
	code := diag.LostItems
	if w.hides(p) {
		code = diag.HiddenSchema
	}
	w.report(Finding{diag.DirectiveAsData, at.path(), fmt.Sprintf("%s ends up in the output as data%s: %s", name, loss, reason),
		func() []string {
			pointer := list.pointer()
			var hints []string
			if p.mayMerge() {
				hints = w.schemaHints(code)
			}
			_, deleted := itemName(item, nameFields)
			i, ok := lost.before[deleted]
			switch {
			case d == "delete" && ok && pointer != "":
				return append(hints, fmt.Sprintf("or write a JSON patch: {op: remove, path: %s/%d}", pointer, i))
			case item.Len() == 1 && d == "replace":
				return append(hints, "or remove the directive: the patch replaces the list in any case")
			}
			return append(hints, "or write a JSON patch")
		}})
}

// kubectlDirective reports a directive that kustomize does not have.
func (w *walk) kubectlDirective(key string, at *step) {
	w.report(Finding{diag.DirectiveAsData, at.path(),
		fmt.Sprintf("%s ends up in the output as data: kustomize does not have this directive of kubectl", key), func() []string {
			switch {
			case key == "$retainKeys":
				return []string{"remove it, and set each field to remove to null or use $patch: replace"}
			case strings.HasPrefix(key, "$deleteFrom"):
				return []string{"remove the items with a JSON patch"}
			}
			return []string{"remove it: items of the patch come first, and $patch: replace sets the order of the whole list"}
		}})
}

// unknown reports a field that the schema p lacks and whose name is similar to that of a known
// field.
func (w *walk) unknown(f yaml.Field, old yaml.Value, p place, at *step) {
	if !w.after.Exists() || old.Exists() || f.Value.IsNull() || strings.HasPrefix(f.Key, "$") {
		return
	}
	names := p.merge.Names()
	if near := diag.Nearest(f.Key, names); near != "" && diag.Near(f.Key, near, max(1, min(2, len(f.Key)/4))) {
		w.report(Finding{diag.PatchTypes, at.path(), fmt.Sprintf("the patch adds a field %q that Kubernetes does not know", f.Key),
			func() []string { return diag.DidYouMean(f.Key, names) }})
	}
}

func itemNames(list yaml.Value) (names []string) {
	for _, item := range list.Items() {
		names = append(names, item.Get("name").Text())
	}
	return names
}

// losses are the parts of a list that its replacement lacks.
type losses struct {
	items  []string // lost items
	fields []string // lost fields of items with the same name
	// before and patch are the indexes of the items by name, nil if the items are scalars or one of
	// them has no name.
	before, patch map[string]int
}

func (l losses) empty() bool { return len(l.items) == 0 && len(l.fields) == 0 }

func (l losses) String() string {
	var parts []string
	for _, p := range []struct {
		noun  string
		names []string
	}{{"item", l.items}, {"field", l.fields}} {
		switch len(p.names) {
		case 0:
		case 1:
			parts = append(parts, p.noun+" "+p.names[0])
		default:
			parts = append(parts, p.noun+"s "+diag.Some(p.names))
		}
	}
	verb := " are lost"
	if len(l.items)+len(l.fields) == 1 {
		verb = " is lost"
	}
	return strings.Join(parts, " and ") + verb
}

// nameFields are the fields that identify the items of most lists, in the order of preference.
var nameFields = [][]string{{"name"}, {"metadata", "name"}, {"port", "name"}, {"containerPort"}, {"mountPath"}, {"devicePath"},
	{"secretKey"}, {"alert"}, {"record"}, {"key"}, {"id"}}

// itemName returns the first of fields that is in item and its value, "" if there is none.
func itemName(item yaml.Value, fields [][]string) (field, name string) {
	for _, f := range fields {
		if v := item.At(f...); v.IsScalar() && v.Text() != "" {
			return strings.Join(f, "."), v.Text()
		}
	}
	return "", ""
}

// named returns the names of items, nil if one has no name or two have the same.
func named(items []yaml.Value, fields [][]string) map[string]int {
	names := make(map[string]int, len(items))
	for i, item := range items {
		_, name := itemName(item, fields)
		if name == "" && listOnly(item) != "" {
			continue
		}
		if _, twice := names[name]; twice || name == "" {
			return nil
		}
		names[name] = i
	}
	return names
}

// listOnly returns the directive of an item that has no other field.
func listOnly(item yaml.Value) string {
	if item.Len() == 1 {
		return directive(item)
	}
	return ""
}

// compareLists returns the losses if patch replaces before. keys are the fields that identify items
// in the API, none if unknown.
func compareLists(before, patch yaml.Value, keys []string) (l losses) {
	fields := nameFields
	if len(keys) > 0 {
		fields = [][]string{keys[:1]}
	}
	l.before, l.patch = named(before.Items(), fields), named(patch.Items(), fields)
	if l.before == nil || l.patch == nil {
		return losses{}
	}
	for _, old := range before.Items() {
		field, name := itemName(old, fields)
		if i, ok := l.patch[name]; ok {
			if item := patch.Items()[i]; directive(item) == "" {
				l.compareFields(old, item, name)
			}
			continue
		}
		if field != "name" && name != "" {
			name = field + " " + name
		}
		l.items = append(l.items, name)
	}
	return l
}

// keeps reports whether short lists or mappings have no losses if patch replaces before. It makes
// no message, so it is faster than compareLists: most patches that replace a list repeat all of it.
// If it reports false, there are not necessarily losses.
func keeps(before, patch yaml.Value) bool {
	switch {
	case before.Type() != patch.Type():
		return !before.IsEmpty() && patch.Exists() // a field that remains is not examined
	case before.Type() == yaml.Map:
		return !slices.ContainsFunc(before.Fields(), func(f yaml.Field) bool { return !keeps(f.Value, patch.Get(f.Key)) })
	case before.Type() == yaml.Seq && before.Len() > 16:
		return false
	}
	for i, old := range before.Items() {
		_, name := itemName(old, nameFields)
		same := func(v yaml.Value) bool { _, n := itemName(v, nameFields); return n == name }
		j := slices.IndexFunc(patch.Items(), same)
		if name == "" || j < 0 || slices.ContainsFunc(before.Items()[:i], same) || !keeps(old, patch.Items()[j]) {
			return false
		}
	}
	return true
}

// compareFields adds the fields of before that patch lacks.
func (l *losses) compareFields(before, patch yaml.Value, path string) {
	for _, f := range before.Fields() {
		v, at := patch.Get(f.Key), path+"."+fieldName(f.Key)
		switch {
		case !v.Exists():
			l.fields = append(l.fields, at)
		case v.Type() == yaml.Map && f.Value.Type() == yaml.Map:
			l.compareFields(f.Value, v, at)
		case v.Type() == yaml.Seq && f.Value.Type() == yaml.Seq:
			inner := compareLists(f.Value, v, nil)
			for _, item := range inner.items {
				l.fields = append(l.fields, at+"["+item+"]")
			}
			for _, field := range inner.fields {
				l.fields = append(l.fields, at+"."+field)
			}
		}
	}
}

func fieldName(key string) string {
	if strings.ContainsAny(key, ".[] ") {
		return strconv.Quote(key)
	}
	return key
}

// compareScalars returns the lost items if a list of scalars is replaced.
func compareScalars(before, patch yaml.Value) (l losses) {
	kept := make(map[string]bool, patch.Len())
	for _, item := range patch.Items() {
		kept[item.Text()] = true
	}
	for _, old := range before.Items() {
		if old.IsScalar() && !kept[old.Text()] {
			l.items = append(l.items, old.Text())
		}
	}
	return l
}
