package diff

import (
	"encoding/base64"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// HiddenChanged replaces a hidden value that has changed. [secret.Hidden] replaces a hidden value
// that is equal on both sides or present on one side only.
const HiddenChanged = "(hidden, changed)"

// oneSided reports whether only one of two scalars is hidden, or only one as a whole. The other
// scalar is then probably an earlier or later value of the Secret, of which only a part is known:
// keys and files have lines in common.
func (d *differ) oneSided(old, now yaml.Value) bool {
	x, y := d.hide.HideValue(old), d.hide.HideValue(now)
	return x.Same(old) != y.Same(now) || (x.Text() == secret.Hidden) != (y.Text() == secret.Hidden)
}

// masked returns the old object v without the values that are hidden because of their new values.
func masked(v yaml.Value, edits []Edit) yaml.Value {
	for _, e := range edits {
		if e.Hidden && e.Op == Replace {
			v = replaced(v, e.Path.In(true), e.Old)
		}
	}
	return v
}

// replaced returns v with the value at path set to x, or to [secret.Hidden] if x is None.
func replaced(v yaml.Value, path []any, x yaml.Value) yaml.Value {
	if len(path) == 0 {
		if !x.Exists() {
			return yaml.Str(secret.Hidden)
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

// marked returns edits with a placeholder for each new value that is hidden as a whole.
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
			out[k].New = yaml.Str(secret.Hidden)
		}
	}
	if out == nil {
		return edits
	}
	return out
}

func isSecret(kind krm.GVK) bool { return kind.Group == "" && kind.Kind == "Secret" }

// secretData returns the data that an API server stores for a Secret, where stringData takes
// precedence over data. Decoded content starts with "=", and a text that is not base64 with "!".
func secretData(v yaml.Value) map[string]string {
	data := map[string]string{}
	for _, f := range v.Get("data").Fields() {
		text := f.Value.Text()
		if content, err := base64.StdEncoding.DecodeString(text); err == nil {
			data[f.Key] = "=" + string(content)
		} else {
			data[f.Key] = "!" + text
		}
	}
	for _, f := range v.Get("stringData").Fields() {
		data[f.Key] = "=" + f.Value.Text()
	}
	return data
}
