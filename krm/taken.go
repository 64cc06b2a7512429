package krm

import "github.com/krmflow/krmflow/krm/secret"

// AddSecrets adds to s the values of the Secrets in the list and the texts that steps took from
// them. Names of resources are public. A nil list adds nothing.
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
	r.addTaken(s)
}

// TakenSet returns the texts that steps copied from Secrets into the resource. It is nil if there
// are none.
func (r *Resource) TakenSet() *secret.Set {
	if len(r.Taken) == 0 {
		return nil
	}
	s := &secret.Set{}
	r.addTaken(s)
	return s
}

func (r *Resource) addTaken(s *secret.Set) {
	for _, text := range r.Taken {
		s.AddTaken(text)
	}
}
