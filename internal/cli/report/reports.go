// Package report writes the findings of a run for other programs: as SARIF for code scanning,
// as JUnit XML for test reports, as annotations of GitHub pull requests, and as JSON. Package
// console prints them for people.
package report

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
)

// A Level is the severity of a [Finding].
type Level string

const (
	Error   Level = "error"
	Warning Level = "warning"
	Note    Level = "note"
)

// A Finding is an error, a warning, a denied function or a result of a function.
type Finding struct {
	Level Level
	// Pos is the place of the finding and Field the field there. Both may be empty.
	Pos   diag.Pos
	Field string
	// Msg states the problem. Hints suggest solutions.
	Msg   string
	Hints []string
	// Code is the kind of the message.
	Code diag.Code
}

// text returns the message, preceded by its field.
func (f Finding) text() string {
	if f.Field == "" {
		return f.Msg
	}
	return f.Field + ": " + f.Msg
}

// A Root is a directory that a run was asked to render.
type Root struct {
	Dir    string
	Failed bool
	// Reasons are the messages about a failed root, as far as they are known.
	Reasons []string
}

// A Report has the findings of a run. [Report.Add] may be called concurrently. The other
// methods must not be called before the last Add has returned.
type Report struct {
	// Command is the name of the command, Version the version of krmflow.
	Command, Version string
	// Roots are the roots of the run, as far as they are known.
	Roots []Root

	mu       sync.Mutex
	findings []Finding
}

// Add adds a finding.
func (r *Report) Add(f Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.findings = append(r.findings, f)
}

// Errors returns the number of findings that are errors.
func (r *Report) Errors() (n int) {
	for _, f := range r.findings {
		if f.Level == Error {
			n++
		}
	}
	return n
}

// The forms of a report.
const (
	SARIF  = "sarif"
	JUnit  = "junit"
	JSON   = "json"
	GitHub = "github"
)

// A Target is the destination of a report: a file, or stderr for [GitHub].
type Target struct{ Form, File string }

// ParseTargets parses values of the flag --report: FORM=FILE, separated by commas. The form
// github has no file.
func ParseTargets(values []string) (targets []Target, err error) {
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			form, file, _ := strings.Cut(one, "=")
			forms := []string{SARIF, JUnit, JSON, GitHub}
			switch {
			case !slices.Contains(forms, form):
				e := diag.Errorf(diag.Pos{}, "", "--report: unknown form %q; forms: %s", form, strings.Join(forms, ", "))
				e.Hints = diag.DidYouMean(form, forms)
				return nil, e
			case form == GitHub && file != "":
				return nil, errors.New("--report: github writes to stderr, where GitHub looks for annotations, and takes no file")
			case form != GitHub && file == "":
				return nil, fmt.Errorf("--report: %s needs a file: %[1]s=FILE", form)
			case file == "-":
				return nil, fmt.Errorf("--report: %s needs a file, because stdout is for the rendered output: %[1]s=FILE", form)
			}
			targets = append(targets, Target{form, file})
		}
	}
	return targets, nil
}

// MayBe reports whether a file with this beginning may be a report of any tool: it is empty,
// JSON or XML.
func MayBe(start []byte) bool {
	start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\ufeff")), " \t\r\n")
	return len(start) == 0 || start[0] == '{' || start[0] == '[' || start[0] == '<' && !bytes.HasPrefix(start, []byte("<<"))
}

// Text returns the report in the given form.
func (r *Report) Text(form string) ([]byte, error) {
	switch form {
	case SARIF:
		return r.sarif()
	case JUnit:
		return r.junit(), nil
	case GitHub:
		return r.github(), nil
	}
	return r.json()
}
