package appset

import (
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops/argocd/internal/discovery"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A selector selects sets of labels or parameters.
type selector struct {
	MatchLabels      map[string]string `json:"matchLabels"`
	MatchExpressions []requirement     `json:"matchExpressions"`
}

type requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// isEmpty reports whether the selector has no condition.
func (s *selector) isEmpty() bool { return len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 }

// check returns an error about an invalid requirement. at is the place of the selector.
func (s *selector) check(at yaml.Place) error {
	for i, r := range s.MatchExpressions {
		at := at.Below("matchExpressions", i)
		switch r.Operator {
		case "In", "NotIn":
			if len(r.Values) == 0 {
				return discovery.ErrorAt(at, "operator %s requires values", r.Operator).With(diag.BadSelector)
			}
		case "Exists", "DoesNotExist":
			if len(r.Values) > 0 {
				return discovery.ErrorAt(at, "operator %s has no values", r.Operator).With(diag.BadSelector)
			}
		default:
			e := discovery.ErrorAt(at.Below("operator"), "%q is not an operator", r.Operator).With(diag.BadSelector)
			e.Hints = diag.DidYouMean(r.Operator, []string{"In", "NotIn", "Exists", "DoesNotExist"})
			return e
		}
	}
	return nil
}

// matches reports whether the selector selects labels.
func (s *selector) matches(labels map[string]string) bool {
	for key, want := range s.MatchLabels {
		if got, ok := labels[key]; !ok || got != want {
			return false
		}
	}
	for _, r := range s.MatchExpressions {
		got, ok := labels[r.Key]
		switch r.Operator {
		case "In":
			ok = ok && slices.Contains(r.Values, got)
		case "NotIn":
			ok = !ok || !slices.Contains(r.Values, got)
		case "DoesNotExist":
			ok = !ok
		}
		if !ok {
			return false
		}
	}
	return true
}
