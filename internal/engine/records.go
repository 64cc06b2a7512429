package engine

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/planner"
)

// reusing has the results of earlier runs that a run uses, and records results for later runs.
// A nil *reusing does neither.
type reusing struct {
	cache   *cache.Cache
	records *records.Records
	known   map[string]*records.Record // valid records, by the directories of their roots
	failed  map[string]*records.Record // records of roots that cannot be planned
	broken  map[string]brokenRoot      // roots with errors in an earlier round of a watch, by path
	used    map[string]bool            // the roots that are not planned
	observe bool                       // plan roots whose references cannot be fetched: see Request.Observe
	// With cacheverify: the roots that would otherwise not be planned.
	claimed map[string]bool
	told    map[string]bool // warnings of used and failed roots, which have been printed

	drafted *planner.Plan // see draft
	drafts  func() map[string]*records.Record

	mu sync.Mutex
	// Warnings of this run, by node id, because a run of a part of the plan has different
	// nodes.
	ran map[string][]planner.Warning
	all int // their number
}

// maxRan is the maximum number of step warnings of a run whose roots are recorded.
const maxRan = 1000

// wantsReuse reports whether the request can use records.
func (q *Request) wantsReuse() bool { return q.Reuse != nil || q.Text || q.Key != "" }

// usable reports whether the record is sufficient, so that the root need not be rendered.
func (r *Run) usable(dir string, record *records.Record) bool {
	if r.request.Text {
		r.text, r.hasText = r.reusing.textOf(record)
		return r.hasText
	}
	return r.request.Reuse != nil && r.request.Reuse(dir, record)
}

// startReuse looks up the records of the roots and returns the roots that must be planned.
func (r *Run) startReuse(ctx context.Context) []string {
	e, dirs, o := r.e, r.dirs, &r.options.Plan
	noCache := e.o.Sources.NoCache && e.host.Watch == nil
	if len(dirs) == 0 || !r.request.wantsReuse() || noCache || e.o.Fresh || r.request.Lock.Learn || len(o.Instead) > 0 || o.Free != nil ||
		mixed(e.named(dirs)) {
		return dirs
	}
	c := e.cache()
	if c == nil && e.host.Watch == nil {
		return dirs
	}
	settings, ok := e.reuseSettings(dirs, o)
	if !ok {
		return dirs
	}
	r.reusing = &reusing{cache: c, known: map[string]*records.Record{}, failed: map[string]*records.Record{}, used: map[string]bool{},
		observe: r.request.Observe, ran: map[string][]planner.Warning{},
		records: e.openRecords(c, settings, r.fetching(ctx, c))}
	o.Observe, e.reuses = true, true
	if e.host.Watch != nil {
		r.reusing.broken = e.host.Watch.broken
	}
	if debugs("cacheverify") {
		r.reusing.find(dirs, r.recordPaths(dirs), nil)
		r.reusing.claimed = map[string]bool{}
		for dir, record := range r.reusing.known {
			r.reusing.claimed[dir] = r.request.Unseen && r.usable(dir, record)
		}
		return dirs
	}
	usable := r.usable
	if r.request.Key != "" {
		usable = nil // a text about all roots also lists those that cannot be planned
	}
	rest := r.reusing.find(dirs, r.recordPaths(dirs), usable)
	defer func() { o.Rendered = r.reusing.rendered() }()
	if r.request.Key == "" {
		return rest
	}
	var all []*records.Record
	for _, dir := range dirs {
		if record := r.reusing.known[dir]; record != nil {
			all = append(all, record)
		}
	}
	if len(all) == len(dirs) {
		r.text, r.hasText = c.Kept(kindPlan, r.key(all))
	}
	return slices.DeleteFunc(rest, func(dir string) bool {
		record := r.reusing.known[dir]
		if record == nil || !r.hasText && !r.usable(dir, record) {
			return false
		}
		r.reusing.used[dir] = true
		return true
	})
}

// openRecords opens the records of a run. All rounds of a watch share one set of records.
func (e *Engine) openRecords(c *cache.Cache, settings []records.Setting, fetch loaders.Fetch) *records.Records {
	w := e.host.Watch
	if w == nil {
		return records.Open(c, e.o.Plan.Cwd, settings, fetch, &e.places)
	}
	if w.records == nil {
		w.records = records.Open(c, e.o.Plan.Cwd, settings, fetch, &filestat.Dirs{})
	}
	w.records.Again(c, settings, fetch)
	return w.records
}

