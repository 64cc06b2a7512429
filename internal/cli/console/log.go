// Package console prints messages to stderr, as text or as JSON with one object per line. A
// [Logger] prints the events of a run, a [Reporter] the errors that ended it. Exit codes are in
// package exit.
package console

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/cli/findings"
	"github.com/krmflow/krmflow/internal/cli/report"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/roots"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/rs/zerolog"
)

// A Logger prints warnings and the events of a run to stderr, as text or as JSON with one
// object per line. It is safe for concurrent use.
type Logger struct {
	mu       sync.Mutex
	w        terminal.Painter
	level    zerolog.Level
	json     bool
	quiet    bool
	plain    bool
	found    func(report.Finding)
	rules    *findings.Rules
	errors   int            // warnings of level error
	z        zerolog.Logger // for JSON
	warnings int
	hidden   int                // number of warnings that were not printed
	groups   groups             // findings by place
	told     map[diag.Code]bool // codes whose explain hint was printed
	given    map[string]bool    // warnings of nodes that were printed
	fetching map[string]bool    // references whose fetch was printed
}

// maxWarnings is the maximum number of warnings that are printed.
const maxWarnings = 1000

// Options configure a [Logger].
type Options struct {
	JSON bool
	// Quiet suppresses warnings, fetches, and the messages of functions that did not fail. It
	// has no effect if JSON is true.
	Quiet bool
	// Plain omits the codes of warnings.
	Plain bool
	// Found is called with each warning and each result of a function, printed or not, for
	// reports. It may be nil.
	Found func(report.Finding)
	// Rules decide about the warnings. They may be nil.
	Rules *findings.Rules
	// Level is the lowest level to print: debug, info, warn or error. The default is info if
	// JSON is true, otherwise warn.
	Level string
}

// NewLogger returns a Logger that prints to w.
func NewLogger(w terminal.Painter, o Options) *Logger {
	l := &Logger{w: w, json: o.JSON, quiet: o.Quiet, plain: o.Plain, found: o.Found, rules: o.Rules, told: map[diag.Code]bool{},
		given:    map[string]bool{},
		fetching: map[string]bool{}}
	if l.rules == nil {
		l.rules = new(findings.Rules)
	}
	l.level = zerolog.WarnLevel
	if l.json {
		l.level = zerolog.InfoLevel
	}
	if o.Level != "" {
		l.level, _ = zerolog.ParseLevel(o.Level) // cannot fail: flags allow only these four levels
	}
	l.z = zerolog.New(w.Safe).Level(l.level).With().Timestamp().Logger()
	return l
}

// line prints a line of text without colors.
func (l *Logger) line(format string, args ...any) {
	l.w.Line(terminal.Span{Text: fmt.Sprintf(format, args...)})
}

// event prints a line about an event if events of the level are logged.
func (l *Logger) event(level zerolog.Level, format string, args ...any) {
	if l.level <= level {
		l.w.Line(terminal.Span{Color: terminal.Cyan, Text: "Info:"}, terminal.Span{Text: " " + fmt.Sprintf(format, args...)})
	}
}

// Warn counts a warning and prints it, unless the maximum number of warnings has been printed. A
// finding that can occur several times at its place is printed later: see [groups].
func (l *Logger) Warn(w planner.Warning) {
	e := w.Message()
	switch level := l.rules.Level(e); {
	case level == diag.LevelOff:
	case isGrouped(e):
		l.mu.Lock()
		defer l.mu.Unlock()
		if g := l.groups.add(e, level); g != nil {
			g.hidden = !l.count(level)
		}
	default:
		l.report(reportLevels[level], e)
		l.warn(w, level)
	}
}

// reportLevels are the levels in reports.
var reportLevels = map[diag.Level]report.Level{diag.LevelInfo: report.Note, diag.LevelWarning: report.Warning,
	diag.LevelError: report.Error}

// Notice prints a warning that does not concern the rendered resources. It is not counted.
func (l *Logger) Notice(w planner.Warning) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.print(w, diag.LevelWarning)
}

// report adds a message to the report, if one was requested.
func (l *Logger) report(level report.Level, e *diag.Error) {
	if l.found != nil {
		l.found(report.Finding{Level: level, Pos: e.Pos, Field: e.Field, Msg: e.Msg, Hints: e.Hints, Code: codeOf(e)})
	}
}

func (l *Logger) warn(w planner.Warning, level diag.Level) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count(level) {
		l.print(w, level)
	}
}

// count counts a warning and reports whether it is printed.
func (l *Logger) count(level diag.Level) bool {
	if level == diag.LevelInfo {
		return true
	}
	if level == diag.LevelError {
		l.errors++
	}
	l.warnings++
	if l.warnings-l.hidden > maxWarnings {
		l.hidden++
		return false
	}
	return true
}

// flush prints the grouped findings.
func (l *Logger) flush() {
	for _, g := range l.groups.take() {
		e := g.message()
		l.report(reportLevels[g.level], e)
		if !g.hidden {
			l.print(planner.WarningOf(e), g.level)
		}
	}
}

