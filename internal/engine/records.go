package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/planner"
)

// reusing is what a run knows of earlier ones, and remembers for later ones. A nil one knows and remembers nothing.
type reusing struct {
	cache   *cache.Cache
	records *records.Records
	known   map[string]*records.Record // those that hold, by the directories of their roots
	failed  map[string]*records.Record // and those of roots that cannot be planned
	broken  map[string]brokenRoot      // roots in which an earlier round of a watch has found mistakes, by their paths
	used    map[string]bool            // the roots that are not planned
	claimed map[string]bool            // those that would not be, if nobody compared
	told    map[string]bool            // what these warn about

	drafted *planner.Plan // see draft
	drafts  func() map[string]*records.Record

	mu  sync.Mutex
	ran map[string][]planner.Warning // warnings of this run, by the ids of steps: a run of a part of the plan has other nodes
	all int                          // how many
}

// rootWorth is what a root counts for that an earlier run has made, in bytes of the results that allow a run to go on: it takes time to look
// whether anything has changed, and nothing is read for that.
const rootWorth = 64 << 10

// maxRan is how many warnings of steps a run may have whose roots are remembered.
const maxRan = 1000

// wantsReuse reports whether the request can use records.
func (q *Request) wantsReuse() bool { return q.Reuse != nil || q.Text || q.Key != "" }

// usable reports whether the command can do without making a root again.
func (r *Run) usable(dir string, record *records.Record) bool {
	if r.request.Text {
		r.text, r.hasText = r.reusing.textOf(record)
		return r.hasText
	}
	return r.request.Reuse != nil && r.request.Reuse(dir, record)
}

// startReuse looks for records of the roots and returns those that are to be planned.
func (r *Run) startReuse(ctx context.Context) []string {
	e, dirs, o := r.e, r.dirs, &r.options.Plan
	noCache := e.o.Sources.NoCache && e.host.Watch == nil
	if len(dirs) == 0 || !r.request.wantsReuse() || noCache || e.o.Fresh || r.request.Lock.Learn || len(o.Instead) > 0 || o.Free != nil || mixed(dirs) {
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
	r.reusing = &reusing{cache: c, known: map[string]*records.Record{}, failed: map[string]*records.Record{}, used: map[string]bool{}, ran: map[string][]planner.Warning{},
		records: e.openRecords(c, settings, r.fetching(ctx, c))}
	o.Observe, e.reuses = true, true
	e.host.Usage.Made.Add(int64(len(dirs)) * rootWorth)
	if e.host.Watch != nil {
		r.reusing.broken = e.host.Watch.broken
	}
	if debugs("cacheverify") {
		r.reusing.find(dirs, o.Cwd, nil)
		r.reusing.claimed = map[string]bool{}
		for dir, record := range r.reusing.known {
			r.reusing.claimed[dir] = r.request.Unseen && r.usable(dir, record)
		}
		return dirs
	}
	rest := r.reusing.find(dirs, o.Cwd, r.usable)
	defer func() { o.Rendered = r.reusing.rendered() }()
	if r.request.Key == "" || len(r.reusing.known) < len(dirs) {
		return rest
	}
	var all []*records.Record
	for _, dir := range dirs {
		all = append(all, r.reusing.known[dir])
	}
	if r.text, r.hasText = c.Kept(kindPlan, r.key(all, r.states(nil))); r.hasText {
		for _, dir := range dirs {
			r.reusing.used[dir] = true
		}
		return nil
	}
	return rest
}

// openRecords opens the records of a run: those that the rounds of a watch share, if it is one.
func (e *Engine) openRecords(c *cache.Cache, settings []records.Setting, fetch loaders.Fetch) *records.Records {
	w := e.host.Watch
	if w == nil {
		return records.Open(c, settings, fetch, &e.places)
	}
	if w.records == nil {
		w.records = records.Open(c, settings, fetch, &filestat.Dirs{})
	}
	w.records.Again(c, settings, fetch)
	return w.records
}

// fetching returns what fetches for the records and for the plan.
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

// mixed reports whether some of the roots are absolute paths and others are not: how messages call files depends on all of them.
func mixed(dirs []string) bool {
	return slices.ContainsFunc(dirs, filepath.IsAbs) && slices.ContainsFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) })
}

// reuseSettings returns what decides about results and messages besides files. It reports false if that cannot be known.
func (e *Engine) reuseSettings(dirs []string, o *planner.Options) ([]records.Setting, bool) {
	catalogs, ok := trustedCatalogs(o)
	return []records.Setting{
		{Name: "trusted catalogs", Value: catalogs},
		{Name: "krmflow", Value: e.o.Version + executable()},
		{Name: "working directory", Value: o.Cwd},
		{Name: "absolute paths", Value: strconv.FormatBool(filepath.IsAbs(dirs[0]))},
		{Name: "--load-restrictor", Value: strconv.FormatBool(o.Unrestricted)},
		{Name: "--reorder", Value: o.Reorder + map[bool]string{true: " (given)"}[o.ReorderSet]},
		{Name: "--max-input", Value: strconv.FormatInt(e.o.Limits.Input, 10)},
		{Name: "--enable-managedby-label", Value: strconv.FormatBool(o.ManagedByLabel)},
	}, ok
}

