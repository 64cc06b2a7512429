package diff

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// What stands for values that are not shown: for one that is the same on both sides, or is there on one side alone, and for a new one.
const (
	Hidden        = "(hidden)"
	HiddenChanged = "(hidden, changed)"
)

// secretValues returns the fields in which an object has the values of Secrets: some if it is a Secret, wherever it stands, or a SecretList, whose items have no
// kind of their own.
func secretValues(v yaml.Value) []string {
	if strings.Contains(v.Get("apiVersion").Text(), "/") {
		return nil
	}
	switch v.Get("kind").Text() {
	case "Secret":
		return []string{"data", "stringData"}
	case "SecretList":
		return []string{"items"}
	}
	return nil
}

// secretText matches a text that has a Secret in it, in YAML or JSON. In YAML a tag, an anchor or the mark of a block can stand before the kind.
var secretText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bkind\\*["']?\s*:\s*(?:[!&>|]\S*\s+)*\\*["']?Secret(?:List)?\b`)
})

func isSecretText(text string) bool {
	return strings.Contains(text, "Secret") && secretText().MatchString(text)
}

// Shown returns a value as it may be shown: without the values of the Secrets in it, and without passwords in addresses. Of a text that has
// Secrets in it nothing is shown.
func Shown(v yaml.Value) yaml.Value {
	switch v.Type() {
	case yaml.String:
		text := v.Text()
		if isSecretText(text) {
			return yaml.Str(Hidden)
		}
		if shown := shownText(text); shown != text {
			return yaml.Str(shown)
		}
	case yaml.Seq:
		v, _ = v.EditItems(func(x yaml.Value) (yaml.Value, error) { return Shown(x), nil })
	case yaml.Map:
		values := secretValues(v)
		return v.EditFields(func(f yaml.Field) yaml.Value {
			switch {
			case !slices.Contains(values, f.Key):
				return Shown(f.Value)
			case f.Value.Type() == yaml.Map:
				return f.Value.EditFields(func(yaml.Field) yaml.Value { return yaml.Str(Hidden) })
			}
			return yaml.Str(Hidden)
		})
	}
	return v
}

// shown returns a value without what must not be shown.
func (d *differ) shown(v yaml.Value) yaml.Value { return Shown(d.hide.HideValue(v)) }

// hides reports whether a value has something that must not be shown.
func (d *differ) hides(v yaml.Value) bool { return !d.hide.HideValue(v).Same(v) }

// shownText returns a text without passwords in the addresses in it.
func shownText(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	var b strings.Builder
	for text != "" {
		word := text[:wordEnd(text)]
		if _, host, ok := strings.Cut(word, "://"); ok && strings.Contains(host, ":") && !strings.ContainsAny(host, "/?#@") {
			rest := text[len(word):] // a password can have most of what ends a word
			if i := strings.IndexAny(rest, " \t\r\n\"`<>/?#@"); i >= 0 && rest[i] == '@' {
				word = text[:len(word)+i+wordEnd(rest[i:])]
			}
		}
		if strings.Contains(word, "://") {
			b.WriteString(diag.Redact(word))
		} else {
			b.WriteString(word)
		}
		text = text[len(word):]
		if text != "" {
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String()
}

// wordEnd returns the length of the word that a text begins with.
func wordEnd(text string) int {
	if end := strings.IndexAny(text, " \t\r\n\"'`<>,;()"); end >= 0 {
		return end
	}
	return len(text)
}

// masked returns the old object, as it may be shown, without the values of edits that are hidden because of the new ones.
func masked(v yaml.Value, edits []Edit) yaml.Value {
	for _, e := range edits {
		if e.Hidden && e.Op == Replace {
			v = replaced(v, e.Path.In(true), e.Old)
		}
	}
	return v
}

// replaced returns v with x at a path, [Hidden] if x is None.
func replaced(v yaml.Value, path []any, x yaml.Value) yaml.Value {
	if len(path) == 0 {
		if !x.Exists() {
			return yaml.Str(Hidden)
		}
		return x
	}
	switch step := path[0].(type) {
	case string:
		return v.With(step, replaced(v.Get(step), path[1:], x))
	case int:
		return v.WithItem(step, replaced(v.Items()[step], path[1:], x))
	}
	return v
}

// marked returns edits in which a text stands for each new value that is hidden as a whole.
func marked(edits []Edit) []Edit {
	var out []Edit
	for k, e := range edits {
		if !e.Hidden || e.Op == Remove || e.Op != Add && !e.Old.Equal(e.New) {
			continue
		}
		if out == nil {
			out = append(out, edits...)
		}
		if out[k].New = yaml.Str(HiddenChanged); e.Op == Add {
			out[k].New = yaml.Str(Hidden)
		}
	}
	if out == nil {
		return edits
	}
	return out
}
