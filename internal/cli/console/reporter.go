package console

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/report"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/rs/zerolog"
)

// A Reporter prints the errors that ended the command to W, as text or, if JSON is true, one
// object per line. In colored text, the severity has a color, the position is bold and the line
// that underlines the mistake is dim.
type Reporter struct {
	W    terminal.Painter
	JSON bool
	// Found is called with each error, for reports. It may be nil.
	Found func(report.Finding)
	// Source returns a file that errors refer to, or nil if its lines must not be shown. If
	// Source itself is nil, errors look as with kustomize: without source lines and without
	// codes.
	Source func(file string) *yaml.Source
}

// PrintEach prints each of the errors that err joins. It prints equal errors once: a Component can
// fail in several roots in the same way. Long messages are truncated. In text form, more than three
// errors that differ only in their places are merged into one.
func (r Reporter) PrintEach(err error) {
	errs := slices.Collect(diag.Each(err))
	for _, err := range errs {
		r.found(err)
	}
	seen := map[string]bool{}
	errs = slices.DeleteFunc(errs, func(err error) (again bool) {
		e := atPlace(err)
		text := fmt.Sprint(e.Pos, e.Field, e.Msg, e.Hints)
		again, seen[text] = seen[text], true
		return again
	})
	if !r.JSON {
		errs = alike(errs)
	}
	var list diag.Mistakes
	list.Add(errors.Join(errs...))
	told := map[diag.Code]bool{}
	for _, problem := range list.Errors() {
		r.print(short(problem), told)
	}
}

func (r Reporter) found(err error) {
	if r.Found != nil {
		e := atPlace(short(err))
		r.Found(report.Finding{Level: report.Error, Pos: e.Pos, Field: e.Field, Msg: e.Msg, Hints: e.Hints, Code: codeOf(err)})
	}
}

// fewAlike is the maximum number of similar errors that are printed one by one.
const fewAlike = 3

// alike merges errors that differ only in their files into one, if there are more than fewAlike
// of them. The merged error has the first place in sorted order, so that it does not depend on
// the order of errs.
func alike(errs []error) []error {
	type cause struct{ field, msg string }
	places := map[cause][]diag.Pos{}
	files := map[cause]map[string]bool{}
	for _, err := range errs {
		e := atPlace(err)
		c := cause{e.Field, e.Msg}
		if e.Pos.File == "" || files[c][e.Pos.File] {
			continue
		}
		if files[c] == nil {
			files[c] = map[string]bool{}
		}
		files[c][e.Pos.File] = true
		places[c] = append(places[c], e.Pos)
	}
	for _, list := range places {
		slices.SortFunc(list, func(a, b diag.Pos) int { return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	}
	var kept []error
	told := map[cause]bool{}
	for _, err := range errs {
		e := *atPlace(err)
		c := cause{e.Field, e.Msg}
		switch {
		case e.Pos.File == "" || len(places[c]) <= fewAlike:
			kept = append(kept, err)
		case !told[c]:
			told[c] = true
			e.Pos, e.Hints, e.Err = places[c][0], slices.Clip(e.Hints), err
			var more []string
			for _, at := range places[c][1:] {
				more = append(more, at.String())
			}
			kept = append(kept, e.Hint("and %d more like it, at %s", len(more), diag.Some(more)))
		}
	}
	return kept
}

// Roots prints the summary of a run with several roots: its result, unless it is empty, how many
// roots are done and how many were left out.
func (r Reporter) Roots(result, what string, done, all, leftOut int) {
	if r.JSON {
		z := zerolog.New(r.W.Safe).With().Timestamp().Logger()
		ev := z.Info().Int("roots", all).Int(what, done).Int("leftOut", leftOut)
		if result != "" {
			ev.Str("result", result)
		}
		ev.Msg("roots")
		return
	}
	text := ""
	if result != "" {
		text = result + "; "
	}
	text += fmt.Sprintf("%d of %s %s", done, diag.Plural(all, "root"), what)
	if leftOut > 0 {
		text += fmt.Sprintf("; %d left out", leftOut)
	}
	r.W.Line(terminal.Span{Text: text})
}

// Result prints the last line of a command.
func (r Reporter) Result(text string) {
	if r.JSON {
		z := zerolog.New(r.W.Safe).With().Timestamp().Logger()
		z.Info().Msg(text)
		return
	}
	r.W.Line(terminal.Span{Text: text})
}

// Limits of a message, which may quote long text from the input.
const (
	maxMessageLine  = 4 << 10
	maxMessageLines = 50
)

// short returns err with the number and length of its lines limited.
func short(err error) error {
	if len(err.Error()) <= maxMessageLine {
		return err
	}
	e := *atPlace(err)
	e.Field, e.Msg = truncate(e.Field), truncate(e.Msg)
	hints := e.Hints
	e.Hints = nil
	for i, h := range hints {
		if i == maxMessageLines {
			e.Hint("and %s", diag.Count(len(hints)-i, "more line"))
			break
		}
		e.Hints = append(e.Hints, truncate(h))
	}
	return &e
}

func truncate(line string) string {
	if len(line) <= maxMessageLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxMessageLine], "") + " ... and " + diag.Count(len(line)-maxMessageLine, "more byte")
}