func (l *Logger) print(w planner.Warning, level diag.Level) {
	e := short(w.Message())
	switch {
	case l.json && level == diag.LevelInfo:
		send(l.z.Info(), diag.AsError(e))
	case l.json && level == diag.LevelError:
		send(l.z.Error(), diag.AsError(e))
	case l.json:
		send(l.z.Warn(), diag.AsError(e))
	case (l.quiet || l.level > zerolog.WarnLevel) && level != diag.LevelError:
	default:
		switch level {
		case diag.LevelInfo:
			headline(l.w, terminal.Cyan, "Notice:", e.Error(), w.Pos)
		case diag.LevelError:
			headline(l.w, terminal.BoldRed, "Error:", e.Error(), w.Pos)
		default:
			headline(l.w, terminal.BoldYellow, "Warning:", e.Error(), w.Pos)
		}
		if w.Code != "" && !l.plain && !l.told[w.Code] {
			l.told[w.Code] = true
			l.line("  see krmflow explain %s", w.Code)
		}
	}
}

// Planned prints the warnings of a plan. In text form, more than a few warnings that differ
// only in their places are merged into one.
func (l *Logger) Planned(plan *planner.Plan) {
	var all []error // of level warning
	add := func(e *diag.Error, level diag.Level) {
		l.report(reportLevels[level], e)
		if level == diag.LevelWarning {
			all = append(all, e)
		} else {
			l.warn(planner.WarningOf(e), level)
		}
	}
	l.mu.Lock()
	l.flush()
	l.mu.Unlock()
	for _, w := range plan.Warnings {
		e := w.Message()
		if level := l.rules.Level(e); level == diag.LevelOff {
			continue
		} else if isGrouped(e) {
			l.mu.Lock()
			l.groups.add(e, level)
			l.mu.Unlock()
		} else {
			add(e, level)
		}
	}
	l.mu.Lock()
	found := l.groups.take()
	l.mu.Unlock()
	for _, g := range found {
		add(g.message(), g.level)
	}
	told := all
	if !l.json {
		told = alike(all)
	}
	for _, err := range told {
		l.warn(planner.WarningOf(diag.AsError(err)), diag.LevelWarning)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings += len(all) - len(told) + plan.MoreWarnings
	l.hidden += plan.MoreWarnings
}

// WarnNode prints a warning of a running node, at the place of its configuration. Each warning
// is printed once, even if the graph has several variants of the same layer.
func (l *Logger) WarnNode(_ *graph.Node, warning func() *diag.Error) {
	var w planner.Warning
	if l.found != nil || l.hasRoom() {
		w = planner.WarningOf(warning())
		if l.repeats(w) {
			return
		}
	}
	l.Warn(w)
}

// repeats reports whether a running node has issued the same warning before, and records it.
func (l *Logger) repeats(w planner.Warning) bool {
	text := w.String()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.given[text] {
		return true
	}
	l.given[text] = true
	return false
}

// Warnings returns the number of warnings, including those that were not printed.
func (l *Logger) Warnings() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.warnings
}

// Errors returns the number of findings of level error.
func (l *Logger) Errors() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.errors
}

// hasRoom reports whether the next warning will be printed.
func (l *Logger) hasRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.warnings-l.hidden < maxWarnings
}

// End prints the remaining findings, and the number of warnings that were not printed. A nil Logger
// has none.
func (l *Logger) End() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	if l.hidden > 0 {
		l.print(planner.Warning{Msg: "and " + diag.Count(l.hidden, "more warning")}, diag.LevelWarning)
	}
}

// Node logs the end of a node.
func (l *Logger) Node(e scheduler.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.json && e.Err == nil:
		l.event(zerolog.InfoLevel, "%s %s: %s in %s", e.Node.Op.Verb(), diag.OneLine(e.Node.ID), diag.Plural(e.Resources, "resource"),
			e.Duration.Round(time.Microsecond))
	case !l.json: // the error itself is printed at the end
		l.event(zerolog.InfoLevel, "%s %s: failed after %s", e.Node.Op.Verb(), diag.OneLine(e.Node.ID), e.Duration.Round(time.Microsecond))
	default:
		ev := l.z.Info()
		if e.Err != nil {
			ev = l.z.Error().Str("error", diag.Sanitise(e.Err.Error()))
		}
		ev.Str("node", e.Node.ID).Str("verb", e.Node.Op.Verb()).Int("resources", e.Resources).Dur("ms", e.Duration).Msg("node")
	}
}

// Unchanged logs that a root is up to date from an earlier run.
func (l *Logger) Unchanged(dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.json {
		l.z.Info().Str("root", diag.Redact(dir)).Msg("unchanged")
		return
	}
	l.event(zerolog.InfoLevel, "%s: unchanged", diag.OneLine(diag.Redact(dir)))
}

