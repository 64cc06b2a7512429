package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/internal/dev/longtest"
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
		if !strings.Contains(e.Error(), p) {
			t.Errorf("%q is not in %q", p, e.Error())
		}
	}
}

// The image with the digest runs, even if its tag has moved.
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
	if got := version(f); got != "1" { // the tag is at version 2
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
	refused(t, x.Prepare(t.Context(), f), executors.Verification, "is not the image that was allowed", "want "+wrong.String(),
		"got  "+l.v2.String())
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
	refused(t, x.Prepare(t.Context(), f), executors.Retrieval, "localhost/nothing:v2", "no such image on this machine")
}

// Without podman, the files of the store give the digests of an image, and nothing is written. The
// first digest is the one that a registry knows, which may differ from the one that podman prints.
func TestStoreReadsDigestsFromFiles(t *testing.T) {
	longtest.Only(t)
	l := newLab(t)
	pushed, multi := l.registry+"/pushed:v1", l.registry+"/multi:v1"
	defer l.run("rmi", "-f", pushed, multi)
	l.label(t, pushed)
	built := func() bool {
		t.Helper()
		s, err := l.engine.Store(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, built, err := s.Digests(pushed)
		if err != nil {
			t.Fatal(err)
		}
		return built
	}
	if !built() {
		t.Error("an image that was built here has the digest of a registry")
	}
	l.must(t, "push", "-q", pushed)
	if !built() {
		t.Error("an image that was pushed and not pulled has the digest of the registry")
	}
	l.must(t, "pull", "-q", pushed) // it also has the manifest made here
	known, err := l.head("pushed", "v1")
	if err != nil {
		t.Fatal(err)
	}
	index := l.pullIndex(t, multi)
	s, err := l.engine.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed, err := l.engine.listPodman(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]krm.Digest{
		multi:                       index,
		pushed:                      known,
		"localhost/nothing:v1":      {},
		l.registry + "/nothing:tag": {},
	} {
		got, built, err := s.Digests(name)
		if built || err != nil || want.IsZero() != (got == nil) {
			t.Errorf("%s: %v, %t, %v", name, got, built, err)
		}
		if !want.IsZero() && got[0] != want {
			t.Errorf("%s: %v, want %s first", name, got, want)
		}
		other, _, err := listed.Digests(name)
		for _, d := range other {
			if !slices.Contains(got, d) {
				t.Errorf("%s: podman also has %s, %v", name, d, err)
			}
		}
	}
	if _, _, err := s.Digests("--privileged"); err == nil {
		t.Error("an option is taken for an image")
	}
}

// label makes an image that contains only its name as a label.
func (l *lab) label(t *testing.T, name string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Containerfile"), []byte("FROM scratch\nLABEL name="+name+"\nCOPY Containerfile /\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	l.must(t, "build", "-q", "-t", name, dir)
}

// pullIndex makes an image for two platforms in the registry alone. One of them is the platform of
// this machine. It pulls the image and returns its digest in the registry.
func (l *lab) pullIndex(t *testing.T, name string) krm.Digest {
	t.Helper()
	l.must(t, "manifest", "create", name)
	for _, arch := range []string{runtime.GOARCH, "s390x"} {
		one := "localhost/multi:" + arch
		l.label(t, one)
		l.must(t, "manifest", "add", "--os", "linux", "--arch", arch, name, "containers-storage:"+one)
		defer l.run("rmi", "-f", one)
	}
	file := filepath.Join(t.TempDir(), "digest")
	l.must(t, "manifest", "push", "-q", "--all", "--digestfile", file, name, "docker://"+name)
	l.must(t, "manifest", "rm", name)
	l.must(t, "pull", "-q", name)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := krm.ParseDigest(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A store that does not exist yet has no images and is not created.
func TestStoreStartsNothing(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "storage.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "[storage]\ndriver = \"vfs\"\ngraphroot = %q # here\n", dir+"/graph"),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONTAINERS_STORAGE_CONF", conf)
	s, err := Engine{"podman", "/nothing/podman"}.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.Digests("e.co/fn:v1"); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) != 1 {
		t.Errorf("made %v", left)
	}
}

func TestStorageConf(t *testing.T) {
	text := "# a comment\n[storage]\ndriver = \"overlay\"\ngraphroot = '/a b' # c\nrootless_storage_path = \"$HOME/x\"\n" +
		"[storage.options]\nsize = \"\"\nadditionalimagestores = [\n  \"/one\", # first\n  '/two',\n]\n[storage.options.overlay]\nmountopt = \"nodev\"\n"
	c, err := parseStorageConf(text)
	if err != nil || c.graph != "/a b" || c.rootless != "$HOME/x" || !slices.Equal(c.more, []string{"/one", "/two"}) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{"[storage]\ngraphroot = 3", "[storage]\ngraphroot = \"\"\"/x\"\"\"", "[storage]\nx",
		"[storage.options]\nadditionalimagestores = ["} {
		if c, err := parseStorageConf(text); err == nil {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

func TestPullCommand(t *testing.T) {
	podman, docker := Engine{Name: "podman"}, Engine{Name: "docker"}
	for _, tt := range []struct {
		engine     Engine
		name, want string
	}{
		{podman, "fn", "podman pull docker.io/library/fn:latest"},
		{docker, "e.co/fn:v1", "docker pull e.co/fn:v1"},
		{podman, "localhost/fn:v1", ""}, // only on this machine
		{podman, "--privileged", ""},
	} {
		if got := tt.engine.PullCommand(tt.name); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

func TestMissingImagesArePulled(t *testing.T) {
	longtest.Only(t)
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
