// Package probe collects the facts about this machine that a plan needs to decide on functions:
// the isolation of programs and the local images. It does not start functions.
package probe

import (
	"context"
	"fmt"
	"sync"

	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/trust"
)

// Isolation returns the isolation of programs on this machine. If it is insufficient, isolation
// is empty and missing is the reason. To test the isolation, it starts a short-lived process of
// the running program.
func Isolation() (isolation, missing string) {
	iso := exec.Probe()
	if iso.Enough() {
		return iso.String(), ""
	}
	return "", iso.Missing
}

// Images returns a function that finds the digests of images in the store of a container engine.
// runtime is podman, docker or the path of one of them; if it is empty, the first of them on
// PATH is used. The engine and its store are looked up at the first call. The function is safe
// for concurrent use.
func Images(ctx context.Context, runtime string) func(reference string) trust.Image {
	return (&images{ctx: ctx, runtime: runtime}).find
}

type images struct {
	ctx     context.Context
	runtime string
	once    sync.Once
	engine  container.Engine
	store   *container.Store
	err     error // reason why there is no store
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
		err = fmt.Errorf("%s built this image here, and a registry would give it a different digest", p.engine.Name)
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
