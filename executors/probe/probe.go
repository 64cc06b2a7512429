// Package probe asks this machine what a plan must know of it to decide about functions: what isolates programs, and which images there
// are. Nothing of that starts a function.
package probe

import (
	"context"
	"fmt"
	"sync"

	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/trust"
)

// Isolation returns what isolates a program on this machine, empty for nothing that is enough, and what is missing then. It tries, for
// which it starts the running program itself as a process that ends at once.
func Isolation() (isolation, missing string) {
	iso := exec.Probe()
	if iso.Enough() {
		return iso.String(), ""
	}
	return "", iso.Missing
}

// Images returns what finds digests of images in the store of the engine that a runtime names: podman, docker or the path of one of them,
// empty for the first of them on PATH. Both are looked for when the first image is asked for. It is safe for concurrent use.
func Images(ctx context.Context, runtime string) func(reference string) trust.Image {
	return (&images{ctx: ctx, runtime: runtime}).find
}

type images struct {
	ctx     context.Context
	runtime string
	once    sync.Once
	engine  container.Engine
	store   *container.Store
	err     error // why there is no store
}

func (p *images) find(name string) trust.Image {
	p.once.Do(func() {
		if p.engine, p.err = container.Detect(p.runtime); p.err == nil {
			p.store, p.err = p.engine.Store(p.ctx)
		}
	})
	if p.err != nil {
		return trust.Image{Err: p.err}
	}
	digests, built, err := p.store.Digests(name)
	switch {
	case err != nil:
	case built:
		err = fmt.Errorf("%s built this image here, and a registry gives it another digest", p.engine.Name)
		if command := p.engine.PushCommand(name); command != "" {
			err = fmt.Errorf("%w; to see that one in the next plan: %s", err, command)
		}
	case len(digests) == 0:
		err = fmt.Errorf("%s has no such image on this machine", p.engine.Name)
		if command := p.engine.PullCommand(name); command != "" {
			err = fmt.Errorf("%w; to see its digest in the next plan: %s", err, command)
		}
	}
	return trust.Image{Digests: digests, Err: err}
}
