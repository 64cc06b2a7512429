package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"slices"
	"strings"
)

// A table is the union of all documents. A definition is a single node for all releases. Other
// schemas share a node if their text is equal.
type table struct {
	enums  map[[2]string][]string
	nodes  []node
	byText map[string]int // definitions by name, other schemas by their text
	kinds  map[groupVersionKind]*kind
	names  map[string]int // names of fields; numbered when all are known
	keys   []string       // lists of map keys, as Go literals
	values []string       // enums, as Go literals
}

type node struct {
	what   string // the name of the constant
	fields []field
	elem   int // for lists and maps
	keys   int
	values int
}

type field struct {
	name     string
	node     int
	required bool
	from, to int // releases
}

type kind struct {
	node       int
	from, to   int
	namespaced bool
}

func newTable(enums map[[2]string][]string) *table {
	return &table{enums: enums, nodes: []node{{what: "Any"}}, byText: map[string]int{}, kinds: map[groupVersionKind]*kind{},
		names: map[string]int{},
		keys:  []string{"nil"}, values: []string{"nil"}}
}

func (t *table) add(docs []document) {
	last := map[string]int{} // definition.field: the newest release that has it
	for i, doc := range docs {
		for name, def := range doc.Definitions {
			for f := range def.Properties {
				last[name+"."+f] = i
			}
		}
	}
	for i, doc := range docs {
		for _, name := range slices.Sorted(maps.Keys(doc.Definitions)) {
			t.addDefinition(name, doc.Definitions[name], i, func(f string) bool {
				// Some releases require fields that a later release corrected to optional. The
				// newest release decides.
				newest := docs[last[name+"."+f]].Definitions[name]
				return slices.Contains(newest.Required, f) && !slices.Contains(accepted, name[strings.LastIndexByte(name, '.')+1:]+"."+f)
			})
		}
		t.addKinds(doc, i)
	}
}

// accepted are fields that the documents require but the API server does not. The server uses a
// default or the zero value if they are missing.
var accepted = []string{
	"RoleRef.apiGroup", "NetworkPolicySpec.podSelector", "StatefulSetSpec.serviceName", "PriorityClass.value", "LimitRangeSpec.limits",
	"HTTPHeader.value",
	"Sysctl.value", "ISCSIVolumeSource.lun", "ISCSIPersistentVolumeSource.lun", "CustomResourceDefinitionVersion.served",
	"CustomResourceDefinitionVersion.storage",
	"SleepAction.seconds", "EndpointSlice.endpoints", "ControllerRevision.revision", "ControllerRevision.data", "Event.metadata",
	"Event.eventTime",
	"CSIDriver.spec", "GroupResource.group", "CSINodeSpec.drivers",
}

func (t *table) addDefinition(name string, def *definition, release int, required func(field string) bool) {
	id := t.definition(name)
	what := wellKnown[name[strings.LastIndexByte(name, '.')+1:]]
	switch {
	case def.Ref != "":
		what = "Any" // an old name of a definition; nothing refers to it
	case what == "" && len(def.Properties) > 0:
		what = "Object"
	case what == "" && def.Type == "object", what == "" && def.Type == "":
		what = "Any"
	case what == "":
		log.Fatalf("%s: unexpected schema %+v", name, def)
	}
	t.nodes[id].what = what
	if what != "Object" {
		return
	}
	for _, f := range slices.Sorted(maps.Keys(def.Properties)) {
		p := def.Properties[f]
		p.enum = t.enums[[2]string{name, f}]
		t.addField(id, field{f, t.schema(p), slices.Contains(def.Required, f) && required(f), release, release})
	}
}

// wellKnown are definitions whose format is defined only by the code of Kubernetes.
var wellKnown = map[string]string{
	"Quantity": "Quantity", "IntOrString": "IntOrString", "Time": "Time", "MicroTime": "Time", "RawExtension": "Any", "FieldsV1": "Any",
	"Patch": "Any", "JSON": "Any",
	"JSONSchemaPropsOrArray": "Any", "JSONSchemaPropsOrBool": "Any", "JSONSchemaPropsOrStringArray": "Any",
}

