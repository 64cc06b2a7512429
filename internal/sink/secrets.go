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
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/render"
)

// Secrets says what becomes of the values of Secrets. The zero value passes them on.
type Secrets struct {
	// Redact replaces each of them by a fixed text.
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

// Redacted is what stands for each value of a Secret: in data it is encoded, so that the Secret stays a valid one.
const Redacted = "REDACTED"

// redacting is a Sink that gets Secrets without their values.
type redacting struct{ Sink }

func (s redacting) Put(r render.Root, list *krm.List) error { return s.Sink.Put(r, redact(list)) }

// redact returns a list without the values of Secrets.
func redact(list *krm.List) *krm.List {
	clean := list
	for i, item := range list.All() {
		if !isSecret(item) {
			continue
		}
		if clean == list {
			clean = list.Clone() // which others may have, too
		}
		clean.Set(i, redacted(item))
	}
	return clean
}

// lastApplied is where kubectl keeps a copy of the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// redacted returns a Secret with its keys and without its values.
func redacted(r *krm.Resource) *krm.Resource {
	v := hide(r.Value(), "data", base64.StdEncoding.EncodeToString([]byte(Redacted)))
	v = hide(v, "stringData", Redacted)
	if v.At("metadata", "annotations", lastApplied).Exists() {
		v = v.WithAt(yaml.Str(Redacted), "metadata", "annotations", lastApplied)
	}
	c := r.Copy()
	c.Unlink()
	c.SetValue(v)
	return c
}

func hide(v yaml.Value, field, text string) yaml.Value {
	values := v.Get(field)
	switch {
	case values.IsNull():
		return v
	case values.Type() != yaml.Map:
		return v.With(field, yaml.Str(text))
	}
	return v.With(field, values.EditFields(func(yaml.Field) yaml.Value { return yaml.Str(text) }))
}

func isSecret(r *krm.Resource) bool { return r.ID().Kind == "Secret" && r.ID().Group == "" }

// ErrSecrets is wrapped by the error of a run that must have no Secrets.
var ErrSecrets = errors.New("there are Secrets")

// refusing is a Sink that takes no Secrets with values.
type refusing struct {
	Sink
	mu    sync.Mutex
	found []string
}

func (s *refusing) Put(r render.Root, list *krm.List) error {
	for _, item := range list.All() {
		if isSecret(item) && hasValues(item.Value()) {
			s.mu.Lock()
			s.found = append(s.found, where(r, item))
			s.mu.Unlock()
		}
	}
	return s.Sink.Put(r, list)
}

func hasValues(v yaml.Value) bool {
	return !v.Get("data").IsEmpty() || !v.Get("stringData").IsEmpty() || !v.At("metadata", "annotations", lastApplied).IsEmpty()
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
	what := "a Secret has"
	if len(found) > 1 {
		what = fmt.Sprintf("%d Secrets have", len(found))
	}
	e := diag.Errorf(diag.Pos{}, "", "--fail-on-secrets: %s values, and nothing was written", what).With(diag.SecretsInOutput)
	for _, at := range found {
		e.Hint("%s", at)
	}
	e.Err = ErrSecrets
	return e
}
