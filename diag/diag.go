package diag

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Pos is a place in a file: the path as the user knows it and a line that counts from 1; Line 0 means the whole file.
type Pos struct {
	File string
	Line int
}

// String returns file:line, or the file alone.
func (p Pos) String() string {
	file := OneLine(p.File)
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", file, p.Line)
	}
	return file
}

// An Error is a mistake in the input, at a place: "file:line: field: what", then hint lines.
type Error struct {
	Pos   Pos
	Field string // for instance "patches[2].path"; may be empty
	Msg   string
	Hints []string // each a line of its own: what to do about it
	Code  Code     // which kind of message it is; empty for what has none of its own
	Err   error    // what caused it, for errors.Is and errors.As; its text is already in Msg
}

// Next is an operand of [Errorf] or [Warn] that adds hint lines and no text: with %s at the end of the format. It is called when the
// message is made, so it may take long.
type Next func() []string

func (Next) String() string { return "" }

// Errorf returns an [Error]. If an operand is wrapped with %w it becomes Err. The hints of operands become its own, and so does
// their kind.
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

// withoutHints is an error as it stands in the text of another one.
type withoutHints struct {
	error
	text string
}

func (w withoutHints) Error() string { return w.text }
func (w withoutHints) Unwrap() error { return w.error }

// Parts returns the text of err without its hint lines, and these.
func Parts(err error) (text string, hints []string) {
	text = err.Error()
	if at := find(err); at != nil {
		if before, ok := strings.CutSuffix(text, at.hintLines()); ok {
			return before, slices.Clip(at.Hints)
		}
	}
	return text, nil
}

// find returns the Error that err is, says or wraps, nil if there is none.
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

// AsError returns err as an [Error]: the one that it is, else one with its text and, if it wraps an Error, that one's place and
// hints. An error of another type with the method Diag says by it which Error it is.
func AsError(err error) *Error {
	at := find(err)
	if at != nil && at.Error() == err.Error() {
		return coded(at, err)
	}
	e := &Error{Err: err, Code: CodeOf(err)}
	e.Msg, e.Hints = Parts(err)
	if at != nil && at.Pos.File != "" {
		e.Pos, e.Msg = at.Pos, strings.Replace(e.Msg, at.Pos.String()+": ", "", 1) // the place stands in front
	}
	return e
}

// ErrLimit is wrapped by errors which say that a run needs more than krmflow allows (exit code 6).
var ErrLimit = errors.New("limit")

// Limitf returns an error without a place that wraps [ErrLimit].
func Limitf(format string, args ...any) *Error {
	return &Error{Msg: fmt.Sprintf(format, args...), Err: ErrLimit}
}

// excess is the cause of an [Error] about an input that is larger or deeper than krmflow takes.
type excess string

func (e excess) Error() string { return string(e) }

// TooLargef is [Errorf] for an error about an input that is larger or deeper than krmflow takes: see [IsTooLarge].
func TooLargef(pos Pos, field, format string, args ...any) *Error {
	return Errorf(pos, field, "%w", excess(fmt.Sprintf(format, args...)))
}

// IsTooLarge reports whether err is about an input that is larger or deeper than krmflow takes.
func IsTooLarge(err error) bool {
	var e excess
	return errors.As(err, &e)
}

// Hint adds a line that tells the user what to do and returns e.
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

// hintLines are the end of the error's text.
func (e *Error) hintLines() string {
	var b strings.Builder
	for _, h := range e.Hints {
		b.WriteString("\n  ")
		b.WriteString(OneLine(h))
	}
	return b.String()
}

// OneLine shows the line ends of a text that is meant to be one line: text of the input must not look like another
// message.
func OneLine(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }

func (e *Error) Unwrap() error { return e.Err }

const (
	maxNearName = 256     // the length of names that are looked at
	maxNearWork = 1 << 18 // how many letters are compared: thousands of common names
)

// Nearest returns the candidate that s is most likely a misspelling of, "" if none is near. It gives up when it has looked at
// some thousand candidates that are alike.
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

// Near reports whether no more than most letters must be changed to make b of a; the case of letters does not count.
func Near(a, b string, most int) bool {
	d, _ := editDistance(strings.ToLower(a), strings.ToLower(b), most+1)
	return d <= most
}

// DidYouMean returns a hint line for a near name, nil if there is none: append it to [Error.Hints].
func DidYouMean(s string, candidates []string) []string {
	if c := Nearest(s, candidates); c != "" {
		return []string{fmt.Sprintf("did you mean %q?", c)}
	}
	return nil
}

// editDistance returns the Damerau-Levenshtein distance (optimal string alignment), or limit if it is not below it, and how many
// steps that took.
func editDistance(a, b string, limit int) (d, steps int) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var short [3 * 24]int // on the stack: there may be thousands of candidates for each of thousands of mistakes
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

// A Warn receives a message of a kind about something that the user probably did not mean, for instance a patch that changes nothing. The caller
// adds file and line, and formats no more messages than somebody will read.
type Warn func(code Code, format string, args ...any)
