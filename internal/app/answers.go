package app

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors/probe"
	"github.com/krmflow/krmflow/internal/answers"
	"github.com/krmflow/krmflow/internal/program"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
)

// answers returns which answers of functions are reused. The cache is not opened before a plan has a call that may be. The caller calls end when
// the run has ended.
func (a *App) answers(ctx context.Context) (reuse scheduler.Reuse, end func()) {
	if a.NoCache {
		return reuse, func() {}
	}
	kept := answers.New(ctx, answers.Options{Open: a.kept, Shared: a.shared, Failed: func(shared bool, why error) {
		if !shared {
			a.warnCacheUnused(why)
			return
		}
		a.Log.Notice(planner.WarningOf(diag.AsError(why)))
	}})
	return scheduler.Reuse{Answers: kept, Version: program.Version(), Secrets: a.cacheSecrets, Verify: debugs("cacheverify")}, kept.Close
}

// kept returns the cache for what is made. It is opened when it is needed first, and nil if there is none that lasts: a run can do without.
func (a *App) kept() *cache.Cache {
	a.keptOnce.Do(func() {
		if a.NoCache {
			return
		}
		if a.Watch != nil && a.Watch.cache != nil {
			a.keptCache = a.Watch.cache
			return
		}
		s := a.Fetching()
		s.Rendered, s.Places = a.asked, &a.Places
		c, err := s.OpenLasting()
		if err != nil {
			a.warnCacheUnused(err)
			return
		}
		if a.keptCache = c; a.Watch != nil {
			a.Watch.cache = c
			return
		}
		a.Exits.Add(func() { c.Close() })
	})
	return a.keptCache
}

// isolation returns what isolates programs on this machine, as [probe.Isolation] does, which starts processes for that: so it is not found out
// again as long as nothing has changed that decides about it. That is for the plan alone: before an executor runs a program, it tries itself.
func (a *App) isolation() (isolation, missing string) {
	machine, ok := probe.Machine()
	c := a.kept()
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

// KnownAnswers tells of the calls of a plan that get no list, and whose answers may be reused, whether an answer is there: by the ids of their
// nodes. Of all others that is not known before a run.
func (a *App) KnownAnswers(ctx context.Context, plan *planner.Plan) map[string]bool {
	reuse, end := a.answers(ctx)
	defer end()
	known := map[string]bool{}
	if reuse.Answers == nil {
		return known
	}
	for call, n := range plan.Graph.Calls() {
		if there, ok := reuse.Has(ctx, call); ok {
			known[n.ID] = there
		}
	}
	return known
}
