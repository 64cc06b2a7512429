// Package resourcelist reads and writes ResourceLists with all that people write in them: comments,
// quotes and the order of fields stay. It works on the nodes of kyaml, the library that most
// functions are written with. Functions that a build runs get their lists from package
// krm/function, which has no use for these.
package resourcelist

import (
	"bytes"
	"cmp"
	"io"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	krmyaml "github.com/krmflow/krmflow/krm/yaml"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// MaxSize is how many bytes a list may have.
const MaxSize = 256 << 20

// A List is what a function gets and returns. Its items are mappings, and may be changed.
type List struct {
	// APIVersion is that of the list, empty if the text was documents and no ResourceList.
	APIVersion string
	// Config is the functionConfig, nil if there is none, and Results what a function has said.
	Config, Results *yaml.RNode
	Items           []*yaml.RNode
}

// Read reads a ResourceList, a List, or documents that are resources themselves, and writes out
// their aliases. name is what messages call the text.
func Read(name string, data []byte) (*List, error) {
	docs, err := documents(name, data)
	if err != nil {
		return nil, err
	}
	l := &List{}
	for _, doc := range docs {
		v := doc.value
		list := v.Get("items")
		if !strings.HasSuffix(v.Get("kind").Text(), "List") || !list.Exists() {
			if err := check(v, doc.pos(doc.node.YNode())); err != nil {
				return nil, err
			}
			l.Items = append(l.Items, doc.node)
			continue
		}
		if v.Get("kind").Text() == kio.ResourceListKind {
			if len(docs) > 1 {
				return nil, diag.Errorf(doc.pos(doc.node.YNode()), "", "a %s must be the only document", kio.ResourceListKind).With(diag.BadList)
			}
			l.APIVersion = v.Get("apiVersion").Text()
			l.Config, l.Results = Field(doc.node, "functionConfig"), Field(doc.node, "results")
			if l.Config != nil && l.Config.YNode().Kind != yaml.MappingNode {
				l.Config = nil
			}
		}
		if list.Type() != krmyaml.Seq && !list.IsNull() {
			return nil, diag.Errorf(doc.pos(Field(doc.node, "items").YNode()), "items", "it must be a list").With(diag.BadList)
		}
		for j, n := range Field(doc.node, "items").Content() {
			if err := check(list.Items()[j], doc.pos(n)); err != nil {
				return nil, err
			}
			l.Items = append(l.Items, yaml.NewRNode(n))
		}
	}
	return l, nil
}

// check returns an error for what is no resource.
func check(v krmyaml.Value, pos diag.Pos) error {
	switch {
	case v.Type() != krmyaml.Map:
		return diag.Errorf(pos, "", "it is no resource: a mapping is needed").With(diag.NoResource)
	case v.Get("kind").Text() == "":
		return diag.Errorf(pos, "", "it is no resource: apiVersion and kind are needed").With(diag.NoResource)
	}
	return nil
}

// A document is one of a text: its nodes, and its value.
type document struct {
	node  *yaml.RNode
	value krmyaml.Value
	text  []byte   // from the separator before it to the one after it
	start diag.Pos // its first line; those of nodes are relative to it
}

// pos returns where a node of the document is.
func (d document) pos(n *yaml.Node) diag.Pos {
	return diag.Pos{File: d.start.File, Line: d.start.Line + n.Line - 1}
}

// documents returns the documents of a text, without those that are empty. The comments above a
// document are its own.
//
// kyaml would accept keys that occur twice, which readers understand differently, and copies what
// aliases stand for without a limit. Therefore krmflow's parser reads the text first, which refuses
// both, with the place of the mistake.
func documents(name string, data []byte) ([]document, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	stream := krmyaml.Stream{Name: name, MaxItems: krm.MaxResources, Room: max(minRoom, 8*len(data))}
	values, err := stream.Read(krmyaml.Chunks{data})
	if err != nil {
		return nil, err
	}
	nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(data), OmitReaderAnnotations: true, DisableUnwrapping: true, AnchorsAweigh: true}).Read()
	if err != nil {
		return nil, diag.Errorf(diag.Pos{File: name}, "", "%s", diag.OneLine(err.Error())).With(diag.InvalidYAML)
	}
	docs := make([]document, 0, len(nodes))
	for _, n := range nodes {
		root := n.YNode()
		if doc := n.Document(); doc != root {
			root.HeadComment, root.FootComment = joined(doc.HeadComment, root.HeadComment), joined(root.FootComment, doc.FootComment)
		}
		docs = append(docs, document{node: yaml.NewRNode(root)})
	}
	if len(docs) != len(values) {
		return nil, diag.Errorf(diag.Pos{File: name}, "", "documents must be separated by lines with --- alone").With(diag.InvalidYAML)
	}
	lines, offsets := []int{1}, []int{0} // of the texts between separators
	line, at := 0, 0
	for l := range bytes.Lines(data) {
		at += len(l)
		if line++; line > 1 && bytes.HasPrefix(l, []byte("---")) {
			lines, offsets = append(lines, line+1), append(offsets, at)
		}
	}
	offsets = append(offsets, len(data))
	for i, v := range values {
		docs[i].value, docs[i].text, docs[i].start = v.Value, data, diag.Pos{File: name, Line: 1}
		if len(v.Path) > 1 { // else it is the only one
			part := v.Path[1].(int)
			docs[i].text, docs[i].start.Line = data[offsets[part]:offsets[part+1]], lines[part]
		}
	}
	return docs, nil
}

// minRoom is how many bytes of memory a short text may take, and more a long one: aliases count.
const minRoom = 64 << 20

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// Write writes a ResourceList.
func (l *List) Write(w io.Writer) error {
	return kio.ByteWriter{
		Writer: w, KeepReaderAnnotations: true, WrappingKind: kio.ResourceListKind, WrappingAPIVersion: cmp.Or(l.APIVersion, function.ResourceListV1),
		FunctionConfig: l.Config, Results: l.Results,
	}.Write(l.Items)
}

// Field returns the value of a field, nil if there is none.
func Field(n *yaml.RNode, path ...string) *yaml.RNode {
	v, err := n.Pipe(yaml.Lookup(path...))
	if err != nil {
		return nil
	}
	return v
}

// Text returns the text of a scalar field, "" if there is none.
func Text(n *yaml.RNode, path ...string) string {
	if v := Field(n, path...); !v.IsNil() && v.YNode().Kind == yaml.ScalarNode && !v.IsTaggedNull() {
		return v.YNode().Value
	}
	return ""
}
