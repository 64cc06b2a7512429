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

// Version is the apiVersion of the JSON output.
const Version = "krmflow.dev/v1alpha1"

// A Reason is one change that can affect the output of a root.
type Reason struct {
	// File is the display name of the changed file.
	File string `json:"file"`
	// Use is how the root uses the file, see [inputs.Kind]. It is "root" for the root itself
	// and "remote" for a remote reference.
	Use inputs.Kind `json:"use"`
	// Change is how the file differs: [Added], [Deleted], [Changed], [Named] or [Unknown].
	Change string `json:"change"`
}

// A Root is a root that a change can affect.
type Root struct {
	// Dir is the directory as the plan names it. For a deleted root it is the name that the
	// plan would use.
	Dir string `json:"root"`
	// State is [Changed], [Added] or [Deleted]. It is [Unknown] if the revision cannot tell
	// whether it contains the root.
	State string `json:"state"`
	// Failed reports that the root cannot be planned or, with --really, could not be rendered.
	Failed  bool     `json:"failed,omitempty"`
	Reasons []Reason `json:"reasons"`
}

// unfetched is the prefix of the version of a reference whose fetch failed.
const unfetched = "error "

// Why returns the reasons why changes may affect a root, sorted. The result is empty if the
// root is not affected.
func Why(r inputs.Root, changes Changes, n inputs.Naming) (all []Reason) {
	for _, in := range r.Inputs {
		for _, c := range changes.Of(in) {
			all = append(all, Reason{n.Name(c.Path), in.Kind, c.How})
		}
	}
	for _, remote := range r.Remote {
		if strings.HasPrefix(remote.Version, unfetched) { // the fetched content is unknown, so any change may matter
			all = append(all, Reason{remote.Reference, "remote", Unknown})
		}
	}
	return sorted(all)
}

// sorted sorts reasons by file name and keeps the first of several reasons with the same file
// and change.
func sorted(all []Reason) []Reason {
	slices.SortStableFunc(all, func(a, b Reason) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Change, b.Change))
	})
	return slices.CompactFunc(all, func(a, b Reason) bool { return a.File == b.File && a.Change == b.Change })
}

// WriteText writes the directories of the roots that still exist, one per line. With null set,
// each name is written unescaped and ends with a zero byte.
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

// WriteJSON writes the roots and their reasons as one JSON document.
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