// fetching returns the fetch function shared by the records and the plan.
func (r *Run) fetching(ctx context.Context, c *cache.Cache) loaders.Fetch {
	o := &r.options.Plan
	if o.Fetch == nil {
		if r.options.Sources.Cache == nil {
			r.options.Sources.Cache = c
		}
		fetch, end := r.options.Sources.Fetching(ctx)
		r.e.host.Exits.Add(end)
		o.Fetch = fetch
	}
	return o.Fetch
}

// mixed reports whether only some of the roots are absolute paths. File names in messages
// depend on all roots, so such messages cannot be reused.
func mixed(dirs []string) bool {
	return slices.ContainsFunc(dirs, filepath.IsAbs) && slices.ContainsFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) })
}

// reuseSettings returns the settings, besides files, that affect results and messages. ok is
// false if they cannot be determined.
func (e *Engine) reuseSettings(dirs []string, o *planner.Options) ([]records.Setting, bool) {
	catalogs, ok := records.TrustedCatalogs(o)
	return []records.Setting{
		{Name: "trusted catalogs", Value: catalogs},
		{Name: "krmflow", Value: e.o.Version + records.Executable()},
		{Name: "working directory", Value: o.Cwd},
		{Name: "absolute paths", Value: strconv.FormatBool(slices.ContainsFunc(dirs, filepath.IsAbs))},
		{Name: "--load-restrictor", Value: strconv.FormatBool(o.Unrestricted)},
		{Name: "--reorder", Value: o.Reorder + map[bool]string{true: " (given)"}[o.ReorderSet]},
		{Name: "--max-input", Value: strconv.FormatInt(e.o.Limits.Input, 10)},
		{Name: "--enable-managedby-label", Value: strconv.FormatBool(o.ManagedByLabel)},
	}, ok
}

func (r *Run) recordPath(dir string) string { return r.e.recordPath(dir, r.options.Plan.Cwd) }

// recordPaths returns the keys of the records of roots, "" for remote ones.
func (r *Run) recordPaths(dirs []string) []string {
	paths := make([]string, len(dirs))
	for i, dir := range dirs {
		if !loaders.IsRemote(dir) {
			paths[i] = r.e.recordPath(dir, r.options.Plan.Cwd)
		}
	}
	return paths
}

// find returns the roots that must be planned: those without a valid record, or whose record is
// not usable. It stores the other results in r.
func (r *reusing) find(dirs, paths []string, usable func(string, *records.Record) bool) (rest []string) {
	for i, record := range r.records.Find(paths) {
		dir := dirs[i]
		if b, ok := r.broken[paths[i]]; ok && record == nil && usable != nil && r.records.Holds(b.record) {
			r.failed[dir] = b.record
			continue
		}
		switch {
		case record == nil:
			rest = append(rest, dir)
			continue
		case len(record.Unavailable) > 0 && usable != nil && !r.observe:
			r.failed[dir] = record
			continue
		}
		r.known[dir] = record
		if usable != nil && usable(dir, record) {
			r.used[dir] = true
		} else {
			rest = append(rest, dir)
		}
	}
	return rest
}

// absolute returns the absolute path of a root, or "" if the working directory was removed.
func absolute(dir, cwd string) string {
	switch {
	case filepath.IsAbs(dir):
		return filepath.Clean(dir)
	case cwd == "":
		return ""
	}
	return filepath.Join(cwd, dir)
}

// addFailed adds to a plan the roots that cannot be planned according to their records: roots
// whose references could not be fetched, in an earlier run and again in this one, and roots
// with errors in an earlier round of a watch.
func (r *reusing) addFailed(plan *planner.Plan, dirs []string, key func(dir string) string) {
	if r == nil || len(r.failed) == 0 {
		return
	}
	failed := map[string]planner.RootError{}
	for _, f := range plan.Failed {
		failed[f.Dir] = f
	}
	plan.Failed = nil
	for _, dir := range dirs {
		name := diag.Redact(dir)
		if b, ok := r.broken[key(dir)]; ok && r.failed[dir] == b.record && b.record != nil {
			failed[name] = b.err
		} else if record := r.failed[dir]; record != nil {
			f := planner.RootError{Dir: name}
			for _, w := range record.Unavailable {
				e := w.Message()
				e.Err = remote.ErrRetrieval
				f.Errs = append(f.Errs, e)
			}
			failed[name] = f
		}
		if f, ok := failed[name]; ok {
			plan.Failed = append(plan.Failed, f)
		}
	}
}

