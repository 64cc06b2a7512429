package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// list is a ResourceList.
type list struct {
	config *yaml.Node
	items  []*yaml.Node
	rest   []*yaml.Node // items that remain in the answer
}

// parseList reads a ResourceList in YAML or JSON. A generator gets its configuration as its only
// item; the answer does not contain it.
func parseList(text []byte) (*list, error) {
	docs, err := documents(text)
	if err != nil {
		return nil, problemf("stdin", "not a ResourceList: %v", err)
	}
	if len(docs) != 1 || docs[0].Kind != yaml.MappingNode {
		return nil, problemf("stdin", "not a ResourceList: expected one object")
	}
	root := docs[0]
	api, kind := str(get(root, "apiVersion")), str(get(root, "kind"))
	if kind != "ResourceList" || !strings.HasPrefix(api, "config.kubernetes.io/") {
		return nil, problemf("stdin", "not a ResourceList: found %s %s", or(api, "no apiVersion"), or(kind, "without a kind"))
	}
	l := &list{config: get(root, "functionConfig")}
	if l.config == nil || l.config.Kind != yaml.MappingNode {
		return nil, problemf("stdin", "the ResourceList has no functionConfig")
	}
	items := get(root, "items")
	if items == nil || items.Tag == "!!null" {
		return l, nil
	}
	if items.Kind != yaml.SequenceNode {
		return nil, problemf("stdin", "items is not a list")
	}
	for _, item := range items.Content {
		if item.Kind != yaml.MappingNode {
			return nil, problemf("stdin", "items has a value that is not an object")
		}
	}
	l.items = items.Content
	if len(l.items) != 1 || identity(l.items[0]) != identity(l.config) {
		l.rest = l.items
	}
	return l, nil
}

// checkPlace refuses a list of the files in a directory, because the answer would be written to
// them: krmflow run, kpt fn eval and kustomize fn run replace the files in place.
//
// Such items have an annotation with the path of a file. A list without items is ambiguous: the
// directory may be empty, a generator's configuration may have no name, or a transformer may have
// no resources. Only krmflow build adds the annotation local-config to the configuration.
func (l *list) checkPlace() error {
	refused := len(l.items) == 0 && annotation(l.config, "config.kubernetes.io/local-config") != "true"
	for _, item := range l.items {
		for _, key := range []string{"config.kubernetes.io/path", "internal.config.kubernetes.io/path"} {
			refused = refused || annotation(item, key) != ""
		}
	}
	if !refused {
		return nil
	}
	return problemf("", "decrypted Secrets are not written into the files of a directory").
		hint("list the configuration in generators of a kustomization file, and render it with krmflow build or apply-render")
}

func annotation(n *yaml.Node, key string) string {
	v := get(get(get(n, "metadata"), "annotations"), key)
	if v == nil || v.Kind != yaml.ScalarNode {
		return ""
	}
	return v.Value
}

// identity returns the fields that tell whether an item is the configuration.
func identity(n *yaml.Node) [4]string {
	meta := get(n, "metadata")
	return [4]string{str(get(n, "apiVersion")), str(get(n, "kind")), str(get(meta, "name")), str(get(meta, "namespace"))}
}

// write writes the answer: the items of the input, the new items, and the remarks as results.
//
// The encoder of YAML once wrote block scalars that it read back differently. Therefore the answer
// is parsed and compared, and strings are quoted if there is a difference.
func (l *list) write(w io.Writer, items []*yaml.Node, remarks []string) error {
	root := mapping("apiVersion", scalar("config.kubernetes.io/v1"), "kind", scalar("ResourceList"),
		"items", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: append(slices.Clip(l.rest), items...)})
	if len(remarks) > 0 {
		results := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, r := range remarks {
			results.Content = append(results.Content, mapping("message", scalar(r), "severity", scalar("warning")))
		}
		set(root, "results", results)
	}
	for range 2 {
		var out bytes.Buffer
		e := yaml.NewEncoder(&out)
		e.SetIndent(2)
		if err := errors.Join(e.Encode(root), e.Close()); err != nil {
			return errors.New("the answer cannot be written as YAML")
		}
		if back, err := documents(out.Bytes()); err == nil && len(back) == 1 && equal(root, back[0]) {
			_, err := w.Write(out.Bytes())
			return err
		}
		quote(root)
	}
	return errors.New("the answer cannot be written as YAML")
}

// equal reports whether two values are the same, apart from style and comments.
func equal(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Kind == yaml.ScalarNode && a.Value != b.Value {
		return false
	}
	return slices.EqualFunc(a.Content, b.Content, equal)
}

// quote makes all strings below n double-quoted.
func quote(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		quote(c)
	}
}

// documents parses YAML text. It refuses aliases: sops writes none, and a few lines of them can
// stand for more values than fit into memory. Errors contain nothing of the text but a line number.
func documents(text []byte) ([]*yaml.Node, error) {
	var docs []*yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		err := d.Decode(&doc)
		if err == io.EOF {
			return docs, nil
		}
		if err != nil {
			return nil, badYAML(err)
		}
		if len(doc.Content) != 1 || doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].ShortTag() == "!!null" {
			continue
		}
		if err := check(doc.Content[0], 0); err != nil {
			return nil, err
		}
		docs = append(docs, doc.Content[0])
	}
}

// badYAML makes an error of the parser's: its line, without the text there.
func badYAML(err error) error {
	var line int
	text := err.Error()
	if i := strings.Index(text, "line "); i >= 0 {
		fmt.Sscanf(text[i:], "line %d", &line)
	}
	if line > 0 {
		return fmt.Errorf("invalid YAML near line %d", line)
	}
	return errors.New("invalid YAML")
}

// check refuses aliases, repeated keys and deep nesting.
func check(n *yaml.Node, depth int) error {
	if depth > 1000 {
		return fmt.Errorf("line %d: nested too deeply", n.Line)
	}
	if n.Kind == yaml.AliasNode {
		return fmt.Errorf("line %d: an alias, which sops does not write", n.Line)
	}
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.ScalarNode && seen[key.Value] {
				return fmt.Errorf("line %d: a key is repeated", key.Line)
			}
			seen[key.Value] = true
		}
	}
	for _, c := range n.Content {
		if err := check(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// get returns the value of a key of a mapping, or nil.
func get(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// str returns the value of a string, or "".
func str(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return ""
	}
	return n.Value
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// scalar returns a string.
func scalar(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
}

// mapping returns an object of keys and values, without those that are nil.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i < len(pairs); i += 2 {
		if v := pairs[i+1].(*yaml.Node); v != nil {
			set(n, pairs[i].(string), v)
		}
	}
	return n
}

// set appends a key to an object.
func set(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, scalar(key), value)
}

// stringsOf returns an object of strings in the order of its keys, or nil if there are none.
func stringsOf(m map[string]string) *yaml.Node {
	if len(m) == 0 {
		return nil
	}
	n := mapping()
	for _, k := range sortedKeys(m) {
		set(n, k, scalar(m[k]))
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// printable replaces what could change a terminal, and line breaks.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
