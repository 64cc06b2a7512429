package diag

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Pos is a position in a file: the path as the user knows it and a line number. Lines count
// from 1; Line 0 is the whole file.
type Pos struct {
	File string
	Line int
}

// String returns file:line, or the file alone if Line is 0.
func (p Pos) String() string {
	file := OneLine(p.File)
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", file, p.Line)
	}
	return file
}

// An Error is a mistake in the input with its position. Its text is "file:line: field: problem",
// followed by the hints on separate lines.
type Error struct {
	Pos   Pos
	Field string // for instance "patches[2].path"; may be empty
	Msg   string
	Hints []string // one line each: how to fix the problem
	Code  Code     // the code of the message; empty if it has none
	Also  string   // a second file without which there would be no message; may be empty
	Err   error    // the cause, for errors.Is and errors.As; Msg already includes its text
}

// Next is an operand of [Errorf] or [Warn] that adds hints but no text; the format refers to it
// by a final %s. It is called when the message is made, so it may be expensive.
type Next func() []string

func (Next) String() string { return "" }

// Errorf returns an [Error]. The error wrapped with %w becomes Err. The result takes over the
// hints and the code of its operands.
func Errorf(pos Pos, field, format string, args ...any) *Error {
	e := &Error{Pos: pos, Field: field}
	for i, arg := range args {
		if next, ok := arg.(Next); ok {
			e.Hints = append(e.Hints, next()...)
		} else if err, ok := arg.(error); ok {
			e.With(CodeOf(err))
			if text, hints := Parts(err); hints != nil {
				args[i] = withoutHints{err, text}
				e.Hints = append(e.Hints, hints...)
			}
		}
	}
	err := fmt.Errorf(format, args...)
	e.Msg, e.Err = err.Error(), errors.Unwrap(err)
	if w, ok := e.Err.(withoutHints); ok {
		e.Err = w.error
	}
	return e
}

// withoutHints is an error that is formatted without its hint lines.
type withoutHints struct {
	error
	text string
}

func (w withoutHints) Error() string { return w.text }
func (w withoutHints) Unwrap() error { return w.error }

// Parts returns the text of err without its hint lines, and the hints separately.
func Parts(err error) (text string, hints []string) {
	text = err.Error()
	if at := find(err); at != nil {
		if before, ok := strings.CutSuffix(text, at.hintLines()); ok {
			return before, slices.Clip(at.Hints)
		}
	}
	return text, nil
}

// find returns the Error that err is, converts to with its method Diag, or wraps. It returns nil
// if there is none.
func find(err error) *Error {
	var at *Error
	var other interface {
		error
		Diag() *Error
	}
	switch {
	case errors.As(err, &at):
		return at
	case errors.As(err, &other):
		return other.Diag()
	}
	return nil
}

// AsError returns err as an [Error]. If err is an Error, or has a method Diag that returns one,
// that Error is the result. Otherwise the result has the text of err and, if err wraps an Error,
// the position and hints of that Error.
func AsError(err error) *Error {
	at := find(err)
	if at != nil && at.Error() == err.Error() {
		return coded(at, err)
	}
	e := &Error{Err: err, Code: CodeOf(err)}
	e.Msg, e.Hints = Parts(err)
	if at != nil && at.Pos.File != "" {
		// The position is at the front of the text.
		e.Pos, e.Msg = at.Pos, strings.Replace(e.Msg, at.Pos.String()+": ", "", 1)
	}
	return e
}

// ErrLimit is wrapped by errors that report an exceeded limit of a run (exit code 6).
var ErrLimit = errors.New("limit")

// Limitf returns an error without a position that wraps [ErrLimit].
func Limitf(format string, args ...any) *Error {
	return &Error{Msg: fmt.Sprintf(format, args...), Err: ErrLimit}
}

// excess is the cause of an [Error] about an input that is too large or too deeply nested.
type excess string

func (e excess) Error() string { return string(e) }

// TooLargef is like [Errorf], for an input that is too large or too deeply nested: see
// [IsTooLarge].
func TooLargef(pos Pos, field, format string, args ...any) *Error {
	return Errorf(pos, field, "%w", excess(fmt.Sprintf(format, args...)))
}

// IsTooLarge reports whether err is about an input that is too large or too deeply nested.
func IsTooLarge(err error) bool {
	var e excess
	return errors.As(err, &e)
}

// Hint adds a hint for the user to e and returns e.
func (e *Error) Hint(format string, args ...any) *Error {
	e.Hints = append(e.Hints, fmt.Sprintf(format, args...))
	return e
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Pos.File != "" {
		b.WriteString(e.Pos.String())
		b.WriteString(": ")
	}
	if e.Field != "" {
		b.WriteString(OneLine(e.Field))
		b.WriteString(": ")
	}
	b.WriteString(OneLine(e.Msg))
	b.WriteString(e.hintLines())
	return b.String()
}

// hintLines returns the hints as the last lines of the error text.
func (e *Error) hintLines() string {
	var b strings.Builder
	for _, h := range e.Hints {
		b.WriteString("\n  ")
		b.WriteString(OneLine(h))
	}
	return b.String()
}

// OneLine makes line breaks in s visible as \n. Input must not be able to forge a second message.
func OneLine(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }

func (e *Error) Unwrap() error { return e.Err }

const (
	maxNearName = 256     // the maximum length of a name
	maxNearWork = 1 << 18 // the maximum number of compared letters: thousands of common names
)

// Nearest returns the candidate that s is most likely a misspelling of, "" if none is near. It
// gives up after some thousand similar candidates.
func Nearest(s string, candidates []string) string {
	if len(s) > maxNearName || len(s) == 1 {
		return ""
	}
	best, bestDist := "", max(1, len(s)/3)+1
	lower := strings.ToLower(s)
	work := 0
	for _, c := range candidates {
		if c == s || len(c)-len(s) >= bestDist || len(s)-len(c) >= bestDist {
			continue
		}
		d, steps := editDistance(lower, strings.ToLower(c), bestDist)
		if d < bestDist {
			best, bestDist = c, d
		}
		if work += steps; work > maxNearWork {
			break
		}
	}
	return best
}

// Near reports whether a can be turned into b by changing at most most letters. It ignores case.
func Near(a, b string, most int) bool {
	d, _ := editDistance(strings.ToLower(a), strings.ToLower(b), most+1)
	return d <= most
}

// DidYouMean returns a hint that suggests the nearest candidate, nil if there is none. Its result
// can be appended to [Error.Hints].
func DidYouMean(s string, candidates []string) []string {
	if c := Nearest(s, candidates); c != "" {
		return []string{fmt.Sprintf("did you mean %q?", c)}
	}
	return nil
}

// editDistance returns the Damerau-Levenshtein distance (optimal string alignment), at most
// limit, and the number of steps that the computation took.
func editDistance(a, b string, limit int) (d, steps int) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	// On the stack: thousands of mistakes may have thousands of candidates each.
	var short [3 * 24]int
	n, space := len(b)+1, short[:]
	if 3*n > len(space) {
		space = make([]int, 3*n)
	}
	prev2, prev, row := space[:n], space[n:2*n], space[2*n:3*n]
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		if slices.Min(row) >= limit {
			return limit, i * n
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)], len(a) * n
}

// A Warn reports a probable mistake of the user, for instance a patch that changes nothing. The
// receiver adds the file and line and limits the number of formatted messages.
type Warn func(code Code, format string, args ...any)
