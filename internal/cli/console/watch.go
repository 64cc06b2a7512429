package console

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// Watching prints that the run waits for changes to the inputs of its roots.
func (l *Logger) Watching(roots int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.json:
		l.z.Info().Int("roots", roots).Msg("watching")
	case !l.quiet:
		l.line("watching %s; Ctrl-C ends", diag.Count(roots, "root"))
	}
}

// Again prints that a run starts again because files have changed. files may be empty if the
// changed files are unknown.
func (l *Logger) Again(files []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.json:
		l.z.Info().Strs("files", files).Msg("changed")
	case l.quiet:
	case len(files) == 0:
		l.line("--- something changed")
	case len(files) <= 2:
		l.line("--- changed: %s", strings.Join(files, " "))
	default:
		l.line("--- changed: %s and %d more", files[0], len(files)-1)
	}
}
