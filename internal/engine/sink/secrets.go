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

// Secrets controls the handling of the values of Secrets. The zero value passes them on.
type Secrets struct {
	// Redact replaces each value with [Redacted].
	Redact bool
	// Fail makes [Sink.Commit] fail if there are any.
	Fail bool
	// Earlier adds the values that the steps of a root took from Secrets, which need not be in
	// its list. It may be nil.
	Earlier func(dir string, s *secret.Set)
}

// Guard returns a Sink that passes to to only what s allows.
func (s Secrets) Guard(to Sink) Sink {
	switch {
	case s.Redact:
		return redacting{to, s.Earlier}
	case s.Fail:
		return &refusing{Sink: to}
	}
	return to
}

// Redacted replaces each value of a Secret, and each text that contains a Secret. In data it is
// encoded in base64, so that the Secret stays valid.
const Redacted = "REDACTED"

// redacting is a Sink that passes on resources without the values of Secrets.
type redacting struct {
	Sink
	earlier func(dir string, s *secret.Set)
}

func (s redacting) Put(r render.Root, list *krm.List) error {
	return s.Sink.Put(r, redact(r.Dir, list, s.earlier))
}

// redact returns the list of a root without the values of Secrets, and without copies of them
// made by steps or authors.
func redact(dir string, list *krm.List, earlier func(dir string, s *secret.Set)) *krm.List {
	clean := list
	copies := secret.NewSet(func(s *secret.Set) {
		list.AddSecrets(s)
		if earlier != nil {
			earlier(dir, s)
		}
	})
	for i, item := range list.All() {
		v := copies.ReplaceIn(secret.Edit(item.Value(), redacted), Redacted)
		if v.Same(item.Value()) {
			continue
		}
		if clean == list {
			clean = list.Clone() // the list may be shared
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

// ErrSecrets is wrapped by the error of a run that has Secrets but must not.
var ErrSecrets = errors.New("there are Secrets")

// A refusing Sink returns an error on Commit if there were resources with values of Secrets.
type refusing struct {
	Sink
	mu    sync.Mutex
	found []string
}

func (s *refusing) Put(r render.Root, list *krm.List) error {
	for _, item := range list.All() {
		taken := item.TakenSet()
		if secret.HasValues(item.Value()) || !taken.HideValue(item.Value()).Same(item.Value()) {
			s.mu.Lock()
			s.found = append(s.found, where(r, item, taken))
			s.mu.Unlock()
		}
	}
	return s.Sink.Put(r, list)
}

// where returns the position and the id of a resource. If its file is not known, the position
// is the root. Secrets in the id are hidden.
func where(r render.Root, item *krm.Resource, hide *secret.Set) string {
	file := item.Pos.File
	if file == "" {
		file = path.Clean(r.Dir)
	}
	id := item.ID()
	id.Name, id.Namespace = hide.Name(id.Name), hide.Name(id.Namespace)
	return diag.Pos{File: file, Line: item.Pos.Line}.String() + ": " + id.String()
}

// Reuse returns false: only the list shows whether there are values of Secrets.
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
