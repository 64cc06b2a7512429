package scheduler

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// groupByCause merges failures with the same cause, such as a step that fails for several roots,
// and adds the affected roots to the message. For an item of a Composition it keeps only the
// first message.
func (r *run) groupByCause(errs []error) []error {
	if len(r.g.Roots) < 2 && !r.o.Several {
		return errs
	}
	type cause struct {
		pos        diag.Pos
		field, msg string
	}
	first := map[cause]*NodeError{}
	failed := map[*NodeError]map[string]bool{}
	kept := errs[:0]
	for _, err := range errs {
		e, ok := err.(*NodeError)
		if !ok || len(kept) >= diag.MaxMistakes {
			kept = append(kept, err) // with this many errors, not all are printed
			continue
		}
		at := e.At()
		c := cause{at.Pos, at.Field, at.Msg}
		if e.Node.Item != nil {
			c.msg = ""
		}
		if first[c] == nil {
			first[c], failed[e] = e, map[string]bool{}
			kept = append(kept, err)
		}
		failed[first[c]][e.Node.ID] = true
	}
	for e, nodes := range failed {
		roots := r.g.RootsThatNeed(nodes)
		if len(roots) == 1 && strings.HasPrefix(e.At().Pos.File, roots[0].Dir+"/") {
			continue // the position of the error already names the root
		}
		for _, root := range roots {
			e.Roots = append(e.Roots, root.Dir)
		}
	}
	return kept
}
