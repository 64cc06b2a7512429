package yaml

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret/words"
)

// A Cursor reads a configuration value field by field and collects all mistakes: unknown keys,
// values of the wrong type, missing fields. Keys are case-sensitive, and values are not converted.
// A null is the same as a missing value.
type Cursor struct {
	v  Value
	up *Cursor // nil at the start
	// key or, if inSeq is set, i is the step from up to this cursor.
	key string
	i   int
	run *cursorRun

	inSeq bool
}

type cursorRun struct {
	locate func(path ...any) diag.Pos
	start  []any
	errs   []*diag.Error
	more   diag.MoreError
}

// NewCursor returns a cursor on v, which is at path in its document. locate returns the position
// of a path.
func NewCursor(v Value, locate func(path ...any) diag.Pos, path ...any) Cursor {
	return Cursor{v: v, run: &cursorRun{locate: locate, start: path}}
}

// Mistakes returns the mistakes found so far by this cursor and all cursors derived from the same
// start: at most [diag.MaxMistakes], followed by an error with the number of omitted ones.
func (c Cursor) Mistakes() []*diag.Error {
	if c.run.more == 0 {
		return c.run.errs
	}
	return append(slices.Clip(c.run.errs), &diag.Error{Msg: c.run.more.Error(), Err: c.run.more})
}

// Err returns the mistakes joined into one error, nil if there are none.
func (c Cursor) Err() error {
	var errs []error
	for _, err := range c.Mistakes() {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Value returns the value at the cursor.
func (c Cursor) Value() Value { return c.v }

// Exists reports whether there is a value other than null.
func (c Cursor) Exists() bool { return !c.v.IsNull() }

// Path returns the path of the cursor in the document.
func (c Cursor) Path() []any {
	if c.up == nil {
		return append([]any(nil), c.run.start...)
	}
	if c.inSeq {
		return append(c.up.Path(), c.i)
	}
	return append(c.up.Path(), c.key)
}

// Pos returns the position of the cursor in the file.
func (c Cursor) Pos() diag.Pos { return c.run.locate(c.Path()...) }

// Errorf records a mistake at the cursor and returns it, so that the caller can add hints.
func (c Cursor) Errorf(format string, args ...any) *diag.Error {
	err := diag.Errorf(diag.Pos{}, diag.FieldPath(c.Path()), format, args...)
	if len(c.run.errs) >= diag.MaxMistakes {
		c.run.more++
		return err
	}
	err.Pos = c.Pos()
	c.run.errs = append(c.run.errs, err)
	return err
}

// Field returns a cursor on the field key of a mapping.
func (c Cursor) Field(key string) Cursor {
	return Cursor{v: c.v.Get(key), up: &c, key: key, run: c.run}
}

// On returns a cursor at the same place with value v, for instance the parsed form of a text.
func (c Cursor) On(v Value) Cursor {
	c.v = v
	return c
}

// Known reports whether the value is a mapping. It records a mistake if it is not, and one for
// each key that is not among keys.
func (c Cursor) Known(keys ...string) bool {
	if c.v.Type() != Map {
		c.mismatch("a mapping")
		return false
	}
fields:
	for _, f := range c.v.Fields() {
		for _, key := range keys {
			if f.Key == key {
				continue fields
			}
		}
		err := c.Field(f.Key).Errorf("unknown field %q", f.Key).With(diag.UnknownField)
		if err.Hints = diag.DidYouMean(f.Key, keys); err.Hints == nil {
			err.Hint("the fields are: %s", diag.Some(keys))
		}
	}
	return true
}

func (c Cursor) mismatch(want string) {
	if c.v.Type() == None {
		c.Errorf("is missing").With(diag.MissingField)
		return
	}
	err := c.Errorf("must be %s, not %s", want, c.v.typ.Article()).With(diag.WrongType)
	switch {
	case want != "a string" || !c.v.IsScalar():
	case words.Text(err.Field):
		err.Hint("put it in quotes")
	default:
		err.Hint("put it in quotes: %q", c.v.Text())
	}
}

// Text returns a string, "" if it is missing or null.
func (c Cursor) Text() string {
	if c.Exists() && c.v.Type() != String {
		c.mismatch("a string")
		return ""
	}
	return c.v.Text()
}

// Required returns a string that must exist and not be empty.
func (c Cursor) Required() string {
	if !c.Exists() {
		c.Errorf("is missing")
		return ""
	}
	s := c.Text()
	if s == "" && c.v.Type() == String {
		c.Errorf("must not be empty").With(diag.MissingField)
	}
	return s
}

// Line returns a string that must exist, not be empty and be one line without control characters.
// It is for paths, which are shown in messages and plans.
func (c Cursor) Line() string {
	s := c.Required()
	if strings.ContainsFunc(s, unicode.IsControl) {
		c.Errorf("%q contains a control character", s).With(diag.BadValue)
	}
	return s
}

// Bool returns a boolean, nil if it is missing or null.
func (c Cursor) Bool() *bool {
	if !c.Exists() {
		return nil
	}
	if c.v.Type() != Bool {
		c.mismatch("true or false")
		return nil
	}
	b := c.v.isTrue()
	return &b
}

// Items returns cursors on the items of a list, none if the list is missing or null.
func (c Cursor) Items() []Cursor {
	if !c.Exists() {
		return nil
	}
	if c.v.Type() != Seq {
		c.mismatch("a list")
		return nil
	}
	items := make([]Cursor, c.v.Len())
	for i, v := range c.v.Items() {
		items[i] = Cursor{v: v, up: &c, i: i, inSeq: true, run: c.run}
	}
	return items
}

// Strings returns a list of strings.
func (c Cursor) Strings() []string {
	var list []string
	for _, item := range c.Items() {
		if item.v.Type() != String {
			item.mismatch("a string")
		}
		list = append(list, item.v.Text())
	}
	return list
}

// StringMap returns a mapping of strings.
func (c Cursor) StringMap() map[string]string {
	if !c.Exists() {
		return nil
	}
	if c.v.Type() != Map {
		c.mismatch("a mapping")
		return nil
	}
	m := make(map[string]string, c.v.Len())
	for _, f := range c.v.Fields() {
		m[f.Key] = c.Field(f.Key).Text()
	}
	return m
}

// Either returns the first of the fields keys that exists. The names are synonyms, newest first.
// If several fields exist, they must be equal.
func (c Cursor) Either(keys ...string) Cursor {
	found := c.Field(keys[0])
	for _, key := range keys[1:] {
		next := c.Field(key)
		switch {
		case !next.Exists():
		case !found.Exists():
			found = next
		case !found.v.Equal(next.v):
			next.Errorf("conflicts with %s, which is the same setting; remove one of them",
				diag.FieldPath(found.Path())).With(diag.Exclusive)
		}
	}
	return found
}
