package app

import (
	"bytes"
	"io"
	"slices"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/reuse"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/planner"
)

// kindText is what the cache calls the texts that roots were rendered to. Its number changes with what they say.
const kindText = "texts1"

// kindWrote is the kind of cache entries with digests of files written outside of output folders.
const kindWrote = "wrote1"

// Kept returns the text that an earlier run has rendered a root to, if the cache has it.
func (a *App) Kept(made *reuse.Record) ([]byte, bool) {
	if a.reusing == nil || made.Text == (krm.Digest{}) {
		return nil, false
	}
	return a.reusing.cache.KeptAs(kindText, made.Inputs(), made.Text)
}

// RememberText writes the list that the only root of a plan was rendered to, and remembers the text, unless it has Secrets.
func (a *App) RememberText(plan *planner.Plan, list *krm.List) error {
	both := &tee{to: a.Stdout, kept: a.keeper(plan, list)}
	defer both.discard()
	if err := list.WriteYAML(both); err != nil {
		return err
	}
	text := both.commit()
	return a.Remember(plan, func(_ string, r *reuse.Record) bool {
		r.Text, r.Rendered = text, true
		return true
	})
}

// keeper returns what keeps the text of the only root of a plan: nil if that is not kept.
func (a *App) keeper(plan *planner.Plan, list *krm.List) *cache.Keeper {
	if a.reusing == nil || list.HoldsSecrets() && !a.cacheSecrets {
		return nil
	}
	for range plan.Graph.Calls() {
		return nil // such a root is not reused
	}
	record := a.reusing.draftsOf(plan)[plan.Graph.Roots[0].Dir]
	if record == nil {
		return nil
	}
	kept, err := a.reusing.cache.Keeper(kindText, record.Inputs())
	if err != nil {
		return nil // the next run takes more time without it
	}
	return kept
}

// A tee writes to one place, and keeps what is written as well, if kept is not nil.
type tee struct {
	to   io.Writer
	kept *cache.Keeper
}

func (t *tee) Write(p []byte) (int, error) {
	if t.kept != nil {
		_, _ = t.kept.Write(p)
	}
	return t.to.Write(p)
}

// commit returns the digest of what is kept now: none if nothing is, which is no error.
func (t *tee) commit() (text krm.Digest) {
	if t.kept != nil {
		text, _ = t.kept.Commit()
	}
	return text
}

func (t *tee) discard() {
	if t.kept != nil {
		t.kept.Discard()
	}
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

// Wrote reports whether the last content that krmflow wrote to a file has this digest, as far as
// this process or the cache knows.
func (a *App) Wrote(file string, sum krm.Digest) bool {
	if a.Watch != nil && a.Watch.wrote[file] == sum {
		return true
	}
	c := a.kept()
	if c == nil {
		return false
	}
	last, ok := c.Kept(kindWrote, reuse.PathKey(file))
	return ok && bytes.Equal(last, sum[:])
}

// RememberWritten records the digest of content written to a file, for [App.Wrote].
func (a *App) RememberWritten(file string, sum krm.Digest) {
	if a.Watch != nil {
		a.Watch.wrote = map[string]krm.Digest{file: sum}
	}
	if c := a.kept(); c != nil {
		_ = c.Keep(kindWrote, reuse.PathKey(file), sum[:]) // without it the next run needs --force
	}
}