// unavailable returns the errors of a root if all of them are failed fetches, otherwise nil.
func unavailable(f planner.RootError) (list []planner.Warning) {
	for _, err := range f.Errs {
		if !errors.Is(err, remote.ErrRetrieval) || errors.Is(err, remote.ErrVerification) || errors.Is(err, diag.ErrLimit) {
			return nil
		}
		list = append(list, planner.WarningOf(diag.AsError(err)))
	}
	return list
}

// Known is the result of earlier runs for a root.
type Known struct {
	// Record is the record of a root that is reused and not planned.
	Record *records.Record
	// Claimed reports that the root would have been reused, but is rendered because of
	// KRMFLOW_DEBUG=cacheverify.
	Claimed bool
	// State returns the changes of the root since it was last rendered, as far as the cache has
	// them. It examines all inputs of the root.
	State func() records.State
}

// Known returns the result of earlier runs for a root.
func (r *Run) Known(dir string) Known {
	k := Known{Record: r.reused(dir), State: func() records.State { return r.state(dir, r.calledBy(dir)) }}
	if r.reusing != nil {
		k.Claimed = r.reusing.claimed[dir]
	}
	return k
}

// reused returns the record of a root that is reused and not planned, otherwise nil.
func (r *Run) reused(dir string) *records.Record {
	if r.reusing == nil || !r.reusing.used[dir] {
		return nil
	}
	return r.reusing.known[dir]
}

// warned returns the recorded warnings of the roots in dirs that are not planned, without
// duplicates: the warnings of planning and, if steps is true, of their steps.
func (r *reusing) warned(dirs []string, steps bool) (planned, ran []planner.Warning) {
	if r == nil {
		return nil, nil
	}
	told := map[string]bool{}
	add := func(to []planner.Warning, list []planner.Warning) []planner.Warning {
		for _, w := range list {
			if text := w.String(); !told[text] {
				told[text] = true
				to = append(to, w)
			}
		}
		return to
	}
	for _, dir := range dirs {
		if failed := r.failed[dir]; failed != nil {
			planned = add(planned, failed.Planned)
		} else if r.used[dir] {
			planned = add(planned, r.known[dir].Planned)
			if steps {
				ran = add(ran, r.known[dir].Ran)
			}
		}
	}
	r.told = told
	return planned, ran
}

// warn records a warning of a step. told reports whether the same warning has been printed
// already from a record.
func (r *reusing) warn(n *graph.Node, warning func() *diag.Error) (told bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all++; r.all > maxRan {
		return false
	}
	w := planner.WarningOf(warning())
	r.ran[n.ID] = append(r.ran[n.ID], w)
	return len(r.told) > 0 && r.told[w.String()]
}

// remember records the results of this run for later runs. It calls made for each root, which
// adds the result to the record and reports whether the root was rendered.
//
// A record that cannot be stored is not an error: the next run renders the root again. With
// KRMFLOW_DEBUG=cacheverify everything is rendered, and remember returns an error if the result
// of a root differs from its record.
func (x *Run) remember(made func(dir string, r *records.Record) bool) error {
	r, plan := x.reusing, x.plan
	if r == nil || plan.MoreWarnings > 0 || r.all > maxRan ||
		hasOthers(plan) || // a later run would not print these warnings
		errors.Is(plan.Err(), diag.ErrLimit) { // a later run with fewer roots would not reach the limit
		return nil
	}
	ran := r.byRoot(plan)
	failed := map[string]planner.RootError{}
	for _, f := range plan.Failed {
		failed[f.Dir] = f
	}
	all := map[string]*records.Record{}
	called := records.Calls(plan)
	drafts := r.draftsOf(plan)
	for _, dir := range allOf(plan) {
		f, fails := failed[dir]
		record, was := drafts[dir], r.known[dir]
		if record == nil {
			continue
		}
		if was != nil && was.Inputs() == record.Inputs() {
			record = was
		} else {
			was = nil // an input has changed between the check of the record and planning
		}
		var before []byte
		if was != nil {
			before = was.Bytes()
		}
		old := *record
		record.Planned = warningsIn(plan, dir, plan.Warnings[:x.planWarnings])
		record.Ran = ran[dir]
		record.Functions = called[dir]
		if fails {
			record.Unavailable = unavailable(f)
		}
		if (fails && len(record.Unavailable) > 0 && len(plan.Denied) == 0 || !fails && made(dir, record)) &&
			(was == nil || !bytes.Equal(before, record.Bytes())) {
			all[x.e.recordPath(dir, x.options.Plan.Cwd)] = record
			if was != nil && debugs("cacheverify") && record.Contradicts(&old) {
				return diag.Errorf(diag.Pos{File: dir}, "",
					"the cached result of this root differs from the computed result, although none of its inputs changed").With(diag.NotDeterministic)
			}
		}
	}
	_ = r.records.Save(maps.All(all)) // on failure, the next run renders the roots again
	return nil
}

