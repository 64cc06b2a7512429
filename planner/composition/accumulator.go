package composition

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/report"
)

// Accumulated returns the paths listed by an accumulator and the field with the list. ok is false
// after reporting mistakes.
func (it *Item) Accumulated(r *report.Reporter) (texts []string, field []any, ok bool) {
	c := yaml.NewCursor(it.Value, func(path ...any) diag.Pos { return it.Source.Locate(0, path...) })
	for _, f := range it.Value.Fields() {
		switch f.Key {
		case "apiVersion", "kind", "metadata", "paths", "files":
		default:
			e := c.Field(f.Key).Errorf("unknown field %q", f.Key).With(diag.UnknownField)
			if e.Hints = diag.DidYouMean(f.Key, []string{"paths", "files"}); e.Hints == nil {
				e.Hint("use paths, a list of files and directories")
			}
		}
	}
	list := c.Either("paths", "files")
	if !list.Exists() {
		c.Field("paths").Errorf("is missing").With(diag.MissingField).Hint("list files and directories, as in resources of a Kustomization")
	}
	for _, x := range list.Items() {
		texts = append(texts, x.Required())
	}
	for _, e := range c.Mistakes() {
		e.Field = it.Source.FieldOf(e.Field)
		r.Fail(e)
	}
	return texts, list.Path(), len(c.Mistakes()) == 0
}
