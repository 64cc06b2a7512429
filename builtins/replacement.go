// Follows api/internal/builtins/ReplacementTransformer.go, api/types/replacement.go,
// api/types/replacementfield.go.

package builtins

import (
	"errors"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Replacement copies a value into fields of any number of resources. It is given inline, or
// Path names a file with one replacement or a list of them.
type Replacement struct {
	Path string `json:"path,omitempty"`
	// Source is the field to copy.
	Source *ReplacementSource `json:"source,omitempty"`
	// SourceValue is a constant, given instead of Source.
	SourceValue *string              `json:"sourceValue,omitempty"`
	Targets     []*ReplacementTarget `json:"targets,omitempty"`
}

// A ReplacementSource selects a field of exactly one resource. Empty conditions match every
// resource. The conditions may match the current or a previous identity.
type ReplacementSource struct {
	Group     string `json:"group,omitempty" decode:"text"`
	Version   string `json:"version,omitempty" decode:"text"`
	Kind      string `json:"kind,omitempty" decode:"text"`
	Name      string `json:"name,omitempty" decode:"text"`
	Namespace string `json:"namespace,omitempty" decode:"text"`
	// FieldPath is the field to read, metadata.name by default.
	FieldPath string `json:"fieldPath,omitempty"`
	// Options select a part of the field.
	Options *FieldOptions `json:"options,omitempty"`
}

// String formats the conditions and the field for messages.
func (s *ReplacementSource) String() string {
	id := krm.ID{GVK: krm.GVK{Group: s.Group, Version: s.Version, Kind: s.Kind}, Name: s.Name, Namespace: s.Namespace}
	field := s.FieldPath
	if field == "" {
		field = defaultFieldPath
	}
	return strings.TrimSpace(id.String()) + " " + field
}

// A ReplacementTarget selects the fields to write.
type ReplacementTarget struct {
	Select *Selector   `json:"select,omitempty"`
	Reject []*Selector `json:"reject,omitempty"`
	// FieldPaths are the fields to write, metadata.name by default.
	FieldPaths []string      `json:"fieldPaths,omitempty"`
	Options    *FieldOptions `json:"options,omitempty"`
}

// FieldOptions refine how a replacement reads or writes a field.
type FieldOptions struct {
	// Delimiter splits the text of the field, and Index selects a part. In a target, a negative
	// index prepends a part, and an index beyond the end appends one.
	Delimiter string `json:"delimiter,omitempty"`
	Index     int    `json:"index,omitempty"`
	// Encoding is accepted but has no effect, as in kustomize.
	Encoding string `json:"encoding,omitempty"`
	// Create creates the field of a target if it is missing.
	Create bool `json:"create,omitempty"`
}

const defaultFieldPath = "metadata.name"

// A ReplacementTransformer applies replacements in order.
type ReplacementTransformer struct {
	Replacements []Replacement `json:"replacements,omitempty" decode:"text"`

	compiled []replacement
	place    func(part ...any) diag.Pos
	// before and after connect the transformer with its neighbors. See [ChainReplacements].
	before, after *slotMail
}

// A replacement is a validated Replacement with compiled paths and patterns.
type replacement struct {
	// at leads to the replacement in the configuration or, if src is set, in that file.
	at      []any
	src     *yaml.Source
	source  *ReplacementSource
	field   *fieldPath
	value   sourceValue // the constant if source is nil
	targets []replacementTarget
}

type replacementTarget struct {
	sel    *Selector
	reject []*Selector
	fields []*fieldPath
	opts   FieldOptions
}

// Configure validates the replacements and reads the files that they name.
func (t *ReplacementTransformer) Configure(env Env) error {
	t.compiled, t.place = nil, env.Place
	paths := fieldPaths{}
	var errs []error
	for i, r := range t.Replacements {
		var at []any
		if len(t.Replacements) > 1 {
			at = []any{"replacements", i}
		}
		if r.Path == "" {
			errs = append(errs, t.add(r, nil, at, paths))
			continue
		}
		if r.Source != nil || len(r.Targets) != 0 {
			errs = append(errs, inField(advised(diag.Exclusive.Errorf("path and an inline replacement exclude each other"),
				"make two entries of them"), at...))
			continue
		}
		errs = append(errs, inField(t.addFile(env, r.Path, paths), at...))
	}
	return errors.Join(errs...)
}

func (t *ReplacementTransformer) addFile(env Env, path string, paths fieldPaths) error {
	src, err := env.Read(path)
	if err != nil {
		return diag.In(err, "path")
	}
	doc, err := src.Value()
	if err != nil {
		return err
	}
	env.parsed(patchText{src: src})
	decoding := yaml.Decoding{AllowUnknown: true, ScalarsAsText: true, Ignored: env.ignored(src)}
	switch doc.Type() {
	case yaml.Map:
		var r Replacement
		if err := errors.Join(asErrors(src, decoding.Decode(doc, &r))...); err != nil {
			return err
		}
		return t.add(r, src, nil, paths)
	case yaml.Seq:
		var rs []Replacement
		if err := errors.Join(asErrors(src, decoding.Decode(doc, &rs))...); err != nil {
			return err
		}
		var errs []error
		for i, r := range rs {
			errs = append(errs, t.add(r, src, []any{i}, paths))
		}
		return errors.Join(errs...)
	}
	return diag.Errorf(diag.Pos{File: src.File}, "", "must contain a replacement or a list of replacements").With(diag.ReplacementForm)
}

// asErrors adds line numbers to mistakes in src.
func asErrors(src *yaml.Source, mistakes []*yaml.DecodeError) []error {
	var errs []error
	for _, m := range mistakes {
		errs = append(errs, m.In(src))
	}
	return errs
}

// add adds a replacement, which is at the path at in the configuration or, if src is not nil, in
// src.
func (t *ReplacementTransformer) add(r Replacement, src *yaml.Source, at []any, paths fieldPaths) error {
	c, err := r.compile(paths)
	c.src, c.at = src, at
	if err != nil {
		return c.placed(err)
	}
	t.compiled = append(t.compiled, c)
	return nil
}

// placed returns err, or each error joined in err, as an error about a part of the replacement.
func (r *replacement) placed(err error) error {
	if r.src == nil {
		return inField(err, r.at...)
	}
	return eachError(err, func(e error) error {
		return diag.Errorf(r.src.Locate(0, diag.Below(r.at, e)...), diag.FieldPath(r.at), "%w", e)
	})
}

func (r *Replacement) compile(paths fieldPaths) (replacement, error) {
	var c replacement
	var errs []error
	switch {
	case r.Source == nil && r.SourceValue == nil:
		errs = append(errs, advised(notGiven("source is missing"),
			"set source to the kind and name of the resource with the value, or sourceValue to the value itself"))
	case r.Source != nil && r.SourceValue != nil:
		errs = append(errs, advised(diag.Exclusive.Errorf("source and sourceValue are mutually exclusive"), "remove one of them"))
	case r.Source != nil:
		c.source = r.Source
		c.field = paths.of(orDefault(r.Source.FieldPath))
	default:
		c.value = constantValue(*r.SourceValue)
	}
	if r.Targets == nil {
		errs = append(errs, advised(notGiven("targets are missing"),
			"add targets: - {select: {kind: Deployment}, fieldPaths: [metadata.name]}"))
	}
	for i, t := range r.Targets {
		compiled, err := t.compile(paths)
		if err != nil {
			errs = append(errs, inField(err, "targets", i))
		}
		c.targets = append(c.targets, compiled)
	}
	return c, errors.Join(errs...)
}

func orDefault(path string) string {
	if path == "" {
		return defaultFieldPath
	}
	return path
}

func (t *ReplacementTarget) compile(paths fieldPaths) (replacementTarget, error) {
	var c replacementTarget
	if t == nil || t.Select == nil {
		return c, advised(notGiven("select is missing: it selects the resources to change"), "add select: {kind: Deployment, name: web}")
	}
	sel := *t.Select
	var errs []error
	if err := sel.compileAt("select"); err != nil {
		errs = append(errs, err)
	}
	c.sel = &sel
	for i, s := range t.Reject {
		if s == nil {
			continue
		}
		reject := *s
		if err := reject.compileAt("reject", i); err != nil {
			errs = append(errs, err)
		}
		c.reject = append(c.reject, &reject)
	}
	for _, path := range t.FieldPaths {
		c.fields = append(c.fields, paths.of(path))
	}
	if len(c.fields) == 0 {
		c.fields = []*fieldPath{paths.of(defaultFieldPath)}
	}
	if t.Options != nil {
		c.opts = *t.Options
	}
	return c, errors.Join(errs...)
}

// Writes returns the index of the field path that writes the field at path, -1 if none does.
// before and after are the resource before and after the replacement, and path refers to after.
// If there are no field paths, the index 0 means metadata.name.
func (t *ReplacementTarget) Writes(before, after *krm.Resource, path []any) int {
	c, err := t.compile(fieldPaths{})
	if err != nil {
		return -1
	}
	if ok, err := c.selects(before); err != nil || !ok {
		return -1
	}
	return slices.IndexFunc(c.fields, func(p *fieldPath) bool { return p.meets(after.Value(), path) })
}

// Summary describes the replacement for plans, without values.
func (r Replacement) Summary() string {
	switch {
	case r.Path != "":
		return r.Path
	case r.Source != nil:
		return strings.TrimSpace(r.Source.String()) + " -> " + diag.Plural(len(r.Targets), "target")
	}
	return diag.Plural(len(r.Targets), "target")
}
