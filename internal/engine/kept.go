package engine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/planner"
)

// The kinds of cache entries for texts of roots and texts of plans. The number in a kind changes
// with the format of its entries.
const (
	kindText = "texts1"
	kindPlan = "plans1"
)

// Print writes a text about the roots to w. If an earlier run has printed the text for the same
// request, and nothing that affects it has changed, that text is written again. Otherwise Print
// calls write, which may render the roots, and stores its text for later runs: see [Request.Text]
// and [Request.Key]. Nothing is stored for other requests, or if write returns an error.
//
// After the text, Print returns an error if there were warnings and --strict is set.
func (r *Run) Print(w io.Writer, write func(io.Writer) error) (err error) {
	switch {
	case r.hasText:
		return r.printAgain(w)
	case r.reusing != nil && r.request.Text:
		err = r.printList(w, write)
	case r.reusing != nil && r.request.Key != "":
		r.logReused()
		var text bytes.Buffer
		if err = write(io.MultiWriter(w, &text)); err == nil || r.request.Noted != nil {
			err = errors.Join(err, r.keepText(text.Bytes(), err == nil))
		}
	default:
		err = write(w)
	}
	if err != nil {
		return err
	}
	return r.e.host.Strict()
}

// printAgain writes the text that an earlier run printed.
func (r *Run) printAgain(w io.Writer) error {
	r.logReused()
	strict := r.e.host.Strict()
	if strict != nil && r.request.Text {
		return strict // a render with this error prints nothing either
	}
	_, err := w.Write(r.text)
	return errors.Join(err, strict)
}

func (r *Run) logReused() {
	for _, dir := range r.dirs {
		if r.reusing.used[dir] {
			r.log.Unchanged(dir)
		}
	}
}

// textOf returns the text that an earlier run rendered a root to, if it is in the cache.
func (r *reusing) textOf(made *records.Record) ([]byte, bool) {
	if made.Text == (krm.Digest{}) {
		return nil, false
	}
	return r.cache.KeptAs(kindText, made.Inputs(), made.Text)
}

// printList calls write, which renders the only root and writes its list. It also stores the text
// in the cache, unless it contains Secrets.
func (r *Run) printList(w io.Writer, write func(io.Writer) error) error {
	kept := &lazyKeeper{open: r.keeper}
	defer kept.discard()
	if err := write(io.MultiWriter(w, kept)); err != nil {
		return err
	}
	text := kept.commit()
	return r.remember(func(_ string, record *records.Record) bool {
		record.Text, record.Rendered = text, true
		return true
	})
}

// keeper returns a writer that stores the text of the only root in the cache, or nil if the
// root was not rendered or its text must not be stored.
func (r *Run) keeper() *cache.Keeper {
	if r.made == nil || r.made.HoldsSecrets() && !r.e.o.CacheSecrets {
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

// A lazyKeeper writes to a cache entry, which it opens on the first write: only then is the list
// known, which decides whether the text may be stored. Its errors are ignored, because a text that
// is not stored only makes the next run take longer.
type lazyKeeper struct {
	open   func() *cache.Keeper
	opened bool
	to     *cache.Keeper // nil if nothing is stored
}

func (k *lazyKeeper) Write(p []byte) (int, error) {
	if !k.opened {
		k.to, k.opened = k.open(), true
	}
	if k.to != nil {
		_, _ = k.to.Write(p)
	}
	return len(p), nil
}

// commit commits the cache entry and returns its digest, or zero if nothing was stored.
func (k *lazyKeeper) commit() (text krm.Digest) {
	if k.to != nil {
		text, _ = k.to.Commit()
	}
	return text
}

func (k *lazyKeeper) discard() {
	if k.to != nil {
		k.to.Discard()
	}
}

// recordUnseen records the inputs of the planned roots, for a request with Unseen. It keeps the
// records of earlier runs, which also have results.
func (r *Run) recordUnseen() error {
	if !r.request.Unseen {
		return nil
	}
	return r.remember(func(dir string, record *records.Record) bool {
		return r.reusing.known[dir] != record && len(record.Functions) == 0
	})
}

// keepText records the planned roots. If the text is complete and all roots are recorded, it also
// stores the text for the Key of the request.
func (r *Run) keepText(text []byte, complete bool) error {
	made := map[string]*records.Record{}
	err := r.remember(func(dir string, record *records.Record) bool {
		if r.request.Noted != nil && !r.request.Noted(dir, record) {
			return false
		}
		made[dir] = record
		return true
	})
	var all []*records.Record
	for _, dir := range r.dirs {
		record := cmp.Or(r.reused(dir), made[diag.Redact(dir)])
		if record == nil || len(record.Functions) > 0 {
			return err
		}
		all = append(all, record)
	}
	if err != nil || !complete {
		return err
	}
	sum := r.key(all)
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
func (r *Run) key(all []*records.Record) krm.Digest {
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
		last := r.state(dir, nil).Last
		b = append(b, last[:]...)
		b = fmt.Appendf(b, "%q", r.recordPath(dir)) // includes the digest of a GitOps object
	}
	return krm.DigestOf(b)
}

// Output returns the known metadata of the files in an output folder, for comparing them without
// reading. It is nil if no run has used records.
func (e *Engine) Output(folder string) *known.Files {
	w := e.host.Watch
	switch {
	case !e.reuses || folder == "":
		return nil
	case w != nil && w.outputs[folder] != nil:
		return w.outputs[folder]
	}
	return records.Output(e.cache(), folder)
}

// saveOutput stores the metadata of the files in an output folder for later runs.
func (e *Engine) saveOutput(folder string, files *known.Files) {
	if files == nil {
		return
	}
	records.SaveOutput(e.cache(), folder, files)
	if w := e.host.Watch; w != nil {
		w.outputs = map[string]*known.Files{folder: files}
	}
}

// LastWrite returns the record of the content that krmflow last wrote to a file outside output
// folders. Such content may be replaced.
func (r *Run) LastWrite(file string) *records.LastWrite {
	w := r.e.host.Watch
	if w != nil && w.written[file] != nil {
		return w.written[file]
	}
	last := records.OpenLastWrite(r.e.cache, file)
	if w != nil {
		w.written = map[string]*records.LastWrite{file: last}
	}
	return last
}

// Objects returns the object ids of files in the git repository with this top directory, as far
// as earlier runs have computed them.
func (e *Engine) Objects(top string) *records.IDs { return records.OpenIDs(e.cache, top) }

// Note returns the note identified by texts. Later runs with the same texts can read it.
func (e *Engine) Note(texts ...string) records.Note { return records.OpenNote(e.cache, texts...) }

// Recalled returns the recorded warnings of the reused roots, from planning and from their steps.
// The run has printed the planning warnings. If the request has a Key and its text was not cached,
// the caller must print the step warnings, together with the step warnings of the planned roots.
func (r *Run) Recalled() (planned, ran []planner.Warning) { return r.reusing.warned(r.dirs, true) }

// Real returns the path of a directory without symbolic links, or "" if there is none. It looks up
// each directory once.
func (e *Engine) Real(path string) string { return e.places.Real(path) }

// Lacks reports whether there is certainly nothing at an absolute path without symbolic links,
// because the search for roots has listed its directory. False means unknown.
func (e *Engine) Lacks(path string) bool {
	return e.places.Lacks(filepath.Dir(path), filepath.Base(path))
}
