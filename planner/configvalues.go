package planner

import "github.com/krmflow/krmflow/krm/yaml"

// maxValues is how many values of one configuration there are warnings about.
const maxValues = 10

// changedValues warns about values of a function's configuration that reach the function in another form than they are written: a
// version such as 1.10 is a number for YAML. What a layer's own file or a directory holds, reading that has warned about.
func (s *steps) changedValues(d document, config yaml.Value) {
	if d.src == nil && d.item == nil {
		return
	}
	text := &yaml.Source{Data: yaml.AppendYAML(nil, config)}
	sent, err := text.Value()
	if err != nil {
		return // it has no form of its own
	}
	secret := text.MayHoldSecrets()
	left := maxValues
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
		if written.Text() == sent.Text() || left == 0 {
			return
		}
		left--
		m := yaml.DecodeError{Path: path, Msg: written.Text() + " reaches the function as " + sent.Text(), Hints: []string{"quote it to pass it on as it is written"}}
		if secret {
			m.Msg = "the value reaches the function in another form than it is written"
		}
		s.Warnings.Add(d.mistake(&m))
	}
	walk(config, sent, nil)
}
