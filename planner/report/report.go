// Package report collects problems in a tree during planning: the mistakes of each root, and
// warnings.
package report

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Reporter collects the mistakes of one root and forwards warnings. It must not be used
// concurrently.
type Reporter struct {
	Errs     diag.Mistakes
	Warnings *Warnings // shared by all roots
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

// ErrorLater is ErrorAt for an error that is expensive to create: err is called only if the error
// will be reported.
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
			r.Fail(diag.MoreError(1)) // without its line, which takes time and memory to compute
		default:
			r.Fail(m.In(src))
		}
	}
}

// Warn adds a warning with a code about a field of a configuration file.
func (r *Reporter) Warn(code diag.Code, src *yaml.Source, path []any, format string, args ...any) {
	if r.Warnings.full() {
		r.Warnings.more++ // the position is not needed
		return
	}
	w := diag.Errorf(diag.Pos{}, src.Field(path), format, args...).With(code)
	w.Pos = src.Locate(0, diag.Below(path, w)...)
	r.Warnings.Add(w)
}

// maxWarnings is the maximum number of warnings kept.
const maxWarnings = 1000

// Warnings are likely mistakes by the user, without duplicates: several layers may read one file.
// The zero value is empty.
type Warnings struct {
	list []*diag.Error
	more int
	told map[string]bool
}

func (w *Warnings) full() bool { return len(w.list) >= maxWarnings }

// Add adds warnings without duplicates. Above the limit, only their number is kept.
func (w *Warnings) Add(list ...*diag.Error) {
	for _, e := range list {
		if w.full() {
			w.more++
			continue
		}
		e = &diag.Error{Pos: e.Pos, Field: e.Field, Msg: e.Msg, Hints: e.Hints, Code: diag.CodeOf(e), Also: e.Also}
		if text := e.Error(); !w.told[text] {
			if w.told == nil {
				w.told = map[string]bool{}
			}
			w.told[text] = true
			w.list = append(w.list, e)
		}
	}
}

// All returns the warnings kept, in the order they were added, and the number of further
// warnings.
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

// Placed adds the position of a field, or of the part of it that err is about, to an error without
// a position.
func Placed(src *yaml.Source, path []any, err error) error {
	var at *diag.Error
	if errors.As(err, &at) && at.Pos.File != "" {
		return err
	}
	e := diag.Errorf(src.Locate(0, diag.Below(path, err)...), src.Field(path), "%w", err)
	e.Hints = append(e.Hints, Hints(err)...)
	if hint := patternHint(src, diag.Below(path, err), err); hint != "" {
		e.Hint("%s", hint)
	}
	return e
}

// listings are the subcommands of edit add that expand patterns, by the field that they add to.
var listings = map[string]string{
	"resources": "resource", "bases": "resource", "components": "component", "configurations": "configuration",
	"generators": "generator", "transformers": "transformer",
	"configMapGenerator": "configmap", "secretGenerator": "secret",
}

// patternHint returns the command that lists the files of a pattern in the field at path of src, ""
// if err is not about a pattern or there is no such command.
func patternHint(src *yaml.Source, path []any, err error) string {
	var pattern interface{ IsPattern() bool }
	if !errors.As(err, &pattern) || !pattern.IsPattern() || len(path) < 2 || strings.Contains(err.Error(), "{") {
		return ""
	}
	field, _ := path[0].(string)
	command := listings[field]
	v, readErr := src.Value()
	if command == "" || readErr != nil {
		return ""
	}
	in := ""
	if dir := filepath.Dir(src.File); dir != "." {
		in = " -C " + diag.ShellWord(dir)
	}
	if len(path) == 2 {
		return fmt.Sprintf("krmflow edit add %s %s%s lists them", command, diag.ShellWord(v.Follow(path...).Text()), in)
	}
	if path[2] != "files" {
		return ""
	}
	name := v.Follow(path[:2]...).Get("name").Text()
	return fmt.Sprintf("krmflow edit add %s %s --from-file=%s%s lists them", command, diag.ShellWord(name),
		diag.ShellWord(v.Follow(path...).Text()), in)
}

// Hints returns the hints of an error of the loaders.
func Hints(err error) []string {
	var h interface{ Hints() []string }
	if errors.As(err, &h) {
		return h.Hints()
	}
	return nil
}

// Distinct returns errs without errors of equal text: several layers may report the same mistake
// in one file.
func Distinct(errs []error) []error {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(errs), func(err error) (again bool) {
		again, seen[err.Error()] = seen[err.Error()], true
		return again
	})
}
