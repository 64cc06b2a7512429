// Follows api/internal/builtins/ValueAddTransformer.go, api/filters/valueadd/valueadd.go.

package builtins

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// ValueAddTransformer writes a value to fields of selected resources, or inserts it into file
// paths.
type ValueAddTransformer struct {
	// Value defaults to the base name of the layer's directory.
	Value   string           `json:"value,omitempty"`
	Targets []ValueAddTarget `json:"targets,omitempty"`
	// TargetFilePath names a file with further targets.
	TargetFilePath string `json:"targetFilePath,omitempty"`

	targets []ValueAddTarget
}

// A ValueAddTarget selects the fields to write.
type ValueAddTarget struct {
	// Selector selects resources. A nil Selector selects all of them.
	Selector *Selector `json:"selector,omitempty"`
	// FieldPath consists of field names separated by slashes; \/ is a slash within a name.
	FieldPath string `json:"fieldPath,omitempty"`
	// FilePathPosition is the position at which the value is inserted into a file path in the
	// field. It counts path components from 1; 0 means that the value replaces the field.
	FilePathPosition int `json:"filePathPosition,omitempty"`
}

// Configure reads the file of targets. It fails if the target list is empty or a target is
// incomplete.
func (t *ValueAddTransformer) Configure(env Env) error {
	if t.Value = strings.TrimSpace(t.Value); t.Value == "" {
		t.Value = env.Folder
	}
	t.targets = slices.Clone(t.Targets)
	var errs []error
	if t.TargetFilePath != "" {
		more, err := readTargets(env, t.TargetFilePath)
		errs = append(errs, inField(err, "targetFilePath"))
		t.targets = append(t.targets, more...)
	}
	if len(t.targets) == 0 && errors.Join(errs...) == nil {
		return notGiven("must specify at least one target")
	}
	for i, target := range t.targets {
		if target.FieldPath == "" {
			errs = append(errs, inField(notGiven("fieldPath cannot be empty"), "targets", i))
		}
		if target.FilePathPosition < 0 {
			errs = append(errs, inField(diag.BadValue.Errorf("filePathPosition %d cannot be negative", target.FilePathPosition), "targets",
				i))
		}
		errs = append(errs, target.Selector.compileAt("targets", i, "selector"))
	}
	return errors.Join(errs...)
}

func readTargets(env Env, path string) ([]ValueAddTarget, error) {
	src, err := env.Read(path)
	if err != nil {
		return nil, err
	}
	v, err := src.Value()
	if err != nil {
		return nil, err
	}
	var file struct {
		Targets []ValueAddTarget `json:"targets,omitempty"`
	}
	env.parsed(patchText{src: src})
	d := yaml.Decoding{AllowUnknown: true, ScalarsAsText: true, Ignored: env.ignored(src)}
	return file.Targets, errors.Join(asErrors(src, d.Decode(v, &file))...)
}

