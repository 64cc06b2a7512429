package yaml

import (
	"slices"

	"github.com/krmflow/krmflow/krm/secret/words"
)

// MayHoldSecrets reports whether the file may contain values of Secrets: it was read for a Secret,
// or its contents suggest it.
func (s *Source) MayHoldSecrets() bool {
	text, err := s.readText()
	if err != nil || s.original().secret.Load() {
		return true
	}
	return s.docsRead.Load() && slices.ContainsFunc(s.docs, func(d Document) bool { return words.Kind(d.Value.Get("kind").Text()) }) ||
		words.File(text)
}

// HoldSecret records that the file is read for a Secret.
func (s *Source) HoldSecret() { s.original().secret.Store(true) }