// LeftOut logs the roots that were found but not selected, and why.
func (l *Logger) LeftOut(found *roots.Found) {
	l.mu.Lock()
	defer l.mu.Unlock()
	each := func(dir, why string) {
		dir, why = diag.Redact(dir), "left out"+diag.Redact(why)
		if l.json {
			l.z.Info().Str("root", dir).Msg(why)
			return
		}
		l.event(zerolog.InfoLevel, "%s: %s", diag.OneLine(dir), diag.OneLine(why))
	}
	for i, dir := range found.Used {
		each(dir, " by --leaves: "+found.UsedBy[i]+" uses it")
	}
	for _, dir := range found.Excluded {
		each(dir, " by --only or --exclude")
	}
	for _, o := range found.Skipped {
		each(o.Name, ": "+o.Reason)
	}
}

// Call prints the results, warnings and stderr of a function call.
func (l *Logger) Call(r scheduler.CallReport) {
	r = r.Shown()
	l.reportCall(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	name := r.Node.ID
	if r.Cached {
		l.cached(r.Node)
	}
	if l.json {
		for _, x := range r.Results {
			l.z.Info().Str("node", name).Interface("result", x).Msg("result")
		}
		l.warnings += len(r.Warnings)
		for _, w := range r.Warnings {
			l.z.Warn().Str("code", string(diag.FunctionWarning)).Str("node", name).Msg(w)
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
		// Indent the other lines of a message, so that none of them looks like a message by
		// itself.
		text := strings.ReplaceAll(strings.TrimRight(x.String(), "\n"), "\n", "\n  ")
		color, severity := severityOf(text)
		l.w.Line(terminal.Span{Text: name + ": "}, terminal.Span{Color: color, Text: severity}, terminal.Span{Text: text[len(severity):]})
	}
	l.warnings += len(r.Warnings)
	if l.quiet && !r.Failed {
		return
	}
	for _, w := range r.Warnings {
		headline(l.w, terminal.BoldYellow, "Warning:", name+": "+w, diag.Pos{})
	}
	for _, id := range r.Removed {
		l.line("%s: removed %s", name, id)
	}
	for line := range strings.Lines(string(r.Stderr)) {
		l.line("%s: %s", name, strings.TrimSuffix(line, "\n"))
	}
}

// cached logs that the answer of a function came from the cache.
func (l *Logger) cached(n *graph.Node) {
	if l.json {
		l.z.Debug().Str("node", n.ID).Msg("cached")
		return
	}
	l.event(zerolog.DebugLevel, "%s %s: cached", n.Op.Verb(), diag.OneLine(n.ID))
}

// reportCall adds the results of a function to the report, at the place of its configuration.
// The paths in the results come from annotations, which need not refer to files of the tree.
func (l *Logger) reportCall(r scheduler.CallReport) {
	if l.found == nil {
		return
	}
	at := func(level report.Level, code diag.Code, msg string) {
		l.report(level, &diag.Error{Pos: r.Node.Origin.Pos(), Field: r.Node.Origin.Field(), Msg: msg, Code: code})
	}
	for _, x := range r.Results {
		level := report.Error
		switch x.Severity {
		case "warning":
			level = report.Warning
		case "info":
			level = report.Note
		}
		at(level, diag.FunctionResults, x.String())
	}
	for _, w := range r.Warnings {
		at(report.Warning, diag.FunctionWarning, w)
	}
}

// Changes prints the changes to the output folder. They are the result of the command, so Quiet
// does not suppress them.
func (l *Logger) Changes(folder string, c output.Changes) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	switch {
	case l.json:
		l.z.Info().Str("folder", folder).Int("added", len(c.Added)).Int("changed", len(c.Changed)).
			Int("removed", len(c.Removed)).Int("unchanged", c.Unchanged).Msg("output")
	default:
		files := "files"
		if len(c.Added) == 1 {
			files = "file"
		}
		l.line("%s: %d %s added, %d changed, %d removed, %d unchanged", folder, len(c.Added), files, len(c.Changed), len(c.Removed),
			c.Unchanged)
	}
}

// Say prints a line about the result of the command.
func (l *Logger) Say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	if l.json {
		l.z.Info().Msgf(format, args...)
		return
	}
	l.line(format, args...)
}

// Wrote prints the change to an output file.
func (l *Logger) Wrote(file string, change output.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	if l.json {
		l.z.Info().Str("file", file).Str("change", string(change)).Msg("output")
		return
	}
	l.line("%s: %s", file, change)
}

// Fetch prints the progress of a fetch. Each reference is printed only once, although fetching
// a repository takes two requests, one for the commit and one for the files. A failed fetch is
// not printed here but with its error.
func (l *Logger) Fetch(e remote.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.json {
		l.z.Info().Str("reference", e.Reference).Str("state", string(e.State)).Int("attempt", e.Attempt).Dur("ms", e.Took).Msg("fetch")
		return
	}
	if l.quiet {
		return
	}
	switch e.State {
	case remote.Sending:
		l.line("sending %s", diag.Sanitise(e.Reference))
	case remote.Started:
		if !l.fetching[e.Reference] {
			l.fetching[e.Reference] = true
			l.line("fetching %s", diag.Sanitise(e.Reference))
		}
	case remote.Retrying:
		l.line("fetching %s again in %s", diag.Sanitise(e.Reference), e.Wait.Round(time.Millisecond))
	}
}
