package scheduler

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/eval"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// secretsOf returns the values of Secrets in the inputs of a step, in the lists that it made and in
// the configuration of its function, which messages about the step must not show. A list may be nil.
// The lists are read immediately, because later steps may change them. The set is built when a message
// is printed. With deep, Secrets within objects of any kind are found, which is slow for a step that
// only warns.
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

// warnings collects the warnings of a step. They are passed on when the step has ended, because only
// then the values of Secrets are known.
type warnings []func(*graph.Node) *diag.Error

func (w *warnings) add(code diag.Code, format string, args ...any) {
	*w = append(*w, func(n *graph.Node) *diag.Error { return n.Origin.Warning(code, format, args...) })
}

// pass calls Options.Warn for the warnings of n, whose values of Secrets are hidden.
func (w warnings) pass(r *run, n *graph.Node, inputs []eval.Input, list *krm.List) {
	if len(w) == 0 || r.o.Warn == nil {
		return
	}
	hide := secretsOf(n.Op, inputs, false, list)
	for _, warning := range w {
		r.o.Warn(n, func() *diag.Error { return hide.Error(warning(n)) })
	}
}
