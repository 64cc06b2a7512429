package console

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/rs/zerolog"
)

// A Reporter prints what ended the command to W: lines for people, or if JSON is true one object a line.
type Reporter struct {
	W    io.Writer
	JSON bool
}

// PrintEach prints each of the errors that err joins. What is long is cut.
func (r Reporter) PrintEach(err error) {
	var list diag.Mistakes
	list.Add(err)
	for _, problem := range list.Errors() {
		r.Print(short(problem))
	}
}

// What a message may have: the text of the input in it may be long.
const (
	maxMessageLine  = 4 << 10
	maxMessageLines = 50
)

// short returns an error that has few lines of bearable length.
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
	if r.JSON {
		z := zerolog.New(r.W).With().Timestamp().Logger()
		ev := z.Error()
		var node *scheduler.NodeError
		if errors.As(err, &node) {
			ev.Str("node", node.Node.ID)
		}
		send(ev, atPlace(err))
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if !strings.HasPrefix(line, "  ") {
			line = "Error: " + line
		}
		fmt.Fprintln(r.W, line)
	}
}

// atPlace returns err as an error at the place that it names.
func atPlace(err error) *diag.Error {
	var node *scheduler.NodeError
	if errors.As(err, &node) {
		return node.At()
	}
	return diag.AsError(err)
}

// send logs e with file, line, field and hints if it has them.
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
	ev.Msg(e.Msg)
}

// Bug prints that krmflow is wrong. What it was working on may be secret, so a stack is only printed on demand.
func (r Reporter) Bug(bug *diag.PanicError) {
	e := &diag.Error{Msg: fmt.Sprintf("%v: this is a bug of krmflow, please report it", bug)}
	if os.Getenv("KRMFLOW_DEBUG") == "" {
		e.Hint("KRMFLOW_DEBUG=1 shows where; look for secrets in it before you pass it on")
	} else {
		e.Hints = slices.Collect(strings.SplitSeq(fmt.Sprintf("%v\n%s", bug.Value, bug.Stack), "\n"))
	}
	r.Print(e)
}
