package engine

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors/probe"
	"github.com/krmflow/krmflow/internal/engine/answers"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
)

// answers returns which answers of functions are reused. The cache is not opened before a plan has a call that may be. The caller calls end when
// the run has ended.
func (e *Engine) answers(ctx context.Context) (reuse scheduler.Reuse, end func()) {
	if e.o.Sources.NoCache {
		return reuse, func() {}
	}
	kept := answers.New(ctx, answers.Options{Open: e.cache, Shared: e.shared, Failed: func(shared bool, why error) {
		if !shared {
			e.warnCacheUnused(why)
			return
		}
		e.host.Log.Notice(planner.WarningOf(diag.AsError(why)))
	}})
	return scheduler.Reuse{Answers: kept, Version: e.o.Version, Secrets: e.o.CacheSecrets, Verify: debugs("cacheverify")}, kept.Close
}

// cache returns the cache for what is made. It is opened when it is needed first, and nil if there is none that lasts: a run can do without.
func (e *Engine) cache() *cache.Cache {
	e.cacheOnce.Do(func() {
		if e.o.Sources.NoCache {
			return
		}
		w := e.host.Watch
		if w != nil && w.cache != nil {
			e.lasting = w.cache
			return
		}
		s := e.o.Sources
		s.CacheUnused, s.Rendered, s.Places = e.warnCacheUnused, e.asked, &e.places
		c, err := s.OpenLasting()
		if err != nil {
			e.warnCacheUnused(err)
			return
		}
		if e.lasting = c; w != nil {
			w.cache = c
			return
		}
		e.host.Exits.Add(func() { c.Close() })
	})
	return e.lasting
}

// isolation returns what isolates programs on this machine, as [probe.Isolation] does, which starts processes for that: so it is not found out
// again as long as nothing has changed that decides about it. That is for the plan alone: before an executor runs a program, it tries itself.
func (e *Engine) isolation() (isolation, missing string) {
	machine, ok := probe.Machine()
	c := e.cache()
	if !ok || c == nil {
		return probe.Isolation()
	}
	const kind = "isolation"
	if known, ok := c.Kept(kind, machine); ok && len(known) > 0 {
		return string(known), ""
	}
	if isolation, missing = probe.Isolation(); isolation != "" {
		_ = c.Keep(kind, machine, []byte(isolation)) // it is found out again
	}
	return isolation, missing
}

// debugs reports whether KRMFLOW_DEBUG asks for something.
func debugs(what string) bool {
	return slices.Contains(strings.Split(os.Getenv("KRMFLOW_DEBUG"), ","), what)
}

// answers tells which answers are there: see [Run.Preview].
func (r *Run) answers(ctx context.Context) map[string]bool {
	kept, end := r.e.answers(ctx)
	defer end()
	known := map[string]bool{}
	if kept.Answers == nil {
		return known
	}
	for call, n := range r.plan.Graph.Calls() {
		if there, ok := kept.Has(ctx, call); ok {
			known[n.ID] = there
		}
	}
	return known
}
