// Package resourcelist reads and writes ResourceLists and preserves comments, quotes and the
// order of fields. It works on the nodes of kyaml, the library that most functions use. The
// functions of a build get their lists from package krm/function, which does not need to
// preserve formatting.
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

// MaxSize is the maximum size of a list in bytes.
const MaxSize = 256 << 20

// A List is the input or output of a function. Its items are mappings and may be modified.
type List struct {
	// APIVersion is the apiVersion of the list, or "" if the text was not a ResourceList.
	APIVersion string
	// Config is the functionConfig, or nil. Results are the results reported by functions, or
	// nil.
	Config, Results *yaml.RNode
	Items           []*yaml.RNode
}

// Read parses a ResourceList, a List, or plain resource documents, and expands their aliases.
// name is used in errors.
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
				return nil, diag.Errorf(doc.pos(doc.node.YNode()), "", "a %s must be the only document",
					kio.ResourceListKind).With(diag.BadList)
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

// check returns an error if v is not a resource.
func check(v krmyaml.Value, pos diag.Pos) error {
	switch {
	case v.Type() != krmyaml.Map:
		return diag.Errorf(pos, "", "not a resource: expected a mapping").With(diag.NoResource)
	case v.Get("kind").Text() == "":
		return diag.Errorf(pos, "", "not a resource: apiVersion and kind are required").With(diag.NoResource)
	}
	return nil
}

// A document is one document of a text, both as nodes and as a value.
type document struct {
	node  *yaml.RNode
	value krmyaml.Value
	text  []byte   // from the preceding separator to the next
	start diag.Pos // first line; nodes count lines from here
}

// pos returns the position of a node of the document.
func (d document) pos(n *yaml.Node) diag.Pos {
	return diag.Pos{File: d.start.File, Line: d.start.Line + n.Line - 1}
}

// documents returns the non-empty documents of a text. The comments above a document belong to
// it.
//
// kyaml accepts duplicate keys, which parsers interpret differently, and expands aliases
// without a limit. So krmflow's parser reads the text first. It refuses both and reports the
// position.
func documents(name string, data []byte) ([]document, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	stream := krmyaml.Stream{Name: name, MaxItems: krm.MaxResources, Room: max(minRoom, 8*len(data))}
	values, err := stream.Read(krmyaml.Chunks{data})
	if err != nil {
		return nil, err
	}
	nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(data), OmitReaderAnnotations: true, DisableUnwrapping: true,
		AnchorsAweigh: true}).Read()
	if err != nil {
		return nil, diag.Errorf(diag.Pos{File: name}, "", "%s", diag.OneLine(err.Error())).With(diag.InvalidYAML)
	}
	docs := make([]document, 0, len(nodes))
	for _, n := range nodes {
		root := n.YNode()
		if doc := n.Document(); doc != root {
			root.HeadComment, root.FootComment = joined(doc.HeadComment, root.HeadComment), joined(root.FootComment, doc.FootComment)
		}
		nameNulls(root, false)
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
		if len(v.Path) > 1 { // otherwise it is the only document
			part := v.Path[1].(int)
			docs[i].text, docs[i].start.Line = data[offsets[part]:offsets[part+1]], lines[part]
		}
	}
	return docs, nil
}

// nameNulls gives empty nulls in flow style (`{n: }`) the text null. Otherwise kyaml writes them as
// empty strings.
func nameNulls(n *yaml.Node, flow bool) {
	if flow && n.Kind == yaml.ScalarNode && n.Tag == yaml.NodeTagNull && n.Value == "" {
		n.Value = "null"
	}
	for _, x := range n.Content {
		nameNulls(x, flow || n.Style&yaml.FlowStyle != 0)
	}
}

// minRoom is the memory limit in bytes for parsing a short text. Long texts may use more.
// Expanded aliases are included.
const minRoom = 64 << 20

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// Write writes the list as a ResourceList.
func (l *List) Write(w io.Writer) error {
	return kio.ByteWriter{
		Writer: w, KeepReaderAnnotations: true, WrappingKind: kio.ResourceListKind,
		WrappingAPIVersion: cmp.Or(l.APIVersion, function.ResourceListV1),
		FunctionConfig:     l.Config, Results: l.Results,
	}.Write(l.Items)
}

// Field returns the value of a field, or nil.
func Field(n *yaml.RNode, path ...string) *yaml.RNode {
	v, err := n.Pipe(yaml.Lookup(path...))
	if err != nil {
		return nil
	}
	return v
}

// Text returns the text of a scalar field, or "".
func Text(n *yaml.RNode, path ...string) string {
	if v := Field(n, path...); !v.IsNil() && v.YNode().Kind == yaml.ScalarNode && !v.IsTaggedNull() {
		return v.YNode().Value
	}
	return ""
}
