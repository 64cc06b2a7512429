package convert

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	kyaml "github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
	"go.yaml.in/yaml/v3"
)

// A converter converts one kustomization file.
type converter struct {
	files *loaders.Local
	dir   *loaders.Dir
	src   *kyaml.Source
	// configured reports that a layer changes the fields that built-ins reach. The affected
	// fields then stay in items that are Kustomizations.
	configured bool

	fields map[string]field // by canonical name
	items  []*yaml.Node
	// comment is the pending comment for the next item.
	comment string
	names   map[string]bool // KIND/NAME of items
	notes   []*diag.Error
	errs    diag.Mistakes
}

// A field is a non-empty top-level field of the file.
type field struct {
	name       string
	key, value *yaml.Node
}

// order lists the fields in the order in which kustomize applies them, with the method that
// converts each.
var order = []step{
	{"openapi", (*converter).asKustomization},
	{"resources", (*converter).accumulator},
	{"bases", (*converter).accumulator},
	{"configurations", (*converter).asKustomization},
	{"crds", (*converter).asKustomization},
	{"configMapGenerator", (*converter).generator},
	{"secretGenerator", (*converter).generator},
	{"helmCharts", (*converter).charts},
	{"helmChartInflationGenerator", (*converter).charts},
	{"generators", (*converter).configs},
	{"components", (*converter).asKustomization},
	{"patchesStrategicMerge", (*converter).builtinField},
	{"patches", (*converter).builtinField},
	{"namespace", (*converter).namespace},
	{"namePrefix", (*converter).builtinField},
	{"nameSuffix", (*converter).builtinField},
	{"labels", (*converter).labels},
	{"commonLabels", (*converter).builtinField},
	{"commonAnnotations", (*converter).builtinField},
	{"patchesJson6902", (*converter).builtinField},
	{"replicas", (*converter).builtinField},
	{"images", (*converter).builtinField},
	{"imageTags", (*converter).builtinField},
	{"replacements", (*converter).builtinField},
	{"transformers", (*converter).configs},
	{"validators", (*converter).asKustomization},
	{"vars", (*converter).asKustomization},
}

// A step converts one field to items.
type step struct {
	name string
	to   func(*converter, field)
}

// others lists the fields that do not become items and are handled individually.
var others = []string{"apiVersion", "kind", "metadata", "catalogs", "generatorOptions", "helmGlobals", "sortOptions", "buildMetadata"}

// canonical returns the spelling of a field name in kustomize, which reads names
// case-insensitively. An unknown name is returned unchanged.
func canonical(name string) string {
	for _, f := range order {
		if strings.EqualFold(f.name, name) {
			return f.name
		}
	}
	for _, known := range others {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return name
}

// convert returns the text of the Composition.
func (c *converter) convert() ([]byte, []*diag.Error, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(c.src.Data, &file); err != nil || len(file.Content) == 0 || file.Content[0].Kind != yaml.MappingNode {
		return nil, nil, diag.Errorf(diag.Pos{File: c.src.File}, "", "cannot be converted: it is not a mapping that can be rewritten")
	}
	root := expanded(file.Content[0])
	c.fields, c.names = map[string]field{}, map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		name := canonical(root.Content[i].Value)
		if f := (field{name, root.Content[i], root.Content[i+1]}); !isEmpty(f.value) {
			f.value = c.faithful(f)
			c.fields[name] = f
		}
	}
	c.refuse()
	c.reserve()
	for _, f := range order {
		if have, ok := c.fields[f.name]; ok {
			c.comment = lines(c.comment, have.key.HeadComment, have.key.LineComment, have.value.HeadComment)
			have.value.HeadComment = ""
			f.to(c, have)
			c.comment = lines(c.comment, have.key.FootComment)
		}
	}
	if err := errors.Join(c.errs.Errors()...); err != nil {
		return nil, nil, err
	}
	text, err := c.write(&file)
	return text, c.notes, err
}

// faithful returns the value of a field in a form that a Composition reads as the Kustomization
// does. The readers differ: a plain y is a boolean only in a Kustomization, and a folded text
// may be folded differently at its new position. A value that has to be rewritten for this
// loses its comments.
func (c *converter) faithful(f field) *yaml.Node {
	file, err := c.src.Value()
	if err != nil {
		c.errs.Add(err)
		return f.value
	}
	want := file.Get(f.key.Value)
	written, err := yaml.Marshal(mapping("x", f.value))
	if err == nil && held(written).Equal(want) {
		return f.value
	}
	anew := kyaml.AppendFile(nil, kyaml.MapOf(kyaml.Field{Key: "x", Value: want}))
	var n yaml.Node
	if err := yaml.Unmarshal(anew, &n); err != nil || !held(anew).Equal(want) {
		c.refused(f, "its value cannot be written in a Composition")
		return f.value
	}
	return n.Content[0].Content[1]
}

// held returns the value of the only field of text, as a Composition reads it.
func held(text []byte) kyaml.Value {
	doc, err := (&kyaml.Source{Data: text}).Strict()
	if err != nil {
		return kyaml.Value{}
	}
	return doc.Value.Get("x")
}

// refuse reports the fields that a Composition cannot express.
func (c *converter) refuse() {
	if kind, ok := c.fields["kind"]; ok && kind.value.Value != "Kustomization" {
		c.refused(kind, "a %s cannot be converted: it works on the resources of its consumers", kind.value.Value)
	}
	for _, name := range []string{"buildMetadata", "sortOptions"} {
		if f, ok := c.fields[name]; ok {
			c.refused(f, "a Composition cannot express this: it is for the root of a build").
				Hint("keep a Kustomization with this field and the converted directory among its resources")
		}
	}
	if f, ok := c.fields["metadata"]; ok {
		c.notes = append(c.notes, diag.Errorf(c.pos(f.key), "metadata",
			"a Composition has no metadata: the field is left out, which changes nothing"))
	}
	for name, f := range c.fields {
		if !slices.Contains(others, name) && !slices.ContainsFunc(order, func(s step) bool { return s.name == name }) {
			c.refused(f, "a Composition cannot express this")
		}
	}
}

func (c *converter) refused(f field, format string, args ...any) *diag.Error {
	e := diag.Errorf(c.pos(f.key), f.key.Value, format, args...)
	c.errs.Add(e)
	return e
}

func (c *converter) pos(n *yaml.Node) diag.Pos { return diag.Pos{File: c.src.File, Line: n.Line} }

// write returns the file with the items.
func (c *converter) write(file *yaml.Node) ([]byte, error) {
	m := mapping("apiVersion", text(layerfile.CompositionVersion), "kind", text(layerfile.CompositionKind), "catalogs",
		c.fields["catalogs"].value)
	var head []string
	for _, name := range []string{"apiVersion", "kind"} {
		if f, ok := c.fields[name]; ok {
			head = append(head, f.key.HeadComment)
		}
	}
	m.Content[0].HeadComment = lines(head...)
	if f, ok := c.fields["catalogs"]; ok {
		m.Content[4].HeadComment = f.key.HeadComment
	}
	m.Content = append(m.Content, text("transformers"), list(c.items...))
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	e.CompactSeqIndent()
	err := e.Encode(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{m}, HeadComment: file.HeadComment,
		FootComment: lines(c.comment, file.FootComment)})
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be converted: %w", c.src.File, err)
	}
	return b.Bytes(), nil
}
