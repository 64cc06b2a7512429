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

// secretsOf returns the Secret values in the inputs of a step, in its resulting lists and in the
// configuration of its function. Messages about the step must not show them. A list may be nil.
// secretsOf reads the lists immediately, because later steps may change them, but builds the set
// only when a message is printed. With deep it also finds Secrets inside objects of any kind,
// which is too slow for a step that only warns.
func secretsOf(op graph.Op, inputs []eval.Input, deep bool, lists ...*krm.List) *secret.Set {
	var values []yaml.Value
	var taken, names []string
	for _, in := range inputs {
		lists = append(lists, in.List)
	}
	if call, ok := op.(graph.Call); ok {
		values = append(values, call.Config)
		if call.Granted {
			for _, item := range call.Function.Env {
				_, value, _ := strings.Cut(item, "=")
				taken = append(taken, value)
			}
		}
	}
	for _, l := range lists {
		if l == nil {
			continue
		}
		for i := range l.Len() { // All stops early if the list has become too large
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

// warnings collects the warnings of a step. They are passed on at the end of the step, because
// only then are all values of Secrets known.
type warnings struct {
	node *graph.Node
	list []func() *diag.Error
}

func (w *warnings) add(code diag.Code, format string, args ...any) {
	if w.node.Alone && code.NeedsConsumer() {
		return
	}
	w.list = append(w.list, func() *diag.Error { return w.node.Origin.Warning(code, format, args...) })
}

// pass calls Options.Warn for the warnings. It hides the values of Secrets in them.
func (w *warnings) pass(r *run, inputs []eval.Input, list *krm.List) {
	if len(w.list) == 0 || r.o.Warn == nil {
		return
	}
	hide := secretsOf(w.node.Op, inputs, false, list)
	for _, warning := range w.list {
		r.o.Warn(w.node, func() *diag.Error { return hide.Error(warning()) })
	}
}
