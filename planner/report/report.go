// Package report collects what is wrong with a tree while it is planned: the mistakes of each root, and warnings.
package report

import (
	"errors"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Reporter takes the mistakes of one root, and passes warnings on. It is not safe for concurrent use.
type Reporter struct {
	Errs     diag.Mistakes
	Warnings *Warnings // those of all roots
}

// Fail records a mistake.
func (r *Reporter) Fail(err error) { r.Errs.Add(err) }

// ErrorAt records the mistakes in err at a field of a configuration file.
func (r *Reporter) ErrorAt(src *yaml.Source, path []any, err error) {
	for _, e := range Mistakes(err) {
		if !r.Errs.Full() {
			e = Placed(src, path, e)
		}
		r.Fail(e)
	}
}

// ErrorLater is ErrorAt for an error that takes long to make: only those are made that will be told.
func (r *Reporter) ErrorLater(src *yaml.Source, path []any, err func() error) {
	if r.Errs.Full() {
		r.Fail(diag.MoreError(1))
		return
	}
	r.ErrorAt(src, path, err())
}

// FailIn records the mistakes in a configuration file.
func (r *Reporter) FailIn(src *yaml.Source, mistakes []*yaml.DecodeError) {
	for _, m := range mistakes {
		switch {
		case m.More > 0:
			r.Fail(m.More)
		case r.Errs.Full():
			r.Fail(diag.MoreError(1)) // without its line, which takes time and memory to find
		default:
			r.Fail(m.In(src))
		}
	}
}

// Warn warns about a field of a configuration file, by a message of a kind.
func (r *Reporter) Warn(code diag.Code, src *yaml.Source, path []any, format string, args ...any) {
	if r.Warnings.full() {
		r.Warnings.more++ // there is no use in finding out the line
		return
	}
	r.Warnings.Add(diag.Errorf(src.Locate(0, path...), src.Field(path), format, args...).With(code))
}

// maxWarnings is how many warnings are kept.
const maxWarnings = 1000

// Warnings are what the user probably did not mean, each once: several layers may read one file. The zero value has none.
type Warnings struct {
	list []*diag.Error
	more int
	told map[string]bool
}

func (w *Warnings) full() bool { return len(w.list) >= maxWarnings }

// Add adds warnings, unless they are there already. Of those that are too many only the number is kept.
func (w *Warnings) Add(list ...*diag.Error) {
	for _, e := range list {
		if w.full() {
			w.more++
			continue
		}
		e = &diag.Error{Pos: e.Pos, Field: e.Field, Msg: e.Msg, Hints: e.Hints, Code: diag.CodeOf(e)}
		if text := e.Error(); !w.told[text] {
			if w.told == nil {
				w.told = map[string]bool{}
			}
			w.told[text] = true
			w.list = append(w.list, e)
		}
	}
}

// All returns the warnings that were kept, in the order in which they were added, and how many there are besides.
func (w *Warnings) All() (list []*diag.Error, more int) { return w.list, w.more }

// Mistakes returns the errors that err joins, none for nil.
func Mistakes(err error) []error {
	if err == nil {
		return nil
	}
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range many.Unwrap() {
		all = append(all, Mistakes(e)...)
	}
	return all
}

// Placed gives an error the place of a field, unless it has one of its own.
func Placed(src *yaml.Source, path []any, err error) error {
	var at *diag.Error
	if errors.As(err, &at) && at.Pos.File != "" {
		return err
	}
	e := diag.Errorf(src.Locate(0, path...), src.Field(path), "%w", err)
	e.Hints = append(e.Hints, Hints(err)...)
	return e
}

// Hints returns the hint lines that an error of the loaders carries.
func Hints(err error) []string {
	var h interface{ Hints() []string }
	if errors.As(err, &h) {
		return h.Hints()
	}
	return nil
}
