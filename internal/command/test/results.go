package test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// A Report is the result of all suites, in order.
type Report struct {
	// Name is the command without its arguments, for JUnit's XML.
	Name   string
	Suites []SuiteReport
}

// A SuiteReport is the result of one suite.
type SuiteReport struct {
	*Suite
	Results []*Result
}

// Failed returns the number of failed tests and the total.
func (r *Report) Failed() (failed, all int) {
	for _, s := range r.Suites {
		f := s.failed()
		failed, all = failed+f, all+len(s.Results)
	}
	return failed, all
}

func (s SuiteReport) failed() (n int) {
	for _, t := range s.Results {
		if !t.Passed() {
			n++
		}
	}
	return n
}

// WriteText writes the report for people: one line per root, followed by its failures.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, s := range r.Suites {
		if len(s.Results) == 0 {
			continue
		}
		if n := s.failed(); n > 0 {
			fmt.Fprintf(&b, "FAIL  %s: %d of %s\n", diag.Redact(s.Root), n, diag.Count(len(s.Results), "test"))
		} else {
			fmt.Fprintf(&b, "ok    %s: %s\n", diag.Redact(s.Root), diag.Count(len(s.Results), "test"))
		}
		for _, t := range s.Results {
			if t.Updated != "" {
				fmt.Fprintf(&b, "      %s: %s is updated\n", t.Name, t.Updated)
			}
			if t.Passed() {
				continue
			}
			fmt.Fprintf(&b, "  %s\n", t.Name)
			for _, e := range t.Failures {
				b.WriteString(indented(e))
			}
		}
	}
	_, err := io.WriteString(w, diag.Sanitise(b.String()))
	return err
}

// indented returns a failure with its hints, indented.
func indented(e *diag.Error) string {
	return "    " + strings.ReplaceAll(e.Error(), "\n", "\n    ") + "\n"
}

// A document is the JSON form of the report.
type document struct {
	Version int         `json:"version"`
	Tests   int         `json:"tests"`
	Failed  int         `json:"failed"`
	Suites  []suiteJSON `json:"suites"`
}

type suiteJSON struct {
	File  string     `json:"file"`
	Root  string     `json:"root"`
	Tests []testJSON `json:"tests"`
}

type testJSON struct {
	Name     string        `json:"name"`
	Line     int           `json:"line"`
	Passed   bool          `json:"passed"`
	Updated  string        `json:"updated,omitempty"`
	Failures []failureJSON `json:"failures,omitempty"`
}

type failureJSON struct {
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Field   string   `json:"field,omitempty"`
	Message string   `json:"message"`
	Hints   []string `json:"hints,omitempty"`
}

// WriteJSON writes the report for programs. Fields may be added without a new version.
func (r *Report) WriteJSON(w io.Writer) error {
	d := document{Version: 1, Suites: []suiteJSON{}}
	d.Failed, d.Tests = r.Failed()
	for _, s := range r.Suites {
		suite := suiteJSON{File: s.File, Root: diag.Redact(s.Root), Tests: []testJSON{}}
		for _, t := range s.Results {
			test := testJSON{Name: t.Name, Line: t.Pos.Line, Passed: t.Passed(), Updated: t.Updated}
			for _, e := range t.Failures {
				test.Failures = append(test.Failures, failureJSON{e.Pos.File, e.Pos.Line, e.Field, e.Msg, e.Hints})
			}
			suite.Tests = append(suite.Tests, test)
		}
		d.Suites = append(d.Suites, suite)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		File     string      `xml:"file,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report as JUnit XML, with a suite for each root and a case for each
// test.
func (r *Report) WriteJUnit(w io.Writer) error {
	d := junitSuites{Name: r.Name}
	d.Failures, d.Tests = r.Failed()
	for _, s := range r.Suites {
		suite := junitSuite{Name: diag.Redact(s.Root), File: s.File, Tests: len(s.Results), Failures: s.failed()}
		for _, t := range s.Results {
			c := junitCase{Name: t.Name, Class: suite.Name, File: t.Pos.File, Line: t.Pos.Line}
			if !t.Passed() {
				f := &junitFailure{Message: diag.OneLine(t.Failures[0].Msg)}
				for _, e := range t.Failures {
					f.Text += diag.Sanitise(e.Error()) + "\n"
				}
				c.Failure = f
			}
			suite.Cases = append(suite.Cases, c)
		}
		d.Suites = append(d.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(d); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