// addField extends the last entry of the field if it has not changed, and otherwise adds an
// entry.
func (t *table) addField(id int, f field) {
	n := &t.nodes[id]
	for i := range n.fields {
		old := &n.fields[i]
		if old.name == f.name && old.node == f.node && old.required == f.required && old.to == f.from-1 {
			old.to = f.to
			return
		}
	}
	t.names[f.name] = 0
	n.fields = append(n.fields, f)
}

func (t *table) definition(name string) int {
	id, ok := t.byText[name]
	if !ok {
		id = len(t.nodes)
		t.byText[name] = id
		t.nodes = append(t.nodes, node{})
	}
	return id
}

// schema returns the node of a schema. It follows references to definitions.
func (t *table) schema(d *definition) int {
	if d.Ref != "" {
		return t.definition(strings.TrimPrefix(d.Ref, "#/definitions/"))
	}
	var n node
	switch d.Type + " " + d.Format {
	case "string ":
		n.what = "String"
	case "string byte":
		n.what = "Bytes"
	case "string date-time":
		n.what = "Time"
	case "string int-or-string":
		n.what = "IntOrString"
	case "integer int32":
		n.what = "Int32"
	case "integer int64", "integer ":
		n.what = "Int64"
	case "number double", "number ":
		n.what = "Number"
	case "boolean ":
		n.what = "Bool"
	case "array ":
		n.what = "List"
		d.Items.enum = d.enum
		d.enum = nil
		n.elem = t.schema(d.Items)
		n.keys = t.mapKeys(d)
	case "object ":
		n.what = "Any"
		if d.Additional != nil {
			n.what, n.elem = "Map", t.schema(d.Additional)
		}
	case " ":
		n.what = "Any"
	default:
		log.Fatalf("unexpected schema %+v", *d)
	}
	if n.what == "String" {
		n.values = number(&t.values, d.enum)
	}
	text := fmt.Sprintf("%s %d %d %d", n.what, n.elem, n.keys, n.values)
	id, ok := t.byText[text]
	if !ok {
		id = len(t.nodes)
		t.byText[text] = id
		t.nodes = append(t.nodes, n)
	}
	return id
}

func (t *table) mapKeys(d *definition) int {
	switch {
	case d.ListType == "map":
		return number(&t.keys, d.MapKeys)
	case d.ListType == "" && d.MergeKey != "" && strings.Contains(d.Strategy, "merge"):
		return number(&t.keys, []string{d.MergeKey})
	}
	return 0
}

// number returns the index of list in lists, which holds Go literals. It adds list if necessary.
func number(lists *[]string, list []string) int {
	if len(list) == 0 {
		return 0
	}
	text := fmt.Sprintf("%#v", list)
	text = strings.TrimPrefix(text, "[]string")
	i := slices.Index(*lists, text)
	if i < 0 {
		i = len(*lists)
		*lists = append(*lists, text)
	}
	return i
}

// stopped are versions that API servers do not serve by default since v1.16. The documents still
// contain them.
var stopped = []string{"extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"}

const stoppedIn = 16 - firstMinor

// addKinds adds the kinds that the API server of a release serves: those with a post operation.
func (t *table) addKinds(doc document, release int) {
	for path, ops := range doc.Paths {
		var op struct {
			Action     string           `json:"x-kubernetes-action"`
			GVK        groupVersionKind `json:"x-kubernetes-group-version-kind"`
			Parameters []struct {
				In     string
				Schema definition
			}
		}
		if json.Unmarshal(ops["post"], &op) != nil || op.Action != "post" || strings.Contains(path, "{name}/") {
			continue
		}
		body := ""
		for _, p := range op.Parameters {
			if p.In == "body" {
				body = strings.TrimPrefix(p.Schema.Ref, "#/definitions/")
			}
		}
		if release >= stoppedIn && slices.Contains(stopped, op.GVK.Group+"/"+op.GVK.Version) && op.GVK.Kind != "Ingress" {
			continue
		}
		k := t.kinds[op.GVK]
		if k == nil {
			k = &kind{from: release}
			t.kinds[op.GVK] = k
		}
		k.node, k.to = t.definition(body), release
		k.namespaced = k.namespaced || strings.Contains(path, "/namespaces/{namespace}/")
	}
}

