package validation

import (
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate"
)

// has reports whether earlier, an earlier state of v, already has the problem of a finding in v.
// It returns the path of the problem in earlier.
func has(f *validate.Finding, v, earlier yaml.Value) (path []any, ok bool) {
	path, there, whole := history.Follow(v, earlier, f.Path)
	switch {
	case !whole:
		return path, false
	case f.Code == validate.MissingField:
		return path, there.Type() == yaml.Map
	case f.Value.IsScalar() || f.Code == validate.RuleViolated && len(f.Path) > 0:
		return path, there.Equal(f.Value)
	}
	return path, there.Type() == f.Value.Type()
}

// had reports whether r is an earlier state of the resource of a finding and already has the
// problem.
func had(r *krm.Resource, f *finding) bool {
	if r.Pos != f.r.Pos || r.OrigID().Kind != f.r.OrigID().Kind || r.OrigID().Name != f.r.OrigID().Name {
		return false
	}
	_, ok := has(&f.Finding, f.r.Value(), r.Value())
	return ok
}
