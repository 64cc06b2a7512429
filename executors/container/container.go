// Package container runs functions that are images, with the command line of podman or docker.
//
// A function runs without network, as nobody, without capabilities, on a read-only root file system with a /tmp of its
// own. It sees its configuration below /local and nothing else of the machine, unless it was granted. What runs is the
// image that was verified: [Executor.Prepare] finds the digest among the local images or pulls by it, and a call names the
// image by its id and never pulls.
//
// Every container has a name and is removed by it before a call returns. If this process is killed, its reaper removes
// them; if that is killed, too, the next executor does. The values of environment variables never stand in an argument.
package container

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Options are what an [Executor] needs to know of its surroundings.
type Options struct {
	Engine Engine
	// Reaper is the command that [Reap] runs in, without the engine: krmflow itself. Without one, the containers of a
	// killed process stay until the next one starts.
	Reaper []string
}

// An Executor runs images. Its methods may be called from many goroutines. Make one with [New].
type Executor struct {
	Options
	sweep  func()
	can    func() abilities
	reaper reaper

	mu     sync.Mutex
	images map[imageKey]*image
}

// An imageKey says which image a function runs.
type imageKey struct {
	ref    string
	digest krm.Digest
}

// An image is one that is being prepared, or was.
type image struct {
	mu sync.Mutex
	id string // "" if it is not there yet
}

// New returns an executor. It starts nothing.
func New(o Options) *Executor {
	x := &Executor{Options: o, images: map[imageKey]*image{}, reaper: reaper{command: o.Reaper, engine: o.Engine}}
	x.sweep = sync.OnceFunc(func() { go o.Engine.sweep() })
	x.can = sync.OnceValue(o.Engine.abilities)
	return x
}

// Prepare makes sure that the image of f is there and is what was agreed on, and pulls it if it is not there. It runs no
// container. Preparing a function twice costs nothing.
func (x *Executor) Prepare(ctx context.Context, f function.Function) error {
	_, err := x.image(ctx, f)
	return err
}

// image returns the id by which f's image is run.
func (x *Executor) image(ctx context.Context, f function.Function) (id string, err error) {
	ref, err := checked(f)
	if err != nil {
		return "", err
	}
	k := imageKey{ref.String(), f.Digest}
	x.mu.Lock()
	im := x.images[k]
	if im == nil {
		im = &image{}
		x.images[k] = im
	}
	x.mu.Unlock()
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.id == "" {
		im.id, err = x.Engine.obtain(ctx, f, ref)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	return im.id, err
}

// checked returns the image of f if all that f asks for is allowed to be asked for. What decides about that are the plan
// and its grants; here only what would get around them is refused.
func checked(f function.Function) (reference, error) {
	ref, err := parseReference(f.Image)
	if err != nil {
		return ref, fail(f, executors.Invalid, "%v", err)
	}
	switch {
	case ref.digest != (krm.Digest{}) && f.Digest != (krm.Digest{}) && ref.digest != f.Digest:
		return ref, fail(f, executors.Verification, "%s is not the image that was allowed", f.Image).
			Hint("want %s", f.Digest).Hint("got  %s", ref.digest)
	case f.Digest == (krm.Digest{}) && !f.Unverified:
		return ref, fail(f, executors.Denied, "%s has no digest", f.Image).Hint("name it with @sha256:... or in the catalog")
	}
	if err := checkNetwork(f.Network); err != nil {
		return ref, fail(f, executors.Denied, "%v", err)
	}
	for _, m := range f.Mounts {
		if err := checkMount(m, f.Root); err != nil {
			return ref, fail(f, executors.Denied, "mount %s: %v", m.Dest, err)
		}
	}
	for _, env := range f.Env {
		if err := checkEnv(env); err != nil {
			return ref, fail(f, executors.Invalid, "%v", err)
		}
	}
	return ref, nil
}

// fail returns an error about f.
func fail(f function.Function, code executors.Code, format string, args ...any) *executors.Error {
	return &executors.Error{Code: code, Msg: f.Name + ": " + fmt.Sprintf(format, args...)}
}

// Execute runs f once in a container of its own, which is gone when Execute returns. If the function fails, the error is
// an [*executors.Error] and the Output has what it has written until then.
func (x *Executor) Execute(ctx context.Context, f function.Function, list yaml.Chunks) (executors.Output, error) {
	id, err := x.image(ctx, f)
	if err != nil {
		return executors.Output{}, err
	}
	x.sweep()
	f.Limits = executors.Bounded(f.Limits)
	c := &call{engine: x.Engine, function: f, image: id, can: x.can()}
	if err := c.makeDir(); err != nil {
		return executors.Output{}, fail(f, executors.Failed, "%v", err)
	}
	defer os.RemoveAll(c.dir)
	defer c.closeSources()
	if err := c.openSources(); err != nil {
		return executors.Output{}, err
	}
	if err := x.reaper.add(c.name, c.dir); err != nil {
		return executors.Output{}, fail(f, executors.Failed, "%v", err)
	}
	defer x.reaper.done(c.name)
	return c.run(ctx, list)
}

// Close ends the reaper. No call may be running.
func (x *Executor) Close() error { return x.reaper.close() }
