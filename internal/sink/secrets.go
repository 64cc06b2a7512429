package sink

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/render"
)

// Secrets says what becomes of the values of Secrets. The zero value passes them on.
type Secrets struct {
	// Redact replaces each of them by [Redacted].
	Redact bool
	// Fail makes [Sink.Commit] fail if there are any.
	Fail bool
}

// Guard returns a Sink that passes on to to what s allows.
func (s Secrets) Guard(to Sink) Sink {
	switch {
	case s.Redact:
		return redacting{to}
	case s.Fail:
		return &refusing{Sink: to}
	}
	return to
}

// Redacted replaces each value of a Secret, and each text that contains a Secret. In data it is
// encoded in base64, so that the Secret stays valid.
const Redacted = "REDACTED"

// A redacting Sink passes on resources without the values of Secrets.
type redacting struct{ Sink }

func (s redacting) Put(r render.Root, list *krm.List) error { return s.Sink.Put(r, redact(list)) }

// redact returns a list without the values of Secrets and without copies of them.
func redact(list *krm.List) *krm.List {
	clean := list
	copies := secret.NewSet(list.AddSecrets)
	for i, item := range list.All() {
		v := copies.ReplaceIn(secret.Edit(item.Value(), redacted), Redacted)
		if v.Same(item.Value()) {
			continue
		}
		if clean == list {
			clean = list.Clone() // which others may have, too
		}
		c := item.Copy()
		c.Unlink()
		c.SetValue(v)
		clean.Set(i, c)
	}
	return clean
}

func redacted(_ yaml.Value, at secret.Place) yaml.Value {
	if at == secret.Data {
		return yaml.Str(base64.StdEncoding.EncodeToString([]byte(Redacted)))
	}
	return yaml.Str(Redacted)
}

// ErrSecrets is wrapped by the error of a run that must have no Secrets.
var ErrSecrets = errors.New("there are Secrets")

// A refusing Sink returns an error for resources with values of Secrets.
type refusing struct {
	Sink
	mu    sync.Mutex
	found []string
}

func (s *refusing) Put(r render.Root, list *krm.List) error {
	for _, item := range list.All() {
		if secret.HasValues(item.Value()) || hasTaken(item) {
			s.mu.Lock()
			s.found = append(s.found, where(r, item))
			s.mu.Unlock()
		}
	}
	return s.Sink.Put(r, list)
}

// hasTaken reports whether a resource contains a text that a step took from a Secret.
func hasTaken(r *krm.Resource) bool {
	if len(r.Taken) == 0 {
		return false
	}
	var s secret.Set
	for _, text := range r.Taken {
		s.AddTaken(text)
	}
	return !s.HideValue(r.Value()).Same(r.Value())
}

// where returns the file that a resource comes from, its root if that is not known, and its name.
func where(r render.Root, item *krm.Resource) string {
	file := item.Pos.File
	if file == "" {
		file = path.Clean(r.Dir)
	}
	return diag.Pos{File: file, Line: item.Pos.Line}.String() + ": " + item.ID().String()
}

// Reuse looks at the list: only that has the values.
func (s *refusing) Reuse(render.Root, Made) (bool, error) { return false, nil }

func (s *refusing) Commit() error {
	if len(s.found) == 0 {
		return s.Sink.Commit()
	}
	slices.Sort(s.found)
	found := slices.Compact(s.found)
	what := "a resource has"
	if len(found) > 1 {
		what = fmt.Sprintf("%d resources have", len(found))
	}
	e := diag.Errorf(diag.Pos{}, "", "--fail-on-secrets: %s values of Secrets, and nothing was written", what).With(diag.SecretsInOutput)
	for _, at := range found {
		e.Hint("%s", at)
	}
	e.Err = ErrSecrets
	return e
}