// Transform fails if a field is not a scalar, or if its path leads through a scalar. It is not an
// error if two resources get the same identity because a target sets their namespace.
func (t *ValueAddTransformer) Transform(list *krm.List, _ Warn) error {
	for i := range t.targets {
		target := &t.targets[i]
		found, err := target.find(list)
		if err != nil {
			return err
		}
		edit := t.editor(target)
		for _, pos := range found {
			r := list.At(pos)
			v, err := edit(r)
			if err != nil {
				return resourceError(r, err)
			}
			if !v.Same(r.Value()) {
				r = r.Copy()
				r.SetValue(v)
				list.Set(pos, r)
			}
			if err := list.CheckSize(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Selects implements [Chooser].
func (t *ValueAddTransformer) Selects(Files) (list []*Selector) {
	for _, target := range t.targets {
		list = append(list, target.Selector)
	}
	return list
}

// Sets implements [Setter].
func (t *ValueAddTransformer) Sets(q FieldQuery) (s Setting, ok bool) {
	for _, target := range t.targets {
		if !q.Is(strings.Join(valuePath(target.FieldPath), ".")) {
			continue
		}
		if target.Selector != nil {
			s.Where = "it selects " + target.Selector.String()
		}
		return s, true
	}
	return s, false
}

// FileFields implements [FileReader].
func (t *ValueAddTransformer) FileFields() []FileField { return []FileField{{Path: "targetFilePath"}} }

func (t *ValueAddTarget) find(list *krm.List) ([]int, error) {
	selector := t.Selector
	if selector == nil {
		selector = &Selector{}
		if err := selector.Compile(); err != nil {
			return nil, err
		}
	}
	return selector.Select(list)
}

func (t *ValueAddTransformer) editor(target *ValueAddTarget) func(*krm.Resource) (yaml.Value, error) {
	if target.FieldPath == "metadata/namespace" {
		var ns NamespaceTransformer
		ns.Metadata.Namespace = t.Value
		return ns.setter().apply
	}
	path := valuePath(target.FieldPath)
	return func(r *krm.Resource) (yaml.Value, error) {
		return addValue(r.Value(), path, func(old yaml.Value) (yaml.Value, error) {
			if !old.IsNull() && !old.IsScalar() {
				return old, errNotScalar(old)
			}
			text := t.Value
			if target.FilePathPosition > 0 {
				text = insertPathPart(old.SourceText(), target.FilePathPosition-1, text)
			}
			if text == "" {
				return old, nil
			}
			return sameStyle(old, text), nil
		})
	}
}

func valuePath(path string) []string {
	names := splitPath(path)
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// addValue applies fn to the field at path and creates missing fields. Unlike a FieldSpec, path
// must select an item of each list on the way, by an index, by "-" for the last item, or by
// [field=value].
func addValue(v yaml.Value, path []string, fn EditFunc) (yaml.Value, error) {
	if len(path) == 0 {
		return fn(v)
	}
	step, rest := path[0], path[1:]
	index, err := strconv.Atoi(step)
	if err == nil || step == "-" || isItemSelector(step) {
		return addToItem(v, step, index, rest, fn)
	}
	if v.IsNull() {
		return v, nil
	}
	if v.Type() != yaml.Map {
		return v, fmt.Errorf("at %q: %w", step, errFound("a mapping", v))
	}
	old := v.Get(step)
	field := old
	if !field.Exists() {
		field = missingField(rest)
	}
	w, err := addValue(field, rest, fn)
	if err != nil || w.Same(old) {
		return v, err
	}
	return v.With(step, w), nil
}

func isItemSelector(step string) bool {
	return strings.HasPrefix(step, "[") && strings.HasSuffix(step, "]")
}

func missingField(rest []string) yaml.Value {
	if len(rest) == 0 {
		return yaml.Value{}
	}
	if n, err := strconv.Atoi(rest[0]); err == nil && n >= 0 || isItemSelector(rest[0]) {
		return yaml.SeqOf()
	}
	return yaml.MapOf()
}

func addToItem(v yaml.Value, step string, index int, rest []string, fn EditFunc) (yaml.Value, error) {
	switch {
	case v.IsNull():
		return v, nil
	case v.Type() != yaml.Seq:
		return v, fmt.Errorf("at %q: %w", step, errFound("a list", v))
	case index < 0:
		return v, fmt.Errorf("at %q: an index cannot be negative", step)
	}
	var made yaml.Value
	switch {
	case step == "-":
		if index = v.Len() - 1; index < 0 {
			return v, fmt.Errorf("at %q: the list is empty", step)
		}
	case isItemSelector(step):
		key, value, ok := strings.Cut(step[1:len(step)-1], "=")
		if !ok {
			return v, fmt.Errorf("%q must have the form [field=value]", step)
		}
		if index, made = findFieldItem(v, key, value); index < 0 {
			item, err := addValue(made, rest, fn)
			if err != nil {
				return v, err
			}
			return v.WithItems(append(slices.Clip(v.Items()), item)...), nil
		}
	case index >= v.Len():
		return v, nil
	}
	item, err := addValue(v.Items()[index], rest, fn)
	if err != nil || item.Same(v.Items()[index]) {
		return v, err
	}
	return v.WithItem(index, item), nil
}

// findFieldItem returns the index of the item with the given value of key, or -1 and a new item
// to append.
func findFieldItem(v yaml.Value, key, value string) (int, yaml.Value) {
	for i, item := range v.Items() {
		if key == "" && item.Text() == value || key != "" && item.Get(key).IsScalar() && item.Get(key).Text() == value {
			return i, yaml.Value{}
		}
	}
	if key == "" {
		return -1, yaml.Plain(value)
	}
	return -1, yaml.MapOf(yaml.Field{Key: key, Value: yaml.Plain(value)})
}

// insertPathPart inserts part as component pos of a file path, or appends it if pos is too large.
// An absolute path remains absolute.
func insertPathPart(path string, pos int, part string) string {
	if part == "" {
		return path
	}
	root := ""
	if strings.HasPrefix(path, "/") {
		root, path = "/", strings.TrimLeft(path, "/")
	}
	var parts []string
	for p := range strings.SplitSeq(path, "/") {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return root + filepath.Join(slices.Insert(parts, min(pos, len(parts)), part)...)
}
