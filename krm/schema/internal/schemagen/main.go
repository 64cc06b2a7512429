// Command schemagen writes krm/schema/table.go: the parts that strategic merge and identities need
// from the OpenAPI documents built into kustomize. Reading those documents at run time would take
// 40 ms. The table takes no time.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("schemagen: ")
	t := newTable()
	for _, k := range kinds() {
		t.addKind(k)
	}
	defs := openapi.Schema().Definitions
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		def := defs[name]
		t.definitions[name] = t.add(&openapi.ResourceSchema{Schema: &def})
	}
	src, err := format.Source(t.source())
	if err == nil {
		err = os.WriteFile("table.go", src, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// kinds returns all kinds that kyaml knows, sorted: those with a definition, and those that occur
// only in its list of scopes. That list is not exported, so kinds reads it from the source of
// kyaml.
func kinds() []yaml.TypeMeta {
	seen := map[yaml.TypeMeta]bool{}
	for _, def := range openapi.Schema().Definitions {
		gvks, _ := def.Extensions["x-kubernetes-group-version-kind"].([]any)
		for _, x := range gvks {
			gvk := x.(map[string]any)
			apiVersion := gvk["version"].(string)
			if group, _ := gvk["group"].(string); group != "" {
				apiVersion = group + "/" + apiVersion
			}
			seen[yaml.TypeMeta{APIVersion: apiVersion, Kind: gvk["kind"].(string)}] = true
		}
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kustomize/kyaml").Output()
	if err != nil {
		log.Fatal(err)
	}
	src, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "openapi", "openapi.go"))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`{APIVersion: "(.*?)", Kind: "(.*?)"}: +(?:true|false)`).FindAllSubmatch(src, -1) {
		seen[yaml.TypeMeta{APIVersion: string(m[1]), Kind: string(m[2])}] = true
	}
	var all []yaml.TypeMeta
	for k := range seen {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b yaml.TypeMeta) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		return strings.Compare(splitVersion(a), splitVersion(b))
	})
	return all
}

// splitVersion returns group and version in the form by which the table is sorted.
func splitVersion(t yaml.TypeMeta) string {
	group, version, ok := strings.Cut(t.APIVersion, "/")
	if !ok {
		group, version = "", t.APIVersion
	}
	return group + "\x00" + version
}

// A table is the schema as a graph of numbered nodes. Equivalent nodes are shared. Node 0 means
// that there is none.
type table struct {
	names  map[string]int // property names, numbered once all are known
	nodes  []node
	byText map[string]int // nodes by the relevant part of their document
	rules  []string
	kinds  []string
	// definitions are the numbers of the named definitions, to which a custom schema may refer.
	definitions map[string]int
}

type node struct {
	props       map[string]child
	other, elem child // additional properties, items
	rule        int
}

// A child is a node with the name of its definition, "" if it is written inline.
type child struct {
	node       int
	definition string
}

func newTable() *table {
	return &table{definitions: map[string]int{}, names: map[string]int{}, nodes: make([]node, 1), byText: map[string]int{},
		rules: []string{`{"", nil}`}}
}

func (t *table) addKind(k yaml.TypeMeta) {
	root := 0
	if rs := openapi.SchemaForResourceType(k); rs != nil {
		root = t.add(rs)
	}
	scope := "scopeUnknown"
	if namespaced, found := openapi.IsNamespaceScoped(k); found && namespaced {
		scope = "scopeNamespace"
	} else if found {
		scope = "scopeCluster"
	}
	group, version, _ := strings.Cut(splitVersion(k), "\x00")
	t.kinds = append(t.kinds, fmt.Sprintf("{%q, %q, %q, %d, %s},\n", k.Kind, group, version, root, scope))
}

