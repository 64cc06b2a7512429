package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/command/run/merge"
	"github.com/krmflow/krmflow/internal/command/run/tree"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/rogpeppe/go-internal/diff"
)

// A report is the output of --dry-run.
type report struct {
	Functions []reportedFunction `json:"functions"`
	Files     []reportedFile     `json:"files"`
	Removed   []reportedResource `json:"removedResources"`
	// Known is false if a function may not run. The file changes are then unknown.
	Known bool `json:"filesKnown"`
}

type reportedFunction struct {
	ID       string `json:"id"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Scope    string `json:"scope"`
	Allowed  bool   `json:"allowed"`
	Decision string `json:"decision"`
}

type reportedFile struct {
	Path   string `json:"path"`
	Change string `json:"change"`
	Diff   string `json:"diff,omitempty"`
}

type reportedResource struct {
	ID   string `json:"id"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// print prints the effect of a run. changes is nil if it is unknown.
func (c *command) print(plan *planner.Plan, changes *tree.Changes) error {
	r := report{Functions: []reportedFunction{}, Files: []reportedFile{}, Removed: []reportedResource{}, Known: changes != nil}
	for op, n := range plan.Graph.Calls() {
		r.Functions = append(r.Functions, reported(plan, op, n))
	}
	if changes != nil {
		hide := secret.NewSet(func(s *secret.Set) {
			for _, root := range plan.Graph.Roots {
				c.secrets.Add(s, plan.Graph, root)
			}
		})
		for _, f := range changes.Files {
			r.Files = append(r.Files, reportedFile{f.Path, what(f), difference(f, hide)})
		}
		for _, x := range changes.Removed {
			r.Removed = append(r.Removed, reportedResource{x.ID.String(), x.Pos.File, x.Pos.Line})
		}
	}
	if c.form == "json" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		return c.Print(string(text) + "\n")
	}
	return c.Print(r.text())
}

func reported(plan *planner.Plan, op graph.Call, n *graph.Node) reportedFunction {
	f := reportedFunction{ID: n.ID, File: op.ConfigPos.File, Line: op.ConfigPos.Line, Scope: "."}
	if x, ok := op.Files.(*call); ok {
		f.Scope = x.scope
	}
	if d := plan.Decisions[n.ID]; d != nil {
		f.Allowed, f.Decision = d.Allowed, d.Line()
	}
	return f
}

func (r *report) text() string {
	var b strings.Builder
	b.WriteString("functions, in this order:\n")
	for i, f := range r.Functions {
		fmt.Fprintf(&b, "  %d. %s  gets %s\n     %s\n", i+1, clean(f.ID), clean(scopeText(f.Scope)), clean(f.Decision))
	}
	if len(r.Functions) == 0 {
		b.WriteString("  none\n")
	}
	b.WriteString("files:\n")
	for _, f := range r.Files {
		fmt.Fprintf(&b, "  %s %s\n", f.Change, clean(f.Path))
	}
	switch {
	case !r.Known:
		b.WriteString("  not known, because not all functions may run\n")
	case len(r.Files) == 0:
		b.WriteString("  none changes\n")
	}
	if len(r.Removed) > 0 {
		b.WriteString("removed resources:\n")
		for _, x := range r.Removed {
			fmt.Fprintf(&b, "  %s  %s:%d\n", clean(x.ID), clean(x.File), x.Line)
		}
	}
	for _, f := range r.Files {
		b.WriteString(f.Diff)
	}
	return b.String()
}

func scopeText(scope string) string {
	if scope == "." {
		return "all of the directory"
	}
	return scope + "/ and below"
}

// clean makes foreign text safe for one line of a terminal.
func clean(s string) string { return diag.Sanitise(diag.OneLine(s)) }

// difference returns a unified diff of a file without Secret values. It returns "" for the file
// of generated resources.
func difference(f tree.Change, hide *secret.Set) string {
	if f.Path == merge.File {
		return ""
	}
	old, now := "a/"+f.Path, "b/"+f.Path
	if f.Old == nil {
		old = "/dev/null"
	}
	if f.New == nil {
		now = "/dev/null"
	}
	if hasSecret(f.Old) || hasSecret(f.New) {
		return fmt.Sprintf("--- %s\n+++ %s\n(it has a Secret: its changes are not shown)\n", clean(old), clean(now))
	}
	text := string(diff.Diff(old, []byte(hide.Hide(string(f.Old))), now, []byte(hide.Hide(string(f.New)))))
	if text == "" {
		return fmt.Sprintf("--- %s\n+++ %s\n(the change is a copy of a Secret's value, which is not shown)\n", clean(old), clean(now))
	}
	_, text, _ = strings.Cut(text, "\n") // header line: diff OLD NEW
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(diag.Sanitise(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return b.String()
}

// hasSecret reports whether a file contains a Secret. It returns true for a file that cannot be
// parsed.
func hasSecret(text []byte) bool {
	docs, err := (&yaml.Source{Data: text}).Configs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(docs, func(d yaml.Document) bool { return secret.In(d.Value) })
}
