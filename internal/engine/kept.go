package engine

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/known"
)

// The kinds of cache entries for texts of roots, texts of plans, and digests of files written
// outside output folders. The number in a kind changes with the format of its entries.
const (
	kindText  = "texts1"
	kindPlan  = "plans1"
	kindWrote = "wrote1"
)

// Kept writes the text that an earlier run printed for the same request: see [Request.Text] and
// [Request.Key]. It returns false if the text is not in the cache.
func (r *Run) Kept(w io.Writer) (bool, error) {
	if !r.hasText {
		return false, nil
	}
	for _, dir := range r.dirs {
		r.log.Unchanged(dir)
	}
	if err := r.e.host.Strict(); err != nil && r.request.Text {
		return true, err // a render with this error prints nothing either
	}
	if _, err := w.Write(r.text); err != nil {
		return true, err
	}
	return true, r.e.host.Strict()
}

// textOf returns the text that an earlier run rendered a root to, if it is in the cache.
func (r *reusing) textOf(made *records.Record) ([]byte, bool) {
	if made.Text == (krm.Digest{}) {
		return nil, false
	}
	return r.cache.KeptAs(kindText, made.Inputs(), made.Text)
}

// KeepList writes the list of the only root to w as YAML. It also stores the text in the cache,
// unless it contains Secrets.
func (r *Run) KeepList(w io.Writer, list *krm.List) error {
	both := &tee{to: w, kept: r.keeper(list)}
	defer both.discard()
	if err := list.WriteYAML(both); err != nil {
		return err
	}
	text := both.commit()
	return r.remember(func(_ string, record *records.Record) bool {
		record.Text, record.Rendered = text, true
		return true
	})
}

// keeper returns a writer that stores the text of the only root in the cache, or nil if the
// text must not be stored.
func (r *Run) keeper(list *krm.List) *cache.Keeper {
	if r.reusing == nil || list.HoldsSecrets() && !r.e.o.CacheSecrets {
		return nil
	}
	for range r.plan.Graph.Calls() {
		return nil // roots that call functions are not reused
	}
	record := r.reusing.draftsOf(r.plan)[r.plan.Graph.Roots[0].Dir]
	if record == nil {
		return nil
	}
	kept, err := r.reusing.cache.Keeper(kindText, record.Inputs())
	if err != nil {
		return nil // the next run only takes longer
	}
	return kept
}

// A tee writes to an output and, if kept is not nil, also to the cache.
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

// commit commits the cache entry and returns its digest. The digest is zero if nothing was
// stored, which is not an error.
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

// Remember records the inputs of the planned roots, for a command that does not render them. It
// skips roots for which an earlier run left a record. If the request has a Key and all roots
// can be recorded, it also stores text for [Run.Kept].
func (r *Run) Remember(text []byte) error {
	if r.request.Key == "" {
		return r.remember(func(dir string, record *records.Record) bool {
			return r.reusing.known[dir] != record && len(record.Functions) == 0
		})
	}
	var all []*records.Record
	err := r.remember(func(_ string, record *records.Record) bool {
		all = append(all, record)
		return true
	})
	if err != nil || r.reusing == nil || len(all) != len(r.dirs) ||
		slices.ContainsFunc(all, func(record *records.Record) bool { return len(record.Functions) > 0 }) {
		return err
	}
	sum := r.key(all, r.States())
	if debugs("cacheverify") {
		if known, ok := r.reusing.cache.Kept(kindPlan, sum); ok && !bytes.Equal(known, text) {
			return diag.Errorf(diag.Pos{},
				"",
				"the cached text of this plan differs from the computed text, although none of its inputs changed").With(diag.NotDeterministic)
		}
	}
	_ = r.reusing.cache.Keep(kindPlan, sum, text) // on failure, the next run makes it again
	return nil
}

// key returns a digest of all inputs of the request's text.
func (r *Run) key(all []*records.Record, states map[string]records.State) krm.Digest {
	b := fmt.Appendf(nil, "%s %q", r.request.Key, r.dirs)
	for _, record := range all {
		inputs := record.Inputs()
		b = append(b, inputs[:]...)
		// The record may have fewer warnings if it is not from a plan.
		for _, w := range record.Ran {
			b = fmt.Appendf(b, "%q", w.String())
		}
	}
	for _, dir := range r.dirs {
		last := states[diag.Redact(dir)].Last
		b = append(b, last[:]...)
	}
	return krm.DigestOf(b)
}

// Earlier gives access to data of earlier runs other than records of roots.
type Earlier struct{ e *Engine }

// Earlier returns the data of earlier runs. It must be called after the directories of the
// request are known. The cache is opened when it is needed.
func (e *Engine) Earlier() Earlier { return Earlier{e} }

// Output returns the known metadata of the files in an output folder, for comparing them
// without reading. It is nil if records are not used.
func (x Earlier) Output(folder string) *known.Files {
	w := x.e.host.Watch
	switch {
	case !x.e.reuses:
		return nil
	case w != nil && w.outputs[folder] != nil:
		return w.outputs[folder]
	}
	return records.Output(x.e.cache(), folder)
}

// SaveOutput stores the metadata of the files in an output folder for later runs.
func (x Earlier) SaveOutput(folder string, files *known.Files) {
	if !x.e.reuses || files == nil {
		return
	}
	records.SaveOutput(x.e.cache(), folder, files)
	if w := x.e.host.Watch; w != nil {
		w.outputs = map[string]*known.Files{folder: files}
	}
}

// Wrote reports whether the last content that krmflow wrote to a file has this digest, as far
// as this process or the cache knows.
func (x Earlier) Wrote(file string, sum krm.Digest) bool {
	if w := x.e.host.Watch; w != nil && w.wrote[file] == sum {
		return true
	}
	c := x.e.cache()
	if c == nil {
		return false
	}
	last, ok := c.Kept(kindWrote, records.PathKey(file))
	return ok && bytes.Equal(last, sum[:])
}

// SaveWritten records the digest of content written to a file, for [Earlier.Wrote].
func (x Earlier) SaveWritten(file string, sum krm.Digest) {
	if w := x.e.host.Watch; w != nil {
		w.wrote = map[string]krm.Digest{file: sum}
	}
	if c := x.e.cache(); c != nil {
		// On failure, the next run needs --force.
		_ = c.Keep(kindWrote, records.PathKey(file), sum[:])
	}
}

// Objects returns the known object ids of the files in a git repository.
func (x Earlier) Objects(top string) *records.IDs { return records.OpenIDs(x.e.cache(), top) }
