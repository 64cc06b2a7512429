package engine

import (
	"path/filepath"

	"github.com/krmflow/krmflow/internal/engine/shard"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
)

// Split returns the distribution of the roots of the last [Engine.Find] or [Engine.Distribute].
func (e *Engine) Split() *shard.Split { return &e.split }

// share returns the roots of this shard.
func (e *Engine) share(all render.Roots) render.Roots {
	e.split = e.o.Shard.Split(all, e.objects.here, e.o.Jobs)
	if w := e.split.Empty(); w != nil {
		e.host.Log.Notice(planner.WarningOf(w))
	}
	return e.split.Own
}

// Distribute returns the directories of this shard, for a command that does not use
// [Engine.Find].
func (e *Engine) Distribute(dirs []string) []string {
	list := unplaced(dirs)
	for i := range list {
		list[i].Out = filepath.ToSlash(dirs[i])
	}
	return e.share(list).Dirs()
}
