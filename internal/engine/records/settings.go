package records

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
)

// TrustedCatalogs returns the trusted catalogs and digests of their contents. Catalogs affect
// planning because they identify the resources that configure functions. ok is false if a
// catalog cannot be read, or is remote and not pinned, so that its content may change at any
// time.
func TrustedCatalogs(o *planner.Options) (text string, ok bool) {
	var b strings.Builder
	for _, src := range o.Functions.Trusted {
		fmt.Fprintf(&b, "%s ", diag.Redact(src.Ref))
		if src.Content != nil {
			fmt.Fprintf(&b, "%s ", krm.DigestOf(src.Content))
			continue
		}
		ref, err := catalog.ParseRef(src.Ref)
		switch {
		case err != nil, ref.Remote() && ref.Pin.IsZero() && !src.Below:
			return "", false
		case !ref.Remote() && !src.Below:
			path := ref.Location
			if !filepath.IsAbs(path) {
				path = filepath.Join(o.Cwd, path)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return "", false // planning reports the error
			}
			fmt.Fprintf(&b, "%s ", krm.DigestOf(data))
		}
	}
	return b.String(), true
}

// Calls returns the functions that each root of a plan calls, by the name of the root: as settings
// with the id of the step and the digest of the function.
func Calls(plan *planner.Plan) map[string][]Setting {
	called := map[string][]Setting{}
	what := map[*graph.Node]string{}
	for call, n := range plan.Graph.Calls() {
		what[n] = call.Function.Name + " " + call.Function.Digest.String()
		if call.Chart != nil {
			what[n] += ", chart " + call.Chart.Digest.String()
		}
	}
	if len(what) == 0 {
		return called
	}
	for root, calls := range plan.Graph.RootsOf(func(n *graph.Node) bool { return what[n] != "" }) {
		for _, n := range calls {
			called[root.Dir] = append(called[root.Dir], Setting{Name: n.ID, Value: what[n]})
		}
	}
	return called
}

// Executable returns a text that distinguishes this program from others of the same version,
// because developers have many builds of one version.
func Executable() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	s := filestat.Of(info)
	return fmt.Sprintf(" of %d bytes at %d (%d)", info.Size(), info.ModTime().UnixNano(), s.Ino)
}
