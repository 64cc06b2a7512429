// Follows api/filters/replacement/replacement.go.

package builtins

import (
	"errors"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A sourceValue is the value that a replacement copies.
type sourceValue struct {
	yaml.Value
	// untyped marks a constant. Its type is the type of its text as an unquoted scalar.
	untyped bool
}

func constantValue(text string) sourceValue { return sourceValue{yaml.Str(text), true} }

// part returns the part of v that the options of a source select.
func (v sourceValue) part(opts *FieldOptions) (sourceValue, error) {
	if opts == nil || opts.Delimiter == "" {
		return v, nil
	}
	if !v.IsScalar() {
		return v,
			diag.ReplacementOptions.Of(diag.ReplacementOptions.Of(errors.New("options.delimiter needs a string, not a " +
				v.Type().String())))
	}
	parts := strings.Split(v.Text(), opts.Delimiter)
	if opts.Index < 0 || opts.Index >= len(parts) {
		return v, diag.Errorf(diag.Pos{}, "", "options.index is %d, but the value has %d parts", opts.Index,
			len(parts)).With(diag.ReplacementOptions).
			Hint("parts are counted from 0: the last one is %d; the delimiter is %q", len(parts)-1, opts.Delimiter)
	}
	text := parts[opts.Index]
	if x, ok := withText(v.Value, text); ok {
		return sourceValue{x, v.untyped}, nil
	}
	return sourceValue{yaml.Str(text), v.untyped}, nil
}

// whole returns the value for a field without an existing type.
func (v sourceValue) whole() yaml.Value {
	if v.untyped {
		return yaml.Untyped(v.Text())
	}
	return v.Unlinked()
}

// A copier copies a value to the fields of one target.
type copier struct {
	value sourceValue
	opts  FieldOptions
	// probe makes the copier create missing fields without changing existing ones.
	probe bool
	// owner is the resource of the target, nil if it may not be changed.
	owner *krm.Resource
	// asText allows a scalar to become a string if the value does not fit its type. It is set for
	// annotations, which become strings in any case.
	asText bool
	// taken are the parts of the value that come from Secrets.
	taken []string
	// name is set if the value is the name of an object.
	name *krm.NameCopy
	// slots are the known fields of all resources, and known the fields of the target.
	slots *fieldSlots
	known *resourceSlots
}

// create returns the type of a field to create: the type of the value, or None if missing fields
// are not created.
func (c *copier) create() yaml.Type {
	switch {
	case !c.opts.Create:
		return yaml.None
	case c.value.IsScalar():
		return yaml.String
	}
	return c.value.Type()
}

// apply returns the object v with the value copied to the fields at path. lost is true if
// kustomize loses the entire change.
func (c *copier) apply(v yaml.Value, path *fieldPath) (edited yaml.Value, lost bool, err error) {
	c.asText = path.isAnnotation()
	if edited, ok := c.direct(v, path.parts); ok {
		return edited, false, nil
	}
	if edited, ok := c.embedded(v, path.parts); ok {
		return edited, false, nil
	}
	e := editor[yaml.Value]{tree: &valueTree{copier: c}, create: c.create()}
	edited, count, err := e.edit(v, path.parts)
	problem := "unable to find field"
	if c.opts.Create {
		problem = "unable to find or create field"
	}
	switch {
	case err != nil:
		return v, false, diag.ReplacementTargetField.Errorf("%s %q: %w", problem, path.text, err)
	case count == 0:
		err := diag.Errorf(diag.Pos{}, "", "%s %q", problem, path.text).With(diag.ReplacementTargetField)
		if err.Hints = path.advice(v); !c.opts.Create {
			err.Hint("to create the field, set options.create: true")
		}
		return v, false, err
	}
	return edited, count == e.lost, nil
}

// direct is a fast version of apply for a path of names through mappings to a scalar or to a
// missing field that may be created. Nearly all paths are of this form, and a build may apply
// tens of thousands of them. For other paths, direct returns v and ok is false.
func (c *copier) direct(v yaml.Value, path []pathPart) (edited yaml.Value, ok bool) {
	part := &path[0]
	if !part.named || part.kind != keyPart || v.Type() != yaml.Map {
		return v, false
	}
	i := v.Index(part.text)
	old := yaml.Value{}
	if i >= 0 {
		old = v.Fields()[i].Value
	}
	var x yaml.Value
	if len(path) > 1 {
		x, ok = c.direct(old, path[1:])
	} else {
		x, ok = c.scalar(old)
	}
	switch {
	case !ok || x.Same(old):
		return v, ok
	case i < 0:
		return c.owner.WithField(v, part.text, x), true
	}
	return withField(v, v, i, x), true
}

// scalar returns the replacement of old. ok is false if the replacement depends on the position
// of old.
func (c *copier) scalar(old yaml.Value) (x yaml.Value, ok bool) {
	if c.owner == nil || !c.value.IsScalar() || !old.Exists() && !c.opts.Create || old.Type() >= yaml.Seq {
		return old, false
	}
	x, err := (&valueTree{copier: c}).set(old)
	return x, err == nil
}

// embedded edits the document in the first string on the path, if there is one.
func (c *copier) embedded(v yaml.Value, path []pathPart) (yaml.Value, bool) {
	steps := make([]valueStep, 0, 8)
	field := v
	for i := range len(path) - 1 {
		next, step, err := path[i].lookup(field)
		if err != nil || next.IsNull() {
			return v, false
		}
		field, steps = next, append(steps, step)
		if field.Type() == yaml.String {
			text, ok := c.editDocument(field.Text(), path[i+1:])
			if !ok {
				return v, false
			}
			return withSteps(v, steps, sameOr(field, text)), true
		}
	}
	return v, false
}

// text returns the new text of a scalar with the text old.
func (c *copier) text(old string) string {
	text := c.value.Text()
	if c.opts.Delimiter == "" {
		return text
	}
	parts := strings.Split(old, c.opts.Delimiter)
	switch i := c.opts.Index; {
	case i < 0:
		parts = append([]string{text}, parts...)
	case i >= len(parts):
		parts = append(parts, text)
	default:
		parts[i] = text
	}
	joined := strings.Join(parts, c.opts.Delimiter)
	if c.taken != nil && c.owner != nil && len(text) < secret.MinTaken {
		// Such a short text is hidden only as a whole scalar.
		c.owner.Taken = append(c.owner.Taken, joined)
	}
	return joined
}

var errDelimiter = diag.ReplacementOptions.Errorf("options.delimiter needs a string in the field")

// valueTree edits values. A fresh scalar is None, and freshText holds its text until set is
// called, which happens before the next scalar is made.
type valueTree struct {
	*copier
	freshText string
}

func (*valueTree) typ(v yaml.Value) yaml.Type {
	switch t := v.Type(); t {
	case yaml.Null, yaml.Seq, yaml.Map:
		return t
	}
	return yaml.String
}

func (*valueTree) field(v yaml.Value, key string) (yaml.Value, bool) {
	x := v.Get(key)
	return x, x.Exists()
}

func (*valueTree) items(v yaml.Value) []yaml.Value { return v.Items() }

func (*valueTree) withField(v yaml.Value, key string, x yaml.Value) yaml.Value { return v.With(key, x) }

func (*valueTree) withItems(v yaml.Value, items []yaml.Value) yaml.Value {
	old := v.Items()
	if len(old) != len(items) {
		return v.WithItems(items...)
	}
	for i := range items {
		if !items[i].Same(old[i]) {
			return v.WithItems(items...)
		}
	}
	return v
}

func (t *valueTree) empty(typ yaml.Type) yaml.Value {
	switch typ {
	case yaml.Map:
		return yaml.MapOf()
	case yaml.Seq:
		return yaml.SeqOf()
	}
	return t.fresh("")
}

func (t *valueTree) fresh(text string) yaml.Value {
	t.freshText = text
	return yaml.Value{}
}

func (*valueTree) plain(text string) yaml.Value              { return yaml.Untyped(text) }
func (*valueTree) matches(part *pathPart, v yaml.Value) bool { return part.matches(v) }

func (t *valueTree) within(v yaml.Value, path []pathPart) (int, error) {
	return t.countIn(v.SourceText(), path)
}

// set replaces the text of a scalar, which keeps its type. It replaces a list or mapping as a
// whole.
func (t *valueTree) set(v yaml.Value) (yaml.Value, error) {
	if t.probe {
		return v, nil
	}
	if t.typ(v) == yaml.Map || t.typ(v) == yaml.Seq {
		if t.opts.Delimiter != "" {
			return v, errDelimiter
		}
		return t.value.whole(), nil
	}
	text := v.SourceText()
	if !v.Exists() {
		text = t.freshText
	}
	text = t.text(text)
	x, ok := withText(v, text)
	switch {
	case ok:
		return x, nil
	case t.asText:
		return yaml.SetStr(text), nil
	}
	return v, diag.ReplacementOptions.Errorf("the field has type %s, but the value has a different type", v.Type())
}

// withText returns a scalar of v's type with the given text. ok is false if the text has a
// different type. If v is None, the result has the type of the text.
func withText(v yaml.Value, text string) (x yaml.Value, ok bool) {
	if v.Type() == yaml.String && !v.IsUntyped() {
		return sameOr(v, text), true
	}
	if v.Type() == yaml.Null && v.SourceText() == text {
		return v, true
	}
	if !v.Exists() || v.IsUntyped() {
		return yaml.Untyped(text), true
	}
	x = yaml.Plain(text)
	switch v.Type() {
	case yaml.Float:
		return x, x.Type() == yaml.Int || x.Type() == yaml.Float
	}
	return x, x.Type() == v.Type()
}

// sameOr returns v if its text is text, and otherwise a string with that text in the style of v.
func sameOr(v yaml.Value, text string) yaml.Value {
	if v.Text() == text {
		return v
	}
	return yaml.Str(text).WithStyleOf(v)
}
