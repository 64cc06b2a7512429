// Package container runs functions that are images, using the command line of podman or docker.
//
// A function runs without network, as nobody, without capabilities, and on a read-only root file
// system with a private /tmp. It can read its configuration below /local and nothing else of the
// machine, except granted mounts. The image that runs is the one that was verified:
// [Executor.Prepare] finds the digest among the local images or pulls by digest, and a call uses
// the image's id and never pulls.
//
// Every container has a unique name and is removed before its call returns. If this process is
// killed, its reaper removes the containers; if the reaper is killed also, the next executor
// does. Values of environment variables are passed in a file, never as arguments, which other
// users could read.
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

// Options configure an [Executor].
type Options struct {
	Engine Engine
	// Reaper is the command of a process that calls [Reap], without the engine's arguments: krmflow
	// itself. Without a reaper, the containers of a killed process remain until the next executor
	// starts.
	Reaper []string
}

// An Executor runs images. Its methods are safe for concurrent use. Use [New] to create one.
type Executor struct {
	Options
	sweep  func()
	can    func() abilities
	reaper reaper

	mu     sync.Mutex
	images map[imageKey]*image
}

// An imageKey identifies the image of a function.
type imageKey struct {
	ref    string
	digest krm.Digest
}

// An image is an image that is being prepared or is ready.
type image struct {
	mu sync.Mutex
	id string // "" until it is ready
}

// New returns an executor. It starts no process.
func New(o Options) *Executor {
	x := &Executor{Options: o, images: map[imageKey]*image{}, reaper: reaper{command: o.Reaper, engine: o.Engine}}
	x.sweep = sync.OnceFunc(func() { go o.Engine.sweep() })
	x.can = sync.OnceValue(o.Engine.abilities)
	return x
}

// Prepare verifies that the image of f is the allowed one, and pulls it if it is missing. It
// runs no container. It is idempotent; repeated calls are cheap.
func (x *Executor) Prepare(ctx context.Context, f function.Function) error {
	_, err := x.image(ctx, f)
	return err
}

// image returns the id with which f's image is run.
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

// checked returns the image of f if the function's settings are acceptable. The plan decides on
// the grants; checked rejects only settings that would circumvent that decision.
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

// Execute runs f once in a new container, which it removes before it returns. If the function
// fails, the error is an [*executors.Error] and Output contains the output up to the failure.
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

// Close stops the reaper. No call may be running.
func (x *Executor) Close() error { return x.reaper.close() }
