package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/rs/zerolog"
)

// logger prints warnings, and what a run does, to stderr: as lines for people or as JSON, one object a line. It is safe
// for concurrent use.
type logger struct {
	mu       sync.Mutex
	w        io.Writer
	json     bool
	quiet    bool
	z        zerolog.Logger
	warnings int
	hidden   int             // warnings that are not printed
	fetching map[string]bool // references that there was a line about
}

// maxWarnings is how many warnings are printed.
const maxWarnings = 1000

func (f *flags) logger(w io.Writer) *logger {
	l := &logger{w: w, json: f.logFormat == "json", quiet: f.quiet && !f.strict, fetching: map[string]bool{}}
	level := zerolog.WarnLevel
	if l.json {
		level = zerolog.InfoLevel
	}
	if f.logLevel != "" {
		level, _ = zerolog.ParseLevel(f.logLevel) // validated before
	}
	if l.json {
		l.z = zerolog.New(w).Level(level).With().Timestamp().Logger()
	} else {
		l.z = zerolog.New(zerolog.ConsoleWriter{Out: w, NoColor: true, TimeFormat: time.TimeOnly}).Level(level).With().Timestamp().Logger()
	}
	return l
}

// warn prints a warning and counts it. Of very many it prints no more than the first.
func (l *logger) warn(w planner.Warning) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings++
	if l.warnings-l.hidden > maxWarnings {
		l.hidden++
		return
	}
	l.print(w)
}

func (l *logger) print(w planner.Warning) {
	e := short(&diag.Error{Pos: w.Pos, Field: w.Field, Msg: w.Msg, Hints: w.Hints})
	switch {
	case l.json:
		send(l.z.Warn(), diag.AsError(e))
	case !l.quiet && l.z.GetLevel() <= zerolog.WarnLevel:
		fmt.Fprintln(l.w, "Warning:", e)
	}
}

// planned prints the warnings of a plan.
func (l *logger) planned(plan *planner.Plan) {
	for _, w := range plan.Warnings {
		l.warn(w)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings += plan.MoreWarnings
	l.hidden += plan.MoreWarnings
}

// warnNode prints a warning of a running node at the place of its configuration.
func (l *logger) warnNode(n *graph.Node, msg func() string) {
	var w planner.Warning
	if l.hasRoom() {
		w = planner.Warning{Pos: n.Origin.Pos(), Field: n.Origin.Field(), Msg: msg()}
	}
	l.warn(w)
}

// hasRoom reports whether the next warning will be printed.
func (l *logger) hasRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.warnings-l.hidden < maxWarnings
}

// end says how many warnings were not printed. A nil logger has none.
func (l *logger) end() {
	if l != nil && l.hidden > 0 {
		l.print(planner.Warning{Msg: "and " + diag.Count(l.hidden, "more warning")})
	}
}

// node logs that a node has ended.
func (l *logger) node(e scheduler.Event) {
	if !l.z.Info().Enabled() && !l.json {
		return // the error itself is printed at the end
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	ev := l.z.Info()
	if e.Err != nil {
		ev = l.z.Error().Str("error", diag.Sanitise(e.Err.Error()))
	}
	ev.Str("node", e.Node.ID).Str("verb", e.Node.Op.Verb()).Int("resources", e.Resources).Dur("ms", e.Duration).Msg("node")
}

// report prints what a function has said besides its list.
func (l *logger) report(r scheduler.CallReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := r.Node.ID
	if l.json {
		for _, x := range r.Results {
			l.z.Info().Str("node", name).Interface("result", x).Msg("result")
		}
		l.warnings += len(r.Warnings)
		for _, w := range r.Warnings {
			l.z.Warn().Str("node", name).Msg(w)
		}
		for _, id := range r.Removed {
			l.z.Info().Str("node", name).Str("resource", id.String()).Msg("removed")
		}
		if len(r.Stderr) > 0 {
			l.z.Info().Str("node", name).Str("stderr", diag.Sanitise(string(r.Stderr))).Msg("stderr")
		}
		return
	}
	for _, x := range r.Results {
		// The lines of a message belong together: none must look like another message.
		fmt.Fprintf(l.w, "%s: %s\n", name, strings.ReplaceAll(strings.TrimRight(x.String(), "\n"), "\n", "\n  "))
	}
	l.warnings += len(r.Warnings)
	if l.quiet && !r.Failed {
		return
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(l.w, "Warning: %s: %s\n", name, w)
	}
	for _, id := range r.Removed {
		fmt.Fprintf(l.w, "%s: removed %s\n", name, id)
	}
	for line := range strings.Lines(string(r.Stderr)) {
		fmt.Fprintf(l.w, "%s: %s\n", name, strings.TrimSuffix(line, "\n"))
	}
}

// changes tells what a run changed in the output folder.
func (l *logger) changes(folder string, c output.Changes) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.json:
		l.z.Info().Str("folder", folder).Int("added", len(c.Added)).Int("changed", len(c.Changed)).
			Int("removed", len(c.Removed)).Int("unchanged", c.Unchanged).Msg("output")
	case !l.quiet:
		files := "files"
		if len(c.Added) == 1 {
			files = "file"
		}
		fmt.Fprintf(l.w, "%s: %d %s added, %d changed, %d removed, %d unchanged\n", folder, len(c.Added), files, len(c.Changed), len(c.Removed), c.Unchanged)
	}
}
