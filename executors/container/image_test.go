package container

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

func refused(t *testing.T, err error, code executors.Code, parts ...string) {
	t.Helper()
	var e *executors.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("got %v, want an error of code %d", err, code)
		return
	}
	for _, p := range parts {
		if !strings.Contains(e.Msg, p) {
			t.Errorf("%q is not in %q", p, e.Msg)
		}
	}
}

// What runs is the image with the digest, whatever its tag means by now.
func TestDigestDecides(t *testing.T) {
	l := newLab(t)
	x := l.executor(t)
	if l.v1 == l.v2 {
		t.Fatal("the versions are the same")
	}
	version := func(f function.Function) string {
		t.Helper()
		id, err := x.image(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(l.must(t, "image", "inspect", "--format", "{{.Config.Labels.version}}", id))
	}
	f := l.function("cat")
	if got := version(f); got != "1" { // the tag is at 2
		t.Errorf("version %s runs for the digest of 1", got)
	}
	f.Digest = l.v2
	if got := version(f); got != "2" {
		t.Errorf("version %s runs for the digest of 2", got)
	}
	f.Image += "@" + l.v2.String()
	if got := version(f); got != "2" {
		t.Errorf("version %s", got)
	}

	wrong := l.v2
	wrong[31] ^= 1
	f.Digest = wrong
	refused(t, x.Prepare(t.Context(), f), executors.Verification, "is not the image that was allowed", "want "+wrong.String(), "got  "+l.v2.String())
	f = l.function("cat")
	f.Digest = wrong
	refused(t, x.Prepare(t.Context(), f), executors.Verification, "want "+wrong.String())
	if _, err := x.Execute(t.Context(), f, nil); err == nil {
		t.Error("it ran")
	}
	f.Digest = krm.Digest{}
	refused(t, x.Prepare(t.Context(), f), executors.Denied, "has no digest")
	f.Unverified = true
	if got := version(f); got != "2" {
		t.Errorf("the tag is version %s", got)
	}
}

func TestLocalImages(t *testing.T) {
	l := newLab(t)
	x := l.executor(t)
	f := l.function("cat")
	f.Image = "localhost/fn:v1"
	ref, err := parseReference("x@" + l.imageID(t, f.Image))
	if err != nil {
		t.Fatal(err)
	}
	f.Digest = ref.digest // the id of the image, not of a manifest
	if out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte("list")}); err != nil || out.List.String() != "list" {
		t.Errorf("%q, %v", out.List, err)
	}
	f.Image = "localhost/fn:v2"
	f.Digest[0] ^= 1
	refused(t, x.Prepare(t.Context(), f), executors.Verification, "want "+f.Digest.String(), "got  sha256:")
	f.Image = "localhost/nothing:v2"
	refused(t, x.Prepare(t.Context(), f), executors.Retrieval, "localhost/nothing:v2", "there is no such image on this machine")
}

// What the store knows is every digest that an image can be verified by; a digest in the name decides before the tag.
func TestDigests(t *testing.T) {
	l := newLab(t)
	tag := l.registry + "/fn:tag" // at version 2
	id := func(name string) krm.Digest {
		d, err := krm.ParseDigest(strings.TrimPrefix(l.imageID(t, name), "sha256:"))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for name, want := range map[string][]krm.Digest{
		tag:                         {l.v2, id(tag)},
		tag + "@" + l.v1.String():   {l.v1, id("localhost/fn:v1")},
		tag + "@sha256:" + zeros:    {l.v2, id(tag)},
		"localhost/fn:v1":           {l.v1, id("localhost/fn:v1")},
		"localhost/nothing:v1":      nil,
		l.registry + "/nothing:tag": nil,
	} {
		got, err := l.engine.Digests(t.Context(), name)
		if err != nil || len(want) == 0 && got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		for _, d := range want {
			if !slices.Contains(got, d) {
				t.Errorf("%s: %v has no %s", name, got, d)
			}
		}
		if want != nil && got[0] != want[0] {
			t.Errorf("%s: %s comes first, want that of the registry, %s", name, got[0], want[0])
		}
	}
	if _, err := l.engine.Digests(t.Context(), "--privileged"); err == nil {
		t.Error("an option is taken for an image")
	}
}

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

func TestDigestCommand(t *testing.T) {
	podman, docker := Engine{Name: "podman"}, Engine{Name: "docker"}
	for _, tt := range []struct {
		engine     Engine
		name, want string
	}{
		{podman, "fn", "podman pull docker.io/library/fn:latest && podman image inspect --format '{{.Digest}}' docker.io/library/fn:latest"},
		{docker, "e.co/fn:v1", "docker pull e.co/fn:v1 && docker image inspect --format '{{index .RepoDigests 0}}' e.co/fn:v1"},
		{podman, "localhost/fn:v1", ""}, // nothing has it but this machine
		{podman, "--privileged", ""},
	} {
		if got := tt.engine.DigestCommand(tt.name); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

func TestRegistry(t *testing.T) {
	l := newLab(t)
	name := l.registry + "/fn"
	l.must(t, "rmi", "-f", l.imageID(t, "localhost/fn:v1"))
	f := l.function("cat")
	if out, err := l.executor(t).Execute(t.Context(), f, yaml.Chunks{[]byte("list")}); err != nil || out.List.String() != "list" {
		t.Fatalf("after a pull: %q, %v", out.List, err)
	}
	l.stop()
	defer func() {
		if err := l.serve(); err != nil {
			t.Fatal(err)
		}
		l.must(t, "pull", "-q", name+"@"+l.v1.String())
		l.must(t, "tag", name+"@"+l.v1.String(), "localhost/fn:v1")
	}()
	if _, err := l.executor(t).Execute(t.Context(), f, nil); err != nil {
		t.Errorf("without the registry: %v", err)
	}
	l.must(t, "rmi", "-f", l.imageID(t, name+"@"+l.v1.String()))
	l.must(t, "untag", name+":tag")
	defer l.run("tag", "localhost/fn:v2", name+":tag")
	start := time.Now()
	refused(t, l.executor(t).Prepare(t.Context(), f), executors.Retrieval, "example.com/v1 Fn/fn", name+":tag", l.engine.Name)
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
}
