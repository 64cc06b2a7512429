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

// answers returns the function answers that can be reused. The cache is opened only when a plan
// has a call whose answer may be in it. The caller must call end when the run has ended.
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

// cache returns the cache for results, or nil if there is no persistent cache, because a run
// can work without one. It is opened on first use.
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

// isolation returns the isolation of programs on this machine, as [probe.Isolation] does. That
// starts processes, so the result is cached until a fact about the machine that affects it has
// changed. The cached result is used only in the plan: each executor tests its isolation again
// before it runs a program.
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
		_ = c.Keep(kind, machine, []byte(isolation)) // on failure, the next run probes again
	}
	return isolation, missing
}

// debugs reports whether KRMFLOW_DEBUG contains what.
func debugs(what string) bool {
	return slices.Contains(strings.Split(os.Getenv("KRMFLOW_DEBUG"), ","), what)
}

// answers reports which answers are cached, by node: see [Run.Preview].
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
