package affected

import (
	"cmp"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/review/inputs"
)

// Version is the apiVersion of the JSON form.
const Version = "krmflow.dev/v1alpha1"

// A Reason is why a root may have another output.
type Reason struct {
	// File is what has changed, as it is shown.
	File string `json:"file"`
	// Use is how the root uses that, see [inputs.Kind]: "root" says that it is the root itself.
	Use inputs.Kind `json:"use"`
	// Change is how it differs: [Added] and so on.
	Change string `json:"change"`
}

// A Root is one that a change can affect.
type Root struct {
	// Dir is its directory as the plan names it, or as it would be named if it is gone.
	Dir string `json:"root"`
	// State is [Changed], or [Added] or [Deleted] if it was no root or is none any more, or [Unknown] if the revision does not say whether it was one.
	State string `json:"state"`
	// Failed tells that it cannot be planned, or with --really that it could not be rendered.
	Failed  bool     `json:"failed,omitempty"`
	Reasons []Reason `json:"reasons"`
}

// unfetched is what the version of a reference begins with that could not be fetched.
const unfetched = "error "

// Why returns the reasons for which a root may be affected by changes, sorted, none if it is not.
func Why(r inputs.Root, changes Changes, n inputs.Naming) (all []Reason) {
	for _, in := range r.Inputs {
		for _, c := range changes.Of(in) {
			all = append(all, Reason{n.Name(c.Path), in.Kind, c.How})
		}
	}
	for _, remote := range r.Remote {
		if strings.HasPrefix(remote.Version, unfetched) { // nobody knows what it would have read then
			all = append(all, Reason{remote.Reference, "remote", Unknown})
		}
	}
	return sorted(all)
}

// sorted returns the reasons by the names of files. Of several about one change, the first stays.
func sorted(all []Reason) []Reason {
	slices.SortStableFunc(all, func(a, b Reason) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Change, b.Change))
	})
	return slices.CompactFunc(all, func(a, b Reason) bool { return a.File == b.File && a.Change == b.Change })
}

// WriteText writes the directories of the roots that are there: each in a line, or as it is with a zero byte behind it.
func WriteText(w io.Writer, roots []Root, null bool) error {
	var b strings.Builder
	for _, r := range roots {
		switch {
		case r.State == Deleted:
		case null:
			b.WriteString(r.Dir + "\x00")
		default:
			b.WriteString(inputs.Line(r.Dir) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes the roots with the reasons.
func WriteJSON(w io.Writer, roots []Root) error {
	doc := struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Roots      []Root `json:"roots"`
	}{Version, "Affected", []Root{}}
	for _, r := range roots {
		r.Dir = diag.JSONName(filepath.ToSlash(r.Dir))
		r.Reasons = append([]Reason{}, r.Reasons...)
		for i := range r.Reasons {
			r.Reasons[i].File = diag.JSONName(filepath.ToSlash(r.Reasons[i].File))
		}
		doc.Roots = append(doc.Roots, r)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
