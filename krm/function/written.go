package function

import (
	"slices"

	"github.com/krmflow/krmflow/krm/yaml"
)

// maxRewritten is how many values of one configuration [Rewritten] tells.
const maxRewritten = 10

// Rewritten returns the values of a function's configuration that reach the function in another form than they are written: a version
// such as 1.10 is a number for YAML. The messages do not show values of a Secret.
func Rewritten(config yaml.Value) (list []*yaml.DecodeError) {
	text := &yaml.Source{Data: yaml.AppendYAML(nil, config)}
	sent, err := text.Value()
	if err != nil {
		return nil // it has no form of its own
	}
	secret := text.MayHoldSecrets()
	var walk func(written, sent yaml.Value, path []any)
	walk = func(written, sent yaml.Value, path []any) {
		for _, f := range written.Fields() {
			walk(f.Value, sent.Get(f.Key), append(path, f.Key))
		}
		for i, x := range written.Items() {
			if i < sent.Len() {
				walk(x, sent.Items()[i], append(path, i))
			}
		}
		switch written.Type() {
		case yaml.Int, yaml.Float, yaml.Time:
		default:
			return
		}
		if written.Text() == sent.Text() || len(list) == maxRewritten {
			return
		}
		m := &yaml.DecodeError{
			Path: slices.Clone(path), Msg: written.Text() + " reaches the function as " + sent.Text(),
			Hints: []string{"quote it to pass it on as it is written"},
		}
		if secret {
			m.Msg = "the value reaches the function in another form than it is written"
		}
		list = append(list, m)
	}
	walk(config, sent, nil)
	return list
}