func (t *table) source() []byte {
	t.dropUnused()
	var b bytes.Buffer
	b.WriteString("// Code generated by internal/openapigen from the OpenAPI documents of Kubernetes; DO NOT EDIT.\n\npackage openapi\n\n")
	fmt.Fprintf(&b, "// The first and the last minor version that is known.\nconst (\nOldest = %d\nNewest = %d\n)\n\n", firstMinor,
		firstMinor+len(releases)-1)
	names := slices.Sorted(maps.Keys(t.names))
	b.WriteString("// names are the names of all fields, sorted.\nvar names = [...]string{")
	for i, name := range names {
		t.names[name] = i
		separate(&b, i, 12)
		fmt.Fprintf(&b, "%q,", name)
	}
	b.WriteString("\n}\n\n// keyLists are the keys that tell the items of a list apart.\nvar keyLists = [...][]string{\n" +
		strings.Join(t.keys, ",\n") + ",\n}\n")
	b.WriteString("\n// valueLists are what strings may be.\nvar valueLists = [...][]string{\n" + strings.Join(t.values, ",\n") + ",\n}\n")
	var fields bytes.Buffer
	count := 0
	b.WriteString(
		"\n// nodes are all schemas: what, first field, number of fields, node of items or values, key list, value list.\nvar nodes = [...]node{")
	for i, n := range t.nodes {
		separate(&b, i, 10)
		fmt.Fprintf(&b, "{%s, %d, %d, %d, %d, %d},", n.what, count, len(n.fields), n.elem, n.keys, n.values)
		slices.SortStableFunc(n.fields, func(a, b field) int { return cmp.Compare(a.name, b.name) })
		for _, f := range n.fields {
			separate(&fields, count, 12)
			to := f.to
			if to == len(releases)-1 {
				to = 255
			}
			fmt.Fprintf(&fields, "{%d, %d, %d, %d, %t},", t.names[f.name], f.node, f.from, to, f.required)
			count++
		}
	}
	fmt.Fprintf(&b,
		"\n}\n\n// fields are those of all nodes: name, node, first and last release, required.\nvar fields = [...]field{%s\n}\n",
		fields.Bytes())
	b.WriteString(
		"\n// kinds are sorted by kind, group and version: node, first and last release, with a namespace.\nvar kinds = [...]kind{\n")
	for _, g := range slices.SortedFunc(maps.Keys(t.kinds), func(a, b groupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version))
	}) {
		k := t.kinds[g]
		fmt.Fprintf(&b, "{%q, %q, %q, %d, %d, %d, %t},\n", g.Kind, g.Group, g.Version, k.node, k.from, k.to, k.namespaced)
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// separate begins a new line before every n-th entry.
func separate(b *bytes.Buffer, i, n int) {
	if i%n == 0 {
		b.WriteByte('\n')
	}
}

// dropUnused removes the nodes that no kind refers to, and renumbers the others.
func (t *table) dropUnused() {
	moved := make([]int, len(t.nodes))
	kept := []node{t.nodes[0]}
	t.names = map[string]int{}
	var keep func(id int) int
	keep = func(id int) int {
		if id == 0 || moved[id] > 0 {
			return moved[id]
		}
		at := len(kept)
		moved[id] = at
		kept = append(kept, node{})
		n := t.nodes[id]
		n.fields = slices.Clone(n.fields)
		for i := range n.fields {
			t.names[n.fields[i].name] = 0
			n.fields[i].node = keep(n.fields[i].node)
		}
		n.elem = keep(n.elem)
		kept[at] = n
		return at
	}
	for _, g := range slices.SortedFunc(maps.Keys(t.kinds), func(a, b groupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version))
	}) {
		t.kinds[g].node = keep(t.kinds[g].node)
	}
	t.nodes = kept
}
