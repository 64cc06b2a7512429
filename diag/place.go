package diag

import (
	"errors"
	"slices"
)

// A TextLine is the last step of a path that leads into a text of several lines, for instance an
// inline patch: a line of the text, counted from 1.
type TextLine int

// In returns err as an error about a part of a configuration: the part at path, relative to the
// configuration that err is about. The text of err does not change. In(nil) is nil.
//
// The code that finds a mistake knows only its own configuration, an entry of a list in some file.
// It describes the part by a relative path, and the caller that adds the position of the entry
// uses [PathOf] to add that of the part. Calls may be nested like the parts.
func In(err error, path ...any) error {
	if err == nil {
		return nil
	}
	return &partError{err, path}
}

// PathOf returns the path to the part of its configuration that err is about, nil if it is about
// the whole: the paths given to [In], the outermost first. An error type may also declare its path
// by a method Part.
func PathOf(err error) (path []any) {
	var part interface {
		error
		Part() []any
	}
	for errors.As(err, &part) {
		path = append(path, part.Part()...)
		err = errors.Unwrap(part)
	}
	return path
}

// Below returns the path to the part that err is about, where path leads to the configuration.
func Below(path []any, err error) []any {
	return append(slices.Clip(path), PathOf(err)...)
}

// partError is an error about a part of a configuration.
type partError struct {
	error
	path []any
}

func (e *partError) Part() []any   { return e.path }
func (e *partError) Unwrap() error { return e.error }
