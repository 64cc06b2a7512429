package scheduler

import (
	"strings"

	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// secretsOf returns what a message about a step must not show: what its inputs, the lists it made
// and the configuration of its function have from Secrets. A list may be nil. The lists are read at
// once, because later steps may change them; the set is made when a message is printed. With deep,
// also Secrets within objects of other kinds are found, which takes long for a step that only warns.
func secretsOf(op graph.Op, inputs []eval.Input, deep bool, lists ...*krm.List) *secret.Set {
	var values []yaml.Value
	var taken, names []string
	for _, in := range inputs {
		lists = append(lists, in.List)
	}
	if call, ok := op.(graph.Call); ok {
		values = append(values, call.Config)
	}
	for _, l := range lists {
		if l == nil {
			continue
		}
		for i := range l.Len() { // All ends early if the list has become too large
			r := l.At(i)
			if id := r.ID(); deep || id.Kind == "Secret" || id.Kind == "Template" || strings.HasSuffix(id.Kind, "List") {
				values = append(values, r.Value())
			}
			taken = append(taken, r.Taken...)
			names = append(names, r.ID().Name, r.ID().Namespace)
		}
	}
	if len(values) == 0 && len(taken) == 0 {
		return nil
	}
	return secret.NewSet(func(s *secret.Set) {
		for _, v := range values {
			s.Add(v)
		}
		for _, text := range taken {
			s.AddTaken(text)
		}
		for _, name := range names {
			s.Public(name)
		}
	})
}