// draft starts to build the records of the roots of a plan in the background, on a core that
// the run may leave idle. Planning has already read all inputs of the roots.
func (r *reusing) draft(plan *planner.Plan) {
	if r == nil {
		return
	}
	before := r.drafts
	drafts := sync.OnceValue(func() map[string]*records.Record {
		if before != nil {
			before() // Records must not be used concurrently
		}
		drafts := map[string]*records.Record{}
		for _, dir := range allOf(plan) {
			seen, enough := plan.Observed(dir)
			if !enough {
				continue
			}
			if record := r.records.New(seen); record != nil {
				drafts[dir] = record
			}
		}
		return drafts
	})
	r.drafted, r.drafts = plan, drafts
	go func() {
		defer func() { _ = recover() }() // draftsOf panics with the same value
		drafts()
	}()
}

// draftsOf returns the records of the roots of a plan, without results. Roots whose inputs are
// not fully known have no record.
func (r *reusing) draftsOf(plan *planner.Plan) map[string]*records.Record {
	if r.drafted != plan {
		r.draft(plan)
	}
	return r.drafts()
}

// state returns the changes of a root since it was last rendered. called are the functions that it
// calls now. The zero State is returned if records are not used.
func (r *Run) state(dir string, called []records.Setting) records.State {
	path := r.e.recordPath(dir, r.options.Plan.Cwd)
	if r.reusing == nil || path == "" || loaders.IsRemote(dir) {
		return records.State{}
	}
	return r.reusing.records.State(path, called)
}

// calledBy returns the functions that a root calls, as settings: see records.Calls.
func (r *Run) calledBy(dir string) []records.Setting {
	if r.called == nil {
		r.called = records.Calls(r.plan)
	}
	return r.called[diag.Redact(dir)]
}

// allOf returns the directories of the roots of a plan, including roots that could not be
// planned.
func allOf(plan *planner.Plan) (dirs []string) {
	for _, root := range plan.Graph.Roots {
		dirs = append(dirs, root.Dir)
	}
	for _, f := range plan.Failed {
		dirs = append(dirs, f.Dir)
	}
	return dirs
}

// warningsIn returns the warnings of a plan that concern files of a root.
func warningsIn(plan *planner.Plan, dir string, warnings []planner.Warning) []planner.Warning {
	if len(warnings) == 0 {
		return nil
	}
	seen, _ := plan.Observed(dir)
	return records.WarningsIn(seen, warnings)
}

// rendered returns the directories of the layers of the reused roots.
func (r *reusing) rendered() (dirs []string) {
	seen := map[string]bool{}
	for dir := range r.used {
		for real := range r.known[dir].Dirs {
			if !seen[real] {
				seen[real] = true
				dirs = append(dirs, real)
			}
		}
	}
	return dirs
}

// hasOthers reports whether a plan has warnings that do not concern a file, and so do not
// belong to a root. Warnings about trust are excluded: steps that need trust are planned in
// every run, which repeats the warnings.
func hasOthers(plan *planner.Plan) bool {
	if len(plan.Warnings) == 0 {
		return false
	}
	files := map[string]bool{}
	for _, src := range plan.Files() {
		files[src.File] = true
	}
	return slices.ContainsFunc(plan.Warnings,
		func(w planner.Warning) bool { return !files[w.Pos.File] && !strings.HasPrefix(string(w.Code), "KF03") })
}

// byRoot returns the warnings of steps, grouped by the roots that depend on them.
func (r *reusing) byRoot(plan *planner.Plan) map[string][]planner.Warning {
	ran := map[string][]planner.Warning{}
	if len(r.ran) == 0 {
		return ran
	}
	for root, nodes := range plan.Graph.RootsOf(func(n *graph.Node) bool { return len(r.ran[n.ID]) > 0 }) {
		for _, n := range nodes {
			ran[root.Dir] = append(ran[root.Dir], r.ran[n.ID]...)
		}
	}
	return ran
}
