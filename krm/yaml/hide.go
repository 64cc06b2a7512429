package yaml

import (
	"slices"

	"github.com/krmflow/krmflow/krm/secret/words"
)

// MayHoldSecrets reports whether there may be values of Secrets in the file: it was read for one, or it has words that say so.
func (s *Source) MayHoldSecrets() bool {
	text, err := s.readText()
	if err != nil || s.original().secret.Load() {
		return true
	}
	return s.docsRead.Load() && slices.ContainsFunc(s.docs, func(d Document) bool { return words.Kind(d.Value.Get("kind").Text()) }) || words.File(text)
}

// HoldSecret says that the file is read for a Secret.
func (s *Source) HoldSecret() { s.original().secret.Store(true) }
