package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/cli/console"
	"github.com/krmflow/krmflow/internal/cli/exit"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/scheduler"
)

type buggy struct{}

func (buggy) Transform(*krm.List, diag.Warn) error { panic("secret value") }

// A bug report does not contain the data being processed. KRMFLOW_DEBUG shows the value and the
// stack.
func TestReportBug(t *testing.T) {
	g := &graph.Graph{}
	g.Add(&graph.Node{ID: "k#patches[0]", Op: graph.Transform{Transformer: buggy{}}})
	errs := scheduler.Run(t.Context(), g, scheduler.Options{})
	for _, debug := range []string{"", "1"} {
		t.Setenv("KRMFLOW_DEBUG", debug)
		for _, asJSON := range []bool{false, true} {
			var b bytes.Buffer
			code := report(console.Reporter{W: terminal.Painter{Safe: &b}, JSON: asJSON}, errors.Join(errs...))
			text := b.String()
			if code != exit.Internal || !strings.Contains(text, "internal error in k#patches[0]: this is a bug in krmflow") {
				t.Errorf("debug %q, JSON %v: exit code %d\n%s", debug, asJSON, code, text)
			}
			if shown := strings.Contains(text, "buggy.Transform") && strings.Contains(text, "secret value"); shown != (debug != "") {
				t.Errorf("debug %q, JSON %v: stack and value are shown: %v\n%s", debug, asJSON, shown, text)
			}
			if strings.Contains(text, "KRMFLOW_DEBUG=1") != (debug == "") {
				t.Errorf("debug %q, JSON %v: KRMFLOW_DEBUG\n%s", debug, asJSON, text)
			}
			if asJSON && !json.Valid(b.Bytes()) {
				t.Errorf("debug %q: no JSON\n%s", debug, text)
			}
		}
	}
}

// Every problem is one JSON object, even if its text contains invalid UTF-8 or control characters.
func TestReportJSON(t *testing.T) {
	var b bytes.Buffer
	err := errors.Join(
		options.UsageError(errors.New("one\x7f\u0085\u202e\xff")),
		&exit.Error{Code: exit.Output, Err: errors.Join(diag.Errorf(diag.Pos{File: "f", Line: 3}, "x[0]", "two\nforged").Hint("do"),
			errors.New("three\n  no hint"))})
	if code := report(console.Reporter{W: terminal.Painter{Safe: diag.SanitisingWriter(&b)}, JSON: true}, err); code != exit.Usage {
		t.Errorf("exit code %d", code)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		var o struct {
			Level, Message, File, Field string
			Line                        int
			Hints                       []string
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil || o.Level != "error" {
			t.Fatalf("%v: %s", err, line)
		}
		got = append(got, o.Message+"|"+o.File+"|"+o.Field+"|"+strings.Join(o.Hints, ";"))
	}
	want := []string{"one\x7f\u0085\u202e\ufffd|||", "two\nforged|f|x[0]|do", "three\n  no hint|||"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
