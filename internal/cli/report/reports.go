// Package report writes what a run has found wrong for machines: as SARIF for code scanning, as JUnit's XML for test reports, as
// annotations of GitHub's pull requests, and as JSON. The lines for people are not its subject: see package console.
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

// A Level is how bad a [Finding] is.
type Level string

const (
	Error   Level = "error"
	Warning Level = "warning"
	Note    Level = "note"
)

// A Finding is something that a run has found: a mistake, a warning, a denied function, or a result of a function.
type Finding struct {
	Level Level
	// Pos is the place that it is about, and Field the field there; both may be empty.
	Pos   diag.Pos
	Field string
	// Msg says what is wrong, and Hints what to do about it.
	Msg   string
	Hints []string
	// Code is which kind of message it is.
	Code diag.Code
}

// text returns the message with its field.
func (f Finding) text() string {
	if f.Field == "" {
		return f.Msg
	}
	return f.Field + ": " + f.Msg
}

// A Root is a directory that a run was asked for.
type Root struct {
	Dir    string
	Failed bool
	// Reasons are the messages about it, if it has failed and they are known.
	Reasons []string
}

// A Report is all that a run has found. Its methods are safe for concurrent use.
type Report struct {
	// Command is the name of the command, and Version that of krmflow.
	Command, Version string
	// Roots are what the run was asked for, as far as that is known.
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

// Errors returns how many findings are errors.
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

// A Target is where a report goes: a file, or for [GitHub] stderr.
type Target struct{ Form, File string }

// ParseTargets returns the targets that the values of the flag --report name: FORM=FILE, separated by commas; github has no file.
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
				return nil, errors.New("--report: github writes to stderr, where GitHub looks for annotations: it has no file")
			case form != GitHub && file == "":
				return nil, fmt.Errorf("--report: %s needs a file: %[1]s=FILE", form)
			case file == "-":
				return nil, fmt.Errorf("--report: %s needs a file, stdout is for what is rendered: %[1]s=FILE", form)
			}
			targets = append(targets, Target{form, file})
		}
	}
	return targets, nil
}

// MayBe reports whether a file that starts so may be a report of any tool: it is empty, or JSON or XML.
func MayBe(start []byte) bool {
	start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\ufeff")), " \t\r\n")
	return len(start) == 0 || start[0] == '{' || start[0] == '[' || start[0] == '<' && !bytes.HasPrefix(start, []byte("<<"))
}

// Text returns the report in a form.
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
