package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
)

// Errors of [Entry.Select].
var (
	ErrStarlark   = diag.Unsupported.Errorf("starlark is not supported")
	ErrNoRuntime  = diag.BadCatalog.Errorf("at least one of container and exec must be set")
	ErrNoPlatform = diag.Unsupported.Errorf("no program for this platform")
)

// A Selection is the runtime chosen for an entry.
type Selection struct {
	Runtime  function.Runtime
	Platform Platform // zero for RuntimeContainer
	// Reason explains the choice if the entry has several runtimes.
	Reason string
}

// Select chooses the runtime of e on os and arch. It prefers the container, unless prefer is
// exec and a program fits, and otherwise uses the best matching program. The error wraps
// [ErrStarlark] or [ErrNoPlatform], or is [ErrNoRuntime].
func (e *Entry) Select(os, arch string, prefer function.Runtime) (Selection, error) {
	program, fits := bestPlatform(e.Exec, os, arch)
	exec := Selection{Runtime: cmp.Or(e.ExecRuntime, function.RuntimeExec), Platform: program}
	container := Selection{Runtime: function.RuntimeContainer}
	switch {
	case e.Container != nil && fits && prefer == function.RuntimeExec:
		exec.Reason = "exec was requested; the entry also has a container"
		return exec, nil
	case e.Container != nil:
		if e.Exec != nil {
			container.Reason = "a container is preferred to exec"
		}
		return container, nil
	case fits:
		return exec, nil
	case e.Exec != nil:
		return Selection{}, fmt.Errorf("%w: no %s/%s build of %s in catalog %s, which offers %s", ErrNoPlatform, os, arch, e.GVK,
			e.Catalog.Ref, offered(e.Exec))
	case e.Starlark != "":
		return Selection{}, fmt.Errorf("%w: the entry is the script %s; use a container that runs the script, for instance StarlarkRun",
			ErrStarlark, e.Starlark)
	}
	return Selection{}, ErrNoRuntime
}

// bestPlatform returns the most specific program for os and arch, and the first one if several
// are equally specific.
func bestPlatform(list []Platform, os, arch string) (best Platform, ok bool) {
	rank := -1
	for _, p := range list {
		if p.OS != "" && p.OS != os || p.Arch != "" && p.Arch != arch {
			continue
		}
		n := 0
		if p.OS != "" {
			n++
		}
		if p.Arch != "" {
			n++
		}
		if n > rank {
			best, rank = p, n
		}
	}
	return best, rank >= 0
}

func offered(list []Platform) string {
	var names []string
	for _, p := range list {
		name := p.OS + "/" + p.Arch
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// SameProgram reports whether e and o run the same program or image with the same capabilities.
func (e *Entry) SameProgram(o *Entry) bool {
	if e.AllowRemoteConfig != o.AllowRemoteConfig || e.AllowArgs != o.AllowArgs || e.Starlark != o.Starlark ||
		e.ExecRuntime != o.ExecRuntime || !e.Requires.equal(&o.Requires) || !slices.Equal(e.Programs, o.Programs) ||
		!slices.Equal(e.absolute(), o.absolute()) || (e.Container == nil) != (o.Container == nil) {
		return false
	}
	if e.Container == nil {
		return true
	}
	a, b := *e.Container, *o.Container
	da, errA := a.Digest()
	db, errB := b.Digest()
	return errA == nil && errB == nil && da == db && a.Image.Name() == b.Image.Name() &&
		slices.Equal(a.Images, b.Images) && a.Network == b.Network && a.Storage == b.Storage && a.WritableStorage == b.WritableStorage
}

// absolute returns the programs of e in a form that is comparable between catalogs.
func (e *Entry) absolute() []Platform {
	list := slices.Clone(e.Exec)
	for i := range list {
		list[i].URI = e.Catalog.Ref.Beside(list[i].URI)
		list[i].Pin = Pin{Digest: list[i].Pin.Digest}
	}
	return list
}
