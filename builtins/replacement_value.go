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

// A sourceValue is what a replacement copies.
type sourceValue struct {
	yaml.Value
	// untyped marks a constant, whose type is that of its text as an unquoted scalar.
	untyped bool
}

func constantValue(text string) sourceValue { return sourceValue{yaml.Str(text), true} }

// part returns the part of v that a source's options select.
func (v sourceValue) part(opts *FieldOptions) (sourceValue, error) {
	if opts == nil || opts.Delimiter == "" {
		return v, nil
	}
	if !v.IsScalar() {
		return v, diag.ReplacementOptions.Of(diag.ReplacementOptions.Of(errors.New("options.delimiter needs a text, not a " + v.Type().String())))
	}
	parts := strings.Split(v.Text(), opts.Delimiter)
	if opts.Index < 0 || opts.Index >= len(parts) {
		return v, diag.Errorf(diag.Pos{}, "", "options.index is %d, but the value has %d parts", opts.Index, len(parts)).With(diag.ReplacementOptions).
			Hint("parts are counted from 0: the last one is %d; the delimiter is %q", len(parts)-1, opts.Delimiter)
	}
	text := parts[opts.Index]
	if x, ok := withText(v.Value, text); ok {
		return sourceValue{x, v.untyped}, nil
	}
	return sourceValue{yaml.Str(text), v.untyped}, nil
}

// whole returns the value for a place that has no type of its own.
func (v sourceValue) whole() yaml.Value {
	if v.untyped {
		return yaml.Untyped(v.Text())
	}
	return v.Unlinked()
}

// A copier puts a value into the fields of one target.
type copier struct {
	value sourceValue
	opts  FieldOptions
	// probe makes the fields that are missing, and leaves all others as they are.
	probe bool
	// owner is the resource that has the target, if it may be changed.
	owner *krm.Resource
	// asText makes strings of the scalars that are set, as annotations all become in the end.
	asText bool
	// taken are the texts in the value that were copied from Secrets.
	taken []string
}

// create returns what is made at the end of a path that leads nowhere: something of the value's kind, or None.
func (c *copier) create() yaml.Type {
	switch {
	case !c.opts.Create:
		return yaml.None
	case c.value.IsScalar():
		return yaml.String
	}
	return c.value.Type()
}

// apply returns v, an object, with the value in the fields at path; lost is true if kustomize loses all of the change.
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
			err.Hint("to make the field, set options.create: true")
		}
		return v, false, err
	}
	return edited, count == e.lost, nil
}

// direct is apply for a path of names that leads through mappings to a scalar, or to nothing if that is to be created. Nearly all are
// such paths, and may be applied ten thousands of times. ok is false, and nothing is done, if this is another one.
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

// scalar returns what replaces old; ok is false if that needs a look at where it is.
func (c *copier) scalar(old yaml.Value) (x yaml.Value, ok bool) {
	if c.owner == nil || !c.value.IsScalar() || !old.Exists() && !c.opts.Create || old.Type() >= yaml.Seq {
		return old, false
	}
	x, err := (&valueTree{copier: c}).set(old)
	return x, err == nil
}

// embedded writes into the document within the first text that path leads through, if there is one.
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

// text returns the new text of a scalar that had the text old.
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
		c.owner.Taken = append(c.owner.Taken, joined) // the text itself is hidden as a whole scalar only
	}
	return joined
}

var errDelimiter = diag.ReplacementOptions.Errorf("options.delimiter needs a text in the field")

// valueTree edits values. A fresh scalar is None; its text is kept aside, since it is set before the next one is made.
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

// set replaces only the text of a scalar, which keeps its type; a list or mapping is replaced as a whole.
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
	return v, diag.ReplacementOptions.Errorf("its type is %s, and the value has another one", v.Type())
}

// withText returns a scalar of v's type with another text; ok is false if the text has another type. None takes the
// type of the text.
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

// sameOr returns the string v if it has that text, else a string with the text that is written as v is.
func sameOr(v yaml.Value, text string) yaml.Value {
	if v.Text() == text {
		return v
	}
	return yaml.Str(text).WithStyleOf(v)
}
