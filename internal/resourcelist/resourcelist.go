// Package resourcelist reads and writes ResourceLists with all that people write in them: comments, quotes and the order of fields stay. Functions
// that a build runs get their list from package krm/function, which has no use for these.
package resourcelist

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	yaml3 "go.yaml.in/yaml/v3"
)

// The annotations that say where an item comes from, in today's spelling and in the older one, which many functions read.
const (
	Path        = "internal.config.kubernetes.io/path"
	Index       = "internal.config.kubernetes.io/index"
	LegacyPath  = "config.kubernetes.io/path"
	LegacyIndex = "config.kubernetes.io/index"
	// SeqIndent says "wide" of a file in which the items of lists are indented.
	SeqIndent = "internal.config.kubernetes.io/seqindent"
)

// Kind is that of the lists.
const Kind = "ResourceList"

// MaxSize is how many bytes a list may have.
const MaxSize = 256 << 20

// A List is what a function gets and returns. Its nodes are mappings, and may be changed.
type List struct {
	// APIVersion is that of the list, empty if the text was documents and no ResourceList.
	APIVersion string
	// Config is the functionConfig, nil if there is none, and Results what a function has said.
	Config, Results *yaml3.Node
	Items           []*yaml3.Node
}

// Read reads a ResourceList, a List, or documents that are resources themselves. name is what messages call the text.
func Read(name string, data []byte) (*List, error) {
	docs, err := Documents(name, data)
	if err != nil {
		return nil, err
	}
	l := &List{}
	for _, doc := range docs {
		items := field(doc, "items")
		isList := strings.HasSuffix(Text(doc, "kind"), "List") && items != nil
		if !isList {
			l.Items = append(l.Items, doc)
			continue
		}
		if Text(doc, "kind") == Kind {
			if len(docs) > 1 {
				return nil, diag.Errorf(diag.Pos{File: name, Line: doc.Line}, "", "a %s must be the only document", Kind).With(diag.BadList)
			}
			l.APIVersion, l.Config, l.Results = Text(doc, "apiVersion"), mapping(field(doc, "functionConfig")), field(doc, "results")
		}
		if items.Kind != yaml3.SequenceNode && !isNull(items) {
			return nil, diag.Errorf(diag.Pos{File: name, Line: items.Line}, "items", "it must be a list").With(diag.BadList)
		}
		for _, item := range items.Content {
			l.Items = append(l.Items, resolved(item))
		}
	}
	for _, item := range l.Items {
		if item.Kind != yaml3.MappingNode || Text(item, "kind") == "" {
			return nil, diag.Errorf(diag.Pos{File: name, Line: item.Line}, "", "it is no resource: apiVersion and kind are needed").With(diag.NoResource)
		}
	}
	return l, nil
}

// Documents returns the documents of a text, without those that are empty. The comments above a document are its own. One that is no mapping, or has a
// key twice, is an error.
func Documents(name string, data []byte) ([]*yaml3.Node, error) {
	docs, err := parse(name, data)
	for _, doc := range docs {
		if doc.Kind != yaml3.MappingNode {
			return nil, diag.Errorf(diag.Pos{File: name, Line: doc.Line}, "", "it is no resource: a mapping is needed").With(diag.NoResource)
		}
		if err := twice(name, doc); err != nil {
			return nil, err
		}
	}
	return docs, err
}

// parse returns documents of any kind.
func parse(name string, data []byte) (docs []*yaml3.Node, err error) {
	d := yaml3.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	for {
		var doc yaml3.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, invalid(name, data, err)
		}
		if len(doc.Content) == 0 || isNull(doc.Content[0]) {
			continue
		}
		root := doc.Content[0]
		root.HeadComment = joined(doc.HeadComment, root.HeadComment)
		root.FootComment = joined(root.FootComment, doc.FootComment)
		docs = append(docs, root)
	}
}

// invalid returns the error of the parser, as it is told everywhere else if there it is one, too.
func invalid(name string, data []byte, err error) error {
	if _, told := (&yaml.Source{File: name, Data: data}).Configs(); told != nil {
		return told
	}
	return diag.Errorf(diag.Pos{File: name}, "", "%s", diag.OneLine(strings.TrimPrefix(err.Error(), "yaml: "))).With(diag.InvalidYAML)
}

// twice returns an error about a key that a mapping has twice, which readers understand differently.
func twice(name string, n *yaml3.Node) error {
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml3.MappingNode && i%2 == 0 && c.Kind == yaml3.ScalarNode {
			if seen[c.Value] {
				return diag.Errorf(diag.Pos{File: name, Line: c.Line}, "", "the key %s occurs twice", diag.OneLine(c.Value)).With(diag.RepeatedKey)
			}
			seen[c.Value] = true
		}
		if err := twice(name, c); err != nil {
			return err
		}
	}
	return nil
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// Write writes a ResourceList.
func (l *List) Write(w io.Writer) error {
	items := &yaml3.Node{Kind: yaml3.SequenceNode, Content: l.Items}
	if len(l.Items) == 0 {
		items.Style = yaml3.FlowStyle
	}
	version := l.APIVersion
	if version == "" {
		version = function.ResourceListV1
	}
	top := Map("apiVersion", String(version), "kind", String(Kind), "items", items)
	if l.Config != nil {
		top.Content = append(top.Content, String("functionConfig"), l.Config)
	}
	if l.Results != nil {
		top.Content = append(top.Content, String("results"), l.Results)
	}
	return Encode(w, false, top)
}

// Encode writes documents. The items of their lists are indented if wide is true.
func Encode(w io.Writer, wide bool, docs ...*yaml3.Node) error {
	e := yaml3.NewEncoder(w)
	e.SetIndent(2)
	if !wide {
		e.CompactSeqIndent()
	}
	for _, doc := range docs {
		if err := e.Encode(doc); err != nil {
			return err
		}
	}
	return e.Close()
}