// Print prints err as one error.
func (r Reporter) Print(err error) {
	r.found(err)
	r.print(err, map[diag.Code]bool{})
}

// print prints an error. The hint for a code is printed only the first time: told has the codes
// for which it was printed.
func (r Reporter) print(err error, told map[diag.Code]bool) {
	if r.JSON {
		z := zerolog.New(r.W.Safe).With().Timestamp().Logger()
		ev := z.Error()
		var node *scheduler.NodeError
		if errors.As(err, &node) {
			ev.Str("node", node.Node.ID)
		}
		e := *atPlace(err)
		e.Code = codeOf(err)
		send(ev, &e)
		return
	}
	for i, line := range strings.Split(err.Error(), "\n") {
		if strings.HasPrefix(line, "  ") {
			r.W.Line(terminal.Span{Text: line})
		} else {
			headline(r.W, terminal.BoldRed, "Error:", line, atPlace(err).Pos)
		}
		if i == 0 {
			r.excerpt(atPlace(err), codeOf(err))
		}
	}
	if code := codeOf(err); r.Source != nil && !told[code] && explained(code) {
		told[code] = true
		r.W.Line(terminal.Span{Text: "  see krmflow explain " + string(code)})
	}
}

// explained reports whether the explain hint is printed for a code. It is omitted for errors of
// the command line, which already have a hint to its help, and for codes without a specific
// explanation.
func explained(code diag.Code) bool {
	return code != diag.General && code != diag.Bug && code != diag.Stopped && !strings.HasPrefix(string(code), "KF020")
}

// excerpt prints the source line that an error refers to, if the line itself is the cause. That
// is not the case if a function is denied or has failed.
func (r Reporter) excerpt(e *diag.Error, code diag.Code) {
	if r.Source == nil || e.Pos.Line == 0 || !strings.HasPrefix(string(code), "KF01") || code == diag.General || code == diag.BadChart {
		return
	}
	if src := r.Source(e.Pos.File); src != nil && !(src.MayHoldSecrets() && aboutValues(e)) {
		for i, line := range excerpt(src.Text(), e, code) {
			color := terminal.Plain
			if i > 0 { // the underline
				color = terminal.Dim
			}
			r.W.Line(terminal.Span{Color: color, Text: line})
		}
	}
}

// aboutValues reports whether an error concerns a literal or an inline patch, which can contain
// values of Secrets.
func aboutValues(e *diag.Error) bool {
	return strings.Contains(e.Msg, "literals[") || strings.HasPrefix(e.Field, "patches")
}

// atPlace returns err as a [diag.Error] with its position.
func atPlace(err error) *diag.Error {
	var node *scheduler.NodeError
	if errors.As(err, &node) {
		return node.At()
	}
	return diag.AsError(err)
}

// send logs e with its file, line, field, hints and code, as far as it has them.
func send(ev *zerolog.Event, e *diag.Error) {
	if e.Pos.File != "" {
		ev.Str("file", e.Pos.File)
	}
	if e.Pos.Line > 0 {
		ev.Int("line", e.Pos.Line)
	}
	if e.Field != "" {
		ev.Str("field", e.Field)
	}
	if len(e.Hints) > 0 {
		ev.Strs("hints", e.Hints)
	}
	if e.Code != "" {
		ev.Str("code", string(e.Code))
	}
	ev.Msg(e.Msg)
}

// Bug prints an internal error of krmflow. The stack trace is only printed on request, because
// it may reveal secrets of the input.
func (r Reporter) Bug(bug *diag.PanicError) {
	e := &diag.Error{Msg: fmt.Sprintf("%v: this is a bug in krmflow, please report it", bug)}
	if os.Getenv("KRMFLOW_DEBUG") == "" {
		e.Hint("set KRMFLOW_DEBUG=1 to show where; check the output for secrets before you share it")
	} else {
		e.Hints = slices.Collect(strings.SplitSeq(fmt.Sprintf("%v\n%s", bug.Value, bug.Stack), "\n"))
	}
	r.Print(e)
}

// headline prints the line of a message that begins with its severity and position.
func headline(w terminal.Painter, color terminal.Color, severity, line string, pos diag.Pos) {
	spans := []terminal.Span{{Color: color, Text: severity}, {Text: " "}}
	if at := pos.String(); pos.File != "" && strings.HasPrefix(line, at+": ") {
		spans = append(spans, terminal.Span{Color: terminal.Bold, Text: at})
		line = line[len(at):]
	}
	w.Line(append(spans, terminal.Span{Text: line})...)
}

// severityOf returns the severity at the beginning of the result of a function, and its color.
func severityOf(text string) (terminal.Color, string) {
	for severity, color := range map[string]terminal.Color{"error": terminal.BoldRed, "warning": terminal.BoldYellow,
		"info": terminal.Cyan} {
		if text == severity || strings.HasPrefix(text, severity+":") {
			return color, severity
		}
	}
	return terminal.Plain, ""
}