// add returns the number of the node for rs. The number is assigned before the content is added,
// because definitions may be recursive.
func (t *table) add(rs *openapi.ResourceSchema) int {
	text := essence(rs)
	if id, ok := t.byText[text]; ok {
		return id
	}
	id := len(t.nodes)
	t.byText[text] = id
	t.nodes = append(t.nodes, node{})
	n := node{props: map[string]child{}, rule: t.rule(rs)}
	for _, name := range slices.Sorted(maps.Keys(rs.Schema.Properties)) {
		if f := rs.Field(name); f != nil {
			t.names[name] = 0
			prop := rs.Schema.Properties[name]
			n.props[name] = child{t.add(f), definition(&prop)}
		}
	}
	if f := rs.Field("\x00"); f != nil {
		n.other = child{t.add(f), definition(rs.Schema.AdditionalProperties.Schema)}
	}
	if e := rs.Elements(); e != nil {
		n.elem = child{t.add(e), definition(rs.Schema.Items.Schema)}
	}
	t.nodes[id] = n
	return id
}

// definition returns the name of the definition that s refers to, "" if s is not a reference.
func definition(s *spec.Schema) string {
	return strings.TrimPrefix(s.Ref.String(), "#/definitions/")
}

// essence returns the document of rs without the parts for human readers and the parts that the
// table does not need.
func essence(rs *openapi.ResourceSchema) string {
	s := *rs.Schema
	s.Title, s.Description, s.Format, s.Default, s.Required, s.Enum = "", "", "", nil, nil, nil
	if s.Items == nil {
		s.Type = nil
	}
	text, err := s.MarshalJSON()
	if err != nil {
		log.Fatal(err)
	}
	return string(text)
}

func (t *table) rule(rs *openapi.ResourceSchema) int {
	strategy, keys := rs.PatchStrategyAndKeyList()
	text := fmt.Sprintf("{%q, nil}", strategy)
	if len(keys) > 0 {
		text = fmt.Sprintf("{%q, %#v}", strategy, keys)
	}
	i := slices.Index(t.rules, text)
	if i < 0 {
		i = len(t.rules)
		t.rules = append(t.rules, text)
	}
	return i
}

func (t *table) source() []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated by internal/schemagen from kyaml's built-in OpenAPI documents; DO NOT EDIT.\n\npackage schema\n\n")
	names := slices.Sorted(maps.Keys(t.names))
	b.WriteString("// schemaNames are the names of all properties, sorted.\nvar schemaNames = [...]string{\n")
	for i, name := range names {
		t.names[name] = i
		fmt.Fprintf(&b, "%q,\n", name)
	}
	b.WriteString("}\n\n// schemaRules are the patch strategies and merge keys that occur.\nvar schemaRules = [...]schemaRule{\n")
	b.WriteString(strings.Join(t.rules, ",\n") + ",\n}\n\n")

	var props strings.Builder
	count := 0
	defs := slices.Sorted(maps.Keys(t.definitions))
	ref := func(c child) string { // a node and the index of its definition, from 1
		i, _ := slices.BinarySearch(defs, c.definition)
		if c.definition == "" {
			i = -1
		}
		return fmt.Sprintf("%d, %d", c.node, i+1)
	}
	b.WriteString("// schemaNodes are the documents: first property, number of properties, additional properties, items, rule.\n")
	b.WriteString("var schemaNodes = [...]schemaNode{\n")
	for _, n := range t.nodes {
		fmt.Fprintf(&b, "{%d, %d, schemaRef{%s}, schemaRef{%s}, %d},\n", count, len(n.props), ref(n.other), ref(n.elem), n.rule)
		count += len(n.props)
		for _, name := range slices.Sorted(maps.Keys(n.props)) {
			fmt.Fprintf(&props, "{%d, schemaRef{%s}}, ", t.names[name], ref(n.props[name]))
		}
		if len(n.props) > 0 {
			props.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "}\n\n// schemaProps are the properties of all nodes: name, node.\nvar schemaProps = [...]schemaProp{\n%s}\n\n",
		props.String())
	b.WriteString("// schemaKinds are the known kinds, sorted by kind, group, version.\nvar schemaKinds = [...]schemaKind{\n")
	b.WriteString(strings.Join(t.kinds, "") + "}\n\n")
	b.WriteString("// schemaDefinitions are the named definitions, sorted.\nvar schemaDefinitions = [...]schemaDefinition{\n")
	for _, name := range defs {
		fmt.Fprintf(&b, "{%q, %d},\n", name, t.definitions[name])
	}
	b.WriteString("}\n")
	return b.Bytes()
}
