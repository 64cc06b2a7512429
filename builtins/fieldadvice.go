package builtins

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// advice returns hints for a path that leads nowhere in v. They concern the first part of the
// path that fails.
func (p *fieldPath) advice(v yaml.Value) []string {
	for i := range p.parts {
		part := &p.parts[i]
		var next yaml.Value
		switch {
		case part.kind == everyPart || part.err != nil:
			return nil
		case v.Type() == yaml.Map:
			if next = v.Get(part.text); !next.Exists() {
				return p.otherField(i, v)
			}
		case v.Type() == yaml.Seq:
			at := part.position(v.Items())
			if at < 0 {
				return p.otherItem(i, v)
			}
			next = v.Items()[at]
		default:
			return []string{fmt.Sprintf("%s is %s and has no fields", p.upTo(i), v.Type().Article())}
		}
		v = next
	}
	if v.IsEmpty() {
		return []string{fmt.Sprintf("%s exists but is empty: give it a value, or use a different field", p.upTo(len(p.parts)))}
	}
	return nil
}

// position returns the index of the first item that the part selects, -1 if there is none.
func (p *pathPart) position(items []yaml.Value) int {
	if p.kind == itemPart {
		return slices.IndexFunc(items, func(x yaml.Value) bool {
			text := x.Get(p.key).Text()
			return text == p.value || p.re != nil && p.re.MatchString(text)
		})
	}
	if n, err := strconv.Atoi(p.text); err == nil && n >= 0 && n < len(items) {
		return n
	}
	return -1
}

func (p *fieldPath) otherField(i int, v yaml.Value) []string {
	var keys []string
	for _, f := range v.Fields() {
		keys = append(keys, f.Key)
	}
	if near := diag.Nearest(p.parts[i].text, keys); near != "" {
		return []string{fmt.Sprintf("did you mean %q?", p.with(i, near))}
	}
	if strings.Contains(p.text, "/") && len(p.parts) == 1 {
		return []string{fmt.Sprintf("separate names with dots: %q", strings.ReplaceAll(strings.Trim(p.text, "/"), "/", "."))}
	}
	return []string{fmt.Sprintf("%s has: %s", p.upTo(i), diag.Some(keys))}
}

func (p *fieldPath) otherItem(i int, v yaml.Value) []string {
	part := &p.parts[i]
	if part.kind != itemPart {
		return []string{fmt.Sprintf("%s is a list of %s: select an item by its index (from 0) or [name=...], or all items with *",
			p.upTo(i), diag.Count(v.Len(), "item"))}
	}
	var values []string
	for _, item := range v.Items() {
		if text := item.Get(part.key).Text(); text != "" {
			values = append(values, text)
		}
	}
	if part.key != "name" { // values of other keys may be secret
		return []string{fmt.Sprintf("no item of %s has this %s", p.upTo(i), part.key)}
	}
	if near := diag.Nearest(part.value, values); near != "" {
		return []string{fmt.Sprintf("did you mean %q?", p.with(i, "["+part.key+"="+near+"]"))}
	}
	if len(values) == 0 {
		return []string{fmt.Sprintf("no item of %s has a field %q", p.upTo(i), part.key)}
	}
	return []string{fmt.Sprintf("the items of %s have %s: %s", p.upTo(i), part.key, diag.Some(values))}
}

// upTo returns the text of the first n parts.
func (p *fieldPath) upTo(n int) string {
	if n == 0 {
		return "the object"
	}
	return joinParts(p.parts[:n])
}

// with returns the path with part i replaced by text.
func (p *fieldPath) with(i int, text string) string {
	parts := slices.Clone(p.parts)
	parts[i].text = text
	return joinParts(parts)
}

func joinParts(parts []pathPart) string {
	names := make([]string, len(parts))
	for i := range parts {
		if names[i] = parts[i].text; parts[i].kind != itemPart {
			names[i] = strings.ReplaceAll(names[i], ".", `\.`)
		}
	}
	return strings.Join(names, ".")
}
