package krm

import "github.com/krmflow/krmflow/krm/secret"

// AddSecrets adds to s what the resources have from Secrets: the values of the Secrets among them,
// and what steps took. The names of the resources are public. A nil list adds nothing.
func (l *List) AddSecrets(s *secret.Set) {
	if l == nil {
		return
	}
	for _, r := range l.items {
		r.AddSecrets(s)
	}
}

// AddSecrets is [List.AddSecrets] for one resource.
func (r *Resource) AddSecrets(s *secret.Set) {
	s.Public(r.id.Name)
	s.Public(r.id.Namespace)
	s.Add(r.value)
	for _, text := range r.Taken {
		s.AddTaken(text)
	}
}
