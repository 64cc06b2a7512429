package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/messages"
)

// indented returns v as indented JSON.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

type jsonFinding struct {
	Level   Level    `json:"level"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Field   string   `json:"field,omitempty"`
	Code    string   `json:"code,omitempty"`
	Message string   `json:"message"`
	Hints   []string `json:"hints,omitempty"`
}

type jsonRoot struct {
	Dir     string   `json:"dir"`
	Status  string   `json:"status"`
	Reasons []string `json:"reasons,omitempty"`
}

func (r *Report) json() ([]byte, error) {
	out := struct {
		Command  string        `json:"command"`
		Version  string        `json:"version"`
		Roots    []jsonRoot    `json:"roots"`
		Findings []jsonFinding `json:"findings"`
	}{r.Command, r.Version, []jsonRoot{}, []jsonFinding{}}
	for _, root := range r.Roots {
		status := "done"
		if root.Failed {
			status = "failed"
		}
		out.Roots = append(out.Roots, jsonRoot{root.Dir, status, root.Reasons})
	}
	for _, f := range r.findings {
		out.Findings = append(out.Findings, jsonFinding{f.Level, f.Pos.File, f.Pos.Line, f.Field, string(f.Code), f.Msg, f.Hints})
	}
	return indented(out)
}

// sarif returns the report as SARIF 2.1.0. Paths are relative to the working directory, which
// is assumed to be the root of the repository when the report is uploaded. Findings without a
// file are notifications of the run, because code scanning rejects reports with a result that
// has no location.
func (r *Report) sarif() ([]byte, error) {
	type object = map[string]any
	results, notes := []object{}, []object{}
	for _, f := range r.findings {
		message := object{"text": strings.Join(append([]string{f.text()}, f.Hints...), "\n")}
		if f.Pos.File == "" {
			notes = append(notes, object{"level": f.Level, "associatedRule": object{"id": ruleID(f.Code)}, "message": message})
			continue
		}
		place := object{"artifactLocation": object{"uri": uri(f.Pos.File)}}
		if f.Pos.Line > 0 {
			place["region"] = object{"startLine": f.Pos.Line}
		}
		results = append(results, object{"level": f.Level, "ruleId": ruleID(f.Code), "message": message,
			"locations": []object{{"physicalLocation": place}}})
	}
	// A run that found errors is still a successful execution: code scanning drops the results
	// of unsuccessful ones.
	invocation := object{"executionSuccessful": true, "toolExecutionNotifications": notes}
	driver := object{"name": "krmflow", "version": r.Version, "informationUri": "https://github.com/krmflow/krmflow", "rules": r.rules()}
	return indented(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs":    []object{{"tool": object{"driver": driver}, "invocations": []object{invocation}, "results": results}},
	})
}

// ruleID returns the code, or the general code if there is none.
func ruleID(code diag.Code) diag.Code { return cmp.Or(code, diag.General) }

// rules returns the SARIF rules for the codes that the report contains.
func (r *Report) rules() []map[string]any {
	type object = map[string]any
	found := map[diag.Code]bool{}
	for _, f := range r.findings {
		found[ruleID(f.Code)] = true
	}
	rules := []object{}
	for _, code := range slices.Sorted(maps.Keys(found)) {
		rule := object{"id": code, "helpUri": messages.URI(code)}
		if p := messages.Find(string(code)); p != nil {
			rule["shortDescription"] = object{"text": p.Title}
			rule["help"] = object{"text": p.String(), "markdown": p.Text}
		}
		rules = append(rules, rule)
	}
	return rules
}

// uri returns a path as a relative URI reference.
func uri(path string) string {
	var b strings.Builder
	for _, c := range []byte(filepath.ToSlash(path)) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`%?#[]<>"\^{|}:`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// junit returns the report with a test case for each root, and one more for errors that do not
// belong to a root.
func (r *Report) junit() []byte {
	var b bytes.Buffer
	failed, told := 0, map[string]bool{}
	for _, root := range r.Roots {
		if root.Failed {
			failed++
		}
		for _, text := range root.Reasons {
			told[text] = true
		}
	}
	var others []string
	for _, f := range r.findings {
		if text := f.line(); f.Level == Error && !told[text] {
			others = append(others, text)
		}
	}
	cases := len(r.Roots)
	if len(others) > 0 {
		cases, failed = cases+1, failed+1
	}
	fmt.Fprintf(&b,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"krmflow %s\" tests=\"%d\" failures=\"%d\">\n",
		escapeXML(r.Command), cases, failed)
	test := func(name string, failed bool, reasons []string) {
		fmt.Fprintf(&b, "<testcase classname=\"krmflow %s\" name=\"%s\"", escapeXML(r.Command), escapeXML(name))
		if !failed {
			b.WriteString("/>\n")
			return
		}
		first := "not rendered"
		if len(reasons) > 0 {
			first, _, _ = strings.Cut(reasons[0], "\n")
		}
		fmt.Fprintf(&b, ">\n<failure message=\"%s\">%s</failure>\n</testcase>\n", escapeXML(first), escapeXML(strings.Join(reasons, "\n")))
	}
	for _, root := range r.Roots {
		test(root.Dir, root.Failed, root.Reasons)
	}
	if len(others) > 0 {
		test("krmflow", true, others)
	}
	if warnings := r.warnings(); warnings != "" {
		fmt.Fprintf(&b, "<system-err>%s</system-err>\n", escapeXML(warnings))
	}
	b.WriteString("</testsuite>\n</testsuites>\n")
	return b.Bytes()
}

// line returns the finding in the form that is printed.
func (f Finding) line() string {
	return (&diag.Error{Pos: f.Pos, Field: f.Field, Msg: f.Msg, Hints: f.Hints}).Error()
}

func (r *Report) warnings() string {
	var b strings.Builder
	for _, f := range r.findings {
		if f.Level != Error {
			fmt.Fprintf(&b, "%s: %s\n", f.Level, f.line())
		}
	}
	return b.String()
}

// escapeXML escapes text for XML. Characters that XML forbids are escaped as [diag.Sanitise]
// does.
func escapeXML(text string) string {
	return xmlReplacer.Replace(diag.Sanitise(text))
}

var xmlReplacer = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#xA;", "\t", "&#x9;", "\uFFFE",
	`\ufffe`, "\uFFFF", `\uffff`)

// github returns the report as workflow commands, which GitHub displays next to the lines of a
// pull request.
func (r *Report) github() []byte {
	var b bytes.Buffer
	for _, f := range r.findings {
		level := string(f.Level)
		if f.Level == Note {
			level = "notice"
		}
		b.WriteString("::" + level)
		var properties []string
		if f.Pos.File != "" {
			properties = append(properties, "file="+escapeProperty(f.Pos.File))
		}
		if f.Pos.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", f.Pos.Line))
		}
		if len(properties) > 0 {
			b.WriteString(" " + strings.Join(properties, ","))
		}
		b.WriteString("::" + escapeData(strings.Join(append([]string{f.text()}, f.Hints...), "\n")) + "\n")
	}
	return b.Bytes()
}

var dataReplacer = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

func escapeData(text string) string { return dataReplacer.Replace(diag.Sanitise(text)) }

func escapeProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(text))
}
