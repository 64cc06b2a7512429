package container

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/internal/bounded"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// answerTimeout is the time for a registry to answer.
const answerTimeout = 12 * time.Second

// found is an image of the local store, in the JSON format that both engines share.
type found struct {
	ID          string   `json:"Id"`
	Digest      string   // podman: of the manifest
	RepoDigests []string // name@digest
}

// has reports whether d identifies the image. d may be the digest of its manifest, of the index
// from which it was selected, or the id of an image without a manifest in a registry.
func (im found) has(d krm.Digest) bool {
	want := d.String()
	if im.Digest == want || im.id() == want {
		return true
	}
	for _, r := range im.RepoDigests {
		if _, digest, _ := strings.Cut(r, "@"); digest == want {
			return true
		}
	}
	return false
}

func (im found) id() string {
	if strings.HasPrefix(im.ID, "sha256:") {
		return im.ID
	}
	return "sha256:" + im.ID
}

// digests returns the digest of the image for messages.
func (im found) digests() string {
	if im.Digest != "" {
		return im.Digest
	}
	for _, r := range im.RepoDigests {
		if _, digest, ok := strings.Cut(r, "@"); ok {
			return digest
		}
	}
	return im.id()
}

// inspect returns the local image with a name, false if there is none.
func (e Engine) inspect(ctx context.Context, name string) (im found, ok bool, err error) {
	out, err := e.output(ctx, "image", "inspect", "--", name)
	if err != nil {
		if ctx.Err() != nil || !missingImage(err) {
			return im, false, err
		}
		return im, false, nil
	}
	var ims []found
	if err := json.Unmarshal([]byte(out), &ims); err != nil || len(ims) == 0 || ims[0].ID == "" {
		return im, false, fmt.Errorf("%s image inspect printed no image", e.Name)
	}
	return ims[0], true, nil
}

func missingImage(err error) bool {
	msg := strings.ToLower(err.Error())
	return strings.Contains(msg, "no such image") || strings.Contains(msg, "image not known") ||
		strings.Contains(msg, "failed to find image") ||
		strings.Contains(msg, "not found") && strings.Contains(msg, "image")
}

// obtain returns the id of f's image and pulls the image if it is missing. The id is a digest of
// the content that will run.
func (e Engine) obtain(ctx context.Context, f function.Function, ref reference) (string, error) {
	broken := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed := fail(f, executors.Failed, "image %s: %v", f.Image, err)
		if advice := e.advice(err.Error()); advice != "" {
			failed.Hint("%s", advice)
		}
		return failed
	}
	names := []string{ref.String()}
	if digest := f.Digest; digest != (krm.Digest{}) {
		names = []string{ref.name + "@" + digest.String(), digest.String(), ref.String()}
	}
	var other found
	for _, name := range names {
		im, ok, err := e.inspect(ctx, name)
		switch {
		case err != nil:
			return "", broken(err)
		case ok && (f.Digest == (krm.Digest{}) || im.has(f.Digest)):
			return im.id(), nil
		case ok:
			other = im
		}
	}
	if ref.local() {
		return "", absent(f, other, "no such image on this machine")
	}
	pull := ref.pullName() + "@" + f.Digest.String()
	if f.Digest == (krm.Digest{}) {
		pull = ref.pullName() + ":" + ref.tagOrLatest()
	}
	if err := e.pull(ctx, pull); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", absent(f, other, err.Error())
	}
	im, ok, err := e.inspect(ctx, pull)
	switch {
	case err != nil:
		return "", broken(err)
	case !ok:
		return "", broken(fmt.Errorf("the image was pulled, but %s does not have it", e.Name))
	case f.Digest != (krm.Digest{}) && !im.has(f.Digest):
		return "", mismatch(f, im)
	}
	return im.id(), nil
}

func (r reference) tagOrLatest() string {
	if r.tag == "" {
		return "latest"
	}
	return r.tag
}

// absent returns the error for an image that could not be obtained. If other is a local image
// with that name, or the registry has no image with the digest, it is a verification error.
func absent(f function.Function, other found, why string) *executors.Error {
	if other.ID != "" {
		return mismatch(f, other).Hint("cannot get the allowed image: %s", why)
	}
	lower := strings.ToLower(why)
	if strings.Contains(lower, "manifest unknown") || strings.Contains(lower, "manifest for") && strings.Contains(lower, "not found") {
		return fail(f, executors.Verification, "the registry has no image %s with the allowed digest", f.Image).
			Hint("want %s", f.Digest).Hint("%s", why)
	}
	return fail(f, executors.Retrieval, "image %s cannot be pulled: %s", f.Image, why)
}

func mismatch(f function.Function, im found) *executors.Error {
	return fail(f, executors.Verification, "%s is not the image that was allowed", f.Image).
		Hint("want %s", f.Digest).Hint("got  %s", im.digests()).Hint("nothing was run")
}

// pull pulls an image. Engines wait for minutes for an unreachable registry, so pull stops
// earlier if the registry does not answer.
func (e Engine) pull(ctx context.Context, name string) error {
	pulling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &progress{answered: time.AfterFunc(answerTimeout, func() { cancel(errNoAnswer) }), text: bounded.Head{Limit: 64 << 10}}
	defer w.answered.Stop()
	cmd := e.command(pulling, "pull", "--", name)
	cmd.Stdout, cmd.Stderr = w, w
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case context.Cause(pulling) == errNoAnswer:
		return errNoAnswer
	}
	return fmt.Errorf("%s: %s", e.Name, complaint(w.text.String(), err))
}

var errNoAnswer = fmt.Errorf("the registry did not answer within %s", answerTimeout)

// progress keeps the output of a pull. It stops the timer answered at the first line that shows
// an answer of the registry.
type progress struct {
	answered *time.Timer
	text     bounded.Head
}

func (p *progress) Write(b []byte) (int, error) {
	p.text.Write(b)
	for _, sign := range []string{"Getting image source", "Copying blob", "Copying config", "Pulling from", "Writing manifest"} {
		if bytes.Contains(b, []byte(sign)) {
			p.answered.Stop()
		}
	}
	return len(b), nil
}
