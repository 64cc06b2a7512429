package app

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/reuse"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/planner"
)

// Kept returns the text of an earlier render, if the cache has it.
func (a *App) Kept(text krm.Digest) ([]byte, bool) {
	if a.reusing == nil || text == (krm.Digest{}) {
		return nil, false
	}
	data, err := a.reusing.cache.Get(text)
	return data, err == nil
}

// RememberText writes the list that the only root of a plan was rendered to, and remembers the text, unless it has Secrets.
func (a *App) RememberText(plan *planner.Plan, list *krm.List) error {
	calls := false
	for range plan.Graph.Calls() {
		calls = true // such a root is not reused
	}
	if a.reusing == nil || calls || list.HoldsSecrets() && !a.cacheSecrets {
		if err := list.WriteYAML(a.Stdout); err != nil {
			return err
		}
		return a.Remember(plan, func(_ string, r *reuse.Record) bool {
			r.Text, r.Rendered = krm.Digest{}, true
			return true
		})
	}
	blob := a.reusing.cache.CreateLater()
	defer blob.Discard()
	both := newTee(a.Stdout, blob)
	err := list.WriteYAML(both)
	if kept := both.end(); err != nil || !kept {
		return err
	}
	var writing sync.WaitGroup
	writing.Go(func() { _, _ = blob.Commit() }) // a record whose text the cache does not have does not hold
	defer writing.Wait()
	return a.Remember(plan, func(_ string, r *reuse.Record) bool {
		r.Text, r.Rendered = blob.Digest(), true
		return true
	})
}

// A tee writes to one place, and gives what is written to a blob on another core: to hash it takes longer than to copy it. That this fails is no
// error.
type tee struct {
	to    io.Writer
	parts chan []byte
	kept  chan bool
}

func newTee(to io.Writer, blob *cache.Writer) *tee {
	t := &tee{to, make(chan []byte, 16), make(chan bool, 1)}
	go func() {
		var failed error
		for p := range t.parts {
			if failed == nil {
				_, failed = blob.Give(p)
			}
		}
		t.kept <- failed == nil
	}()
	return t
}

func (t *tee) Write(p []byte) (int, error) {
	t.parts <- bytes.Clone(p)
	return t.to.Write(p)
}

// end waits for the blob and reports whether it has everything.
func (t *tee) end() (kept bool) {
	close(t.parts)
	return <-t.kept
}

// KeptPlan returns the text of a plan that an earlier run has kept for a key, and KeepPlan keeps it.
func (a *App) KeptPlan(key krm.Digest) ([]byte, bool) { return a.reusing.cache.Kept("plans1", key) }

// KeepPlan keeps the text of a plan if all its roots are remembered: see [App.KeptPlan]. The error is that of [App.Remember].
func (a *App) KeepPlan(plan *planner.Plan, dirs []string, key func([]*reuse.Record) krm.Digest, text []byte) error {
	var all []*reuse.Record
	err := a.Remember(plan, func(_ string, r *reuse.Record) bool {
		all = append(all, r)
		return true
	})
	if err != nil || a.reusing == nil || len(all) != len(dirs) || slices.ContainsFunc(all, func(r *reuse.Record) bool { return len(r.Functions) > 0 }) {
		return err
	}
	sum := key(all)
	if debugs("cacheverify") {
		if known, ok := a.KeptPlan(sum); ok && !bytes.Equal(known, text) {
			return diag.Errorf(diag.Pos{}, "", "the cache says that something else comes of this plan, although nothing of it has changed").With(diag.NotDeterministic)
		}
	}
	_ = a.reusing.cache.Keep("plans1", sum, text) // it will be made again
	return nil
}

// KnownOutput returns what is known of the files of an output folder, and RememberOutput keeps it for later runs.
func (a *App) KnownOutput(folder string) *known.Files {
	switch {
	case a.reusing == nil:
		return nil
	case a.Watch != nil && a.Watch.outputs[folder] != nil:
		return a.Watch.outputs[folder]
	}
	return reuse.Output(a.reusing.cache, folder)
}

func (a *App) RememberOutput(folder string, files *known.Files) {
	if a.reusing == nil || files == nil {
		return
	}
	reuse.SaveOutput(a.reusing.cache, folder, files)
	if a.Watch != nil {
		a.Watch.outputs = map[string]*known.Files{folder: files}
	}
}