// trustedCatalogs returns which catalogs are trusted, and what is in them: they know which resources look like configurations of functions. It
// reports false if one is remote and may be another one each time.
func trustedCatalogs(o *planner.Options) (text string, ok bool) {
	var b strings.Builder
	for _, src := range o.Functions.Trusted {
		fmt.Fprintf(&b, "%s ", diag.Redact(src.Ref))
		if src.Content != nil {
			fmt.Fprintf(&b, "%s ", krm.DigestOf(src.Content))
			continue
		}
		ref, err := catalog.ParseRef(src.Ref)
		switch {
		case err != nil, ref.Remote() && ref.Pin.IsZero() && !src.Below:
			return "", false
		case !ref.Remote() && !src.Below:
			path := ref.Location
			if !filepath.IsAbs(path) {
				path = filepath.Join(o.Cwd, path)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return "", false // planning says what is wrong
			}
			fmt.Fprintf(&b, "%s ", krm.DigestOf(data))
		}
	}
	return b.String(), true
}

// executable returns what tells this program from others of the same version: developers have many.
func executable() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	s := filestat.Of(info)
	return fmt.Sprintf(" of %d bytes at %d (%d)", info.Size(), info.ModTime().UnixNano(), s.Ino)
}

// find returns the roots that are not known or cannot be used.
func (r *reusing) find(dirs []string, cwd string, usable func(string, *records.Record) bool) (rest []string) {
	paths := make([]string, len(dirs))
	for i, dir := range dirs {
		if !loaders.IsRemote(dir) {
			paths[i] = absolute(dir, cwd)
		}
	}
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
		case len(record.Unavailable) > 0 && usable != nil:
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

// absolute returns the path of a root, "" if there is none because the working directory was removed.
func absolute(dir, cwd string) string {
	switch {
	case filepath.IsAbs(dir):
		return filepath.Clean(dir)
	case cwd == "":
		return ""
	}
	return filepath.Join(cwd, dir)
}

// addFailed adds the roots to a plan that cannot be planned because what they refer to cannot be fetched, as an earlier run has found and this
// one again.
func (r *reusing) addFailed(plan *planner.Plan, dirs []string, cwd string) {
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
		if b, ok := r.broken[absolute(dir, cwd)]; ok && r.failed[dir] == b.record && b.record != nil {
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

// unavailable returns what is wrong with a root if that is nothing but that something could not be fetched.
func unavailable(f planner.RootError) (list []planner.Warning) {
	for _, err := range f.Errs {
		if !errors.Is(err, remote.ErrRetrieval) || errors.Is(err, remote.ErrVerification) || errors.Is(err, diag.ErrLimit) {
			return nil
		}
		list = append(list, planner.WarningOf(diag.AsError(err)))
	}
	return list
}

// Known is what earlier runs say of a root.
type Known struct {
	// Record is that of a root that is not planned, because it is known, and Failed that of one that cannot be planned, as an earlier run
	// has found: see [records.Record.Unavailable].
	Record, Failed *records.Record
	// Claimed reports that KRMFLOW_DEBUG=cacheverify has the root made although it would have been left out.
	Claimed bool
}

// Known returns what earlier runs say of a root.
func (r *Run) Known(dir string) (k Known) {
	if r.reusing == nil {
		return k
	}
	if r.reusing.used[dir] {
		k.Record = r.reusing.known[dir]
	}
	k.Failed, k.Claimed = r.reusing.failed[dir], r.reusing.claimed[dir]
	return k
}

// warned returns the warnings of those of dirs that are not planned: those of planning, each once, and those of steps if they are wanted.
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

// warn keeps a warning of a step, and reports whether it was told because an earlier run gave it.
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

// remember keeps what this run has made of the roots of its plan, for later ones. made says of each root whether it was made, and adds to its record what it
// is. That something cannot be kept is no error: it will be made again. It is one if KRMFLOW_DEBUG=cacheverify has everything made again, and
// something else came of a root than its record says.
func (x *Run) remember(made func(dir string, r *records.Record) bool) error {
	r, plan := x.reusing, x.plan
	if r == nil || plan.MoreWarnings > 0 || r.all > maxRan {
		return nil
	}
	if hasOthers(plan) {
		return nil // a later run would not give these warnings
	}
	ran := r.byRoot(plan)
	failed := map[string]planner.RootError{}
	for _, f := range plan.Failed {
		failed[f.Dir] = f
	}
	all := map[string]*records.Record{}
	called := functionsOf(plan)
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
			was = nil // something has changed between the look at what the record has and the plan
		}
		var before []byte
		if was != nil {
			before = was.Bytes()
		}
		old := *record
		record.Planned = warningsIn(plan, dir, plan.Warnings[:x.planWarnings])
		record.Ran = append(warningsIn(plan, dir, plan.Warnings[x.planWarnings:]), ran[dir]...)
		record.Functions = called[dir]
		if fails {
			record.Unavailable = unavailable(f)
		}
		if (fails && len(record.Unavailable) > 0 && len(plan.Denied) == 0 || !fails && made(dir, record)) && (was == nil || !bytes.Equal(before, record.Bytes())) {
			all[absolute(dir, x.options.Plan.Cwd)] = record
			if was != nil && debugs("cacheverify") && record.Contradicts(&old) {
				return diag.Errorf(diag.Pos{File: dir}, "", "the cache says that something else comes of this root, although nothing of it has changed").With(diag.NotDeterministic)
			}
		}
	}
	_ = r.records.Save(maps.All(all)) // what was not kept is made again
	return nil
}

// draft begins to make the records of the roots of a plan, on a core that the run may leave free: planning has read everything that they are
// made from.
func (r *reusing) draft(plan *planner.Plan) {
	if r == nil {
		return
	}
	before := r.drafts
	drafts := sync.OnceValue(func() map[string]*records.Record {
		if before != nil {
			before() // the records are for one at a time
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
		defer func() { _ = recover() }() // draftsOf panics with it again
		drafts()
	}()
}

// draftsOf returns the records of the roots of a plan, without what has come of it. A root of which not enough is known has none.
func (r *reusing) draftsOf(plan *planner.Plan) map[string]*records.Record {
	if r.drafted != plan {
		r.draft(plan)
	}
	return r.drafts()
}

// States returns what has become of the roots since they were rendered last, by their names in the plan, as far as the cache knows.
func (r *Run) States() map[string]records.State { return r.states(r.plan) }

// states is [Run.States] with the functions that a plan calls; nil stands for none.
func (r *Run) states(plan *planner.Plan) map[string]records.State {
	states := map[string]records.State{}
	if r.reusing == nil {
		return states
	}
	var called map[string][]records.Setting
	if plan != nil {
		called = functionsOf(plan)
	}
	for _, dir := range r.dirs {
		if path := absolute(dir, r.options.Plan.Cwd); path != "" && !loaders.IsRemote(dir) {
			states[diag.Redact(dir)] = r.reusing.records.State(path, called[diag.Redact(dir)])
		}
	}
	return states
}

// functionsOf returns the functions that each root of a plan calls: the id of the step, and what runs.
func functionsOf(plan *planner.Plan) map[string][]records.Setting {
	called := map[string][]records.Setting{}
	what := map[*graph.Node]string{}
	for call, n := range plan.Graph.Calls() {
		what[n] = call.Function.Name + " " + call.Function.Digest.String()
		if call.Chart != nil {
			what[n] += ", chart " + call.Chart.Digest.String()
		}
	}
	if len(what) == 0 {
		return called
	}
	for root, calls := range plan.Graph.RootsOf(func(n *graph.Node) bool { return what[n] != "" }) {
		for _, n := range calls {
			called[root.Dir] = append(called[root.Dir], records.Setting{Name: n.ID, Value: what[n]})
		}
	}
	return called
}

// allOf returns the directories of the roots of a plan, and of those that could not be planned.
func allOf(plan *planner.Plan) (dirs []string) {
	for _, root := range plan.Graph.Roots {
		dirs = append(dirs, root.Dir)
	}
	for _, f := range plan.Failed {
		dirs = append(dirs, f.Dir)
	}
	return dirs
}

// warningsIn returns those of some warnings of a plan that are about files of a root.
func warningsIn(plan *planner.Plan, dir string, warnings []planner.Warning) []planner.Warning {
	if len(warnings) == 0 {
		return nil
	}
	seen, _ := plan.Observed(dir)
	return plannedIn(seen, warnings)
}

// plannedIn returns the warnings that are about files which the layers of a root have seen.
func plannedIn(seen []*loaders.Observation, warnings []planner.Warning) (in []planner.Warning) {
	if len(warnings) == 0 {
		return nil
	}
	files := map[string]bool{}
	for _, o := range seen {
		if o.Kind == loaders.SawFile {
			files[o.Source.File] = true
		}
	}
	for _, w := range warnings {
		if files[w.Pos.File] {
			in = append(in, w)
		}
	}
	return in
}

// rendered returns the directories of the layers of the roots that are not planned.
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

// hasOthers reports whether a plan has warnings about no file in particular, which are those of no root. What is said of trust is said in each
// run: what needs to be trusted is always planned.
func hasOthers(plan *planner.Plan) bool {
	if len(plan.Warnings) == 0 {
		return false
	}
	files := map[string]bool{}
	for _, src := range plan.Files() {
		files[src.File] = true
	}
	return slices.ContainsFunc(plan.Warnings, func(w planner.Warning) bool { return !files[w.Pos.File] && !strings.HasPrefix(string(w.Code), "KF03") })
}

// byRoot returns the warnings of steps by the roots that need them.
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
