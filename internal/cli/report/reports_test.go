package report

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
)

// FuzzReports checks that no text of a tree breaks a report or adds to it.
func FuzzReports(f *testing.F) {
	f.Add("a b/#x:1.yaml", "f]]>", "line\n::error::forged\r\x1b[31m & <x> \"q\" \ufffe 100%")
	f.Add("", "", "\xff\x00,file=other")
	f.Fuzz(func(t *testing.T, file, field, msg string) {
		r := &Report{Command: "build", Version: "v1", Roots: []Root{{Dir: file}, {Dir: msg, Failed: true, Reasons: []string{msg, field}}}}
		r.Add(Finding{Level: Error, Pos: diag.Pos{File: file, Line: 3}, Field: field, Msg: msg, Hints: []string{msg}})
		r.Add(Finding{Level: Note, Msg: msg})

		text, _ := r.Text(JUnit)
		d := xml.NewDecoder(strings.NewReader(string(text)))
		elements := 0
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if _, ok := token.(xml.StartElement); ok {
				elements++
			}
		}
		if want := 6; elements != want && elements != want+2 { // the second case if no root reports the finding
			t.Errorf("%d elements:\n%s", elements, text)
		}
		for _, form := range []string{SARIF, JSON} {
			if text, err := r.Text(form); err != nil || !json.Valid(text) {
				t.Errorf("%s: %v:\n%s", form, err, text)
			}
		}
		text, _ = r.Text(GitHub)
		if n := strings.Count(string(text), "\n"); n != 2 || strings.ContainsAny(string(text), "\r\x1b") {
			t.Errorf("%d lines: %q", n, text)
		}
	})
}
