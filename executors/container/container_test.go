package container

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

func TestDetectPrefersPodman(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := Detect(""); err != ErrNoEngine {
		t.Errorf("an empty PATH: %v", err)
	}
	add := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	docker := add("docker")
	if e, err := Detect(""); err != nil || e != (Engine{"docker", docker}) {
		t.Errorf("%v, %v", e, err)
	}
	podman := add("podman")
	for override, want := range map[string]Engine{"": {"podman", podman}, "docker": {"docker", docker}, docker: {"docker", docker},
		"podman": {"podman", podman}} {
		if e, err := Detect(override); err != nil || e != want {
			t.Errorf("%q: %v, %v", override, e, err)
		}
	}
	add("nerdctl")
	for override, want := range map[string]string{"nerdctl": "is not a container runtime", "/nowhere/podman": "is not on PATH",
		"--help": "is not a container runtime"} {
		if _, err := Detect(override); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", override, err)
		}
	}
}

func TestEnvironmentDropsSecrets(t *testing.T) {
	got := Environment([]string{"PATH=/bin", "AWS_SECRET_ACCESS_KEY=x", "DOCKER_HOST=unix:///x", "GITHUB_TOKEN=x", "CONTAINERS_CONF=/c", "https_proxy=p", "KUBECONFIG=k"})
	if want := []string{"PATH=/bin", "DOCKER_HOST=unix:///x", "CONTAINERS_CONF=/c", "https_proxy=p"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestParseReference(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for s, pull := range map[string]string{
		"fn":                           "docker.io/library/fn",
		"fn:v1":                        "docker.io/library/fn",
		"docker.io/fn":                 "docker.io/library/fn",
		"me/fn:V1.2_x-y":               "docker.io/me/fn",
		"gcr.io/a/b-c/d__e/f.g:1":      "gcr.io/a/b-c/d__e/f.g",
		"localhost/fn":                 "localhost/fn",
		"localhost:5000/fn:tag":        "localhost:5000/fn",
		"127.0.0.1:5000/a/b@" + digest: "127.0.0.1:5000/a/b",
		"Registry.Example.com/a:t":     "Registry.Example.com/a",
	} {
		r, err := parseReference(s)
		if err != nil || r.pullName() != pull {
			t.Errorf("%s: %q, %v", s, r.pullName(), err)
			continue
		}
		if want, _, _ := strings.Cut(s, "@"); r.String() != want || (r.digest != krm.Digest{}) != strings.Contains(s, "@") {
			t.Errorf("%s is read as %+v", s, r)
		}
	}
	for _, s := range []string{
		"", "-v", "--privileged", "-fn:v1", "a b", "fn:v1 --privileged", "Fn", "a/Fn", "a//b", "a/../b", "../a", "/a", "a/", ":v1", "fn:",
		"fn:.x", "fn:-x", "fn:a/b:c", "fn:v:1", "a_-b", "a___b", "a..b", "a.-b", "docker://a", "oci:/tmp/x", "dir:/tmp", "docker-archive:/x.tar",
		"fn@", "fn@sha256:", "fn@sha256:" + strings.Repeat("0", 63), "fn@sha256:" + strings.Repeat("A", 64),
		"fn@md5:" + strings.Repeat("0", 32),
		"fn@" + digest + "@" + digest, "a\nb", "a\x00b", "ä", "host:port/a", "host:/a", "-h.io/a", "h-.io/a", "a:123456/b",
		strings.Repeat("a", 600),
		"fn:" + strings.Repeat("a", 129), "https://gcr.io/a",
	} {
		if r, err := parseReference(s); err == nil {
			t.Errorf("%q is accepted as %+v", s, r)
		}
	}
}

// Requests that exceed the grants of a function are refused before any engine starts.
func TestRequestsBeyondGrantsAreRefused(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	os.Mkdir(filepath.Join(dir, "data"), 0o755)
	os.Symlink("/etc", filepath.Join(dir, "link"))
	home, _ := os.UserHomeDir()
	other := krm.DigestOf([]byte("other"))
	ok := func() function.Function {
		return function.Function{Name: "fn", Image: "fn:v1", Digest: krm.DigestOf(nil), Root: dir}
	}
	bind := func(source, dest string) func(*function.Function) {
		return func(f *function.Function) { f.Mounts = []function.Mount{{Type: "bind", Source: source, Dest: dest}} }
	}
	data := filepath.Join(dir, "data")
	for name, tt := range map[string]struct {
		edit func(*function.Function)
		code executors.Code
		want string // "" if allowed
	}{
		"nothing special": {func(*function.Function) {}, 0, ""},
		"option as image": {func(f *function.Function) { f.Image = "--privileged" }, executors.Invalid, "in its name is not valid"},
		"two digests":     {func(f *function.Function) { f.Image += "@" + other.String() }, executors.Verification, other.String()},
		"no digest":       {func(f *function.Function) { f.Digest = krm.Digest{} }, executors.Denied, "has no digest"},
		"a network":       {func(f *function.Function) { f.Network = "my-net_1.2" }, 0, ""},
		"host network":    {func(f *function.Function) { f.Network = "host" }, executors.Denied, "network of the host"},
		"another's network": {func(f *function.Function) { f.Network = "container:db" }, executors.Denied,
			"is not the name of a network"},
		"namespace": {func(f *function.Function) { f.Network = "ns:/proc/1/ns/net" }, executors.Denied,
			"is not the name of a network"},
		"option as network": {func(f *function.Function) { f.Network = "--privileged" }, executors.Denied,
			"is not the name of a network"},
		"variable":            {func(f *function.Function) { f.Env = []string{"A_1=x=y #z"} }, 0, ""},
		"variable of host":    {func(f *function.Function) { f.Env = []string{"AWS_SECRET_ACCESS_KEY"} }, executors.Invalid, "NAME=value"},
		"variables of host":   {func(f *function.Function) { f.Env = []string{"AWS_*"} }, executors.Invalid, "NAME=value"},
		"two variables":       {func(f *function.Function) { f.Env = []string{"A=x\nB=y"} }, executors.Invalid, "line break"},
		"comment as variable": {func(f *function.Function) { f.Env = []string{"#A=x"} }, executors.Invalid, "NAME=value"},
		"directory":           {bind(data, "/data"), 0, ""},
		"whole root":          {bind(dir, "/data"), 0, ""},
		"outside":             {bind("/etc", "/data"), executors.Denied, "is outside of"},
		"neighbour":           {bind(dir+"x", "/data"), executors.Denied, ""},
		"parent":              {bind(dir+"/../x", "/data"), executors.Denied, "without . and .."},
		"relative":            {bind("data", "/data"), executors.Denied, "must be an absolute path"},
		"symbolic link":       {bind(filepath.Join(dir, "link"), "/data"), executors.Denied, "symbolic link to /etc"},
		"below a link":        {bind(filepath.Join(dir, "link", "passwd"), "/data"), executors.Denied, "symbolic link to /etc/passwd"},
		"missing":             {bind(filepath.Join(dir, "none"), "/data"), executors.Denied, "no such file"},
		"more options":        {bind(data+",rw", "/data"), executors.Denied, "commas"},
		"options in dest":     {bind(data, "/data,rw"), executors.Denied, "commas"},
		"over the config":     {bind(data, "/local"), executors.Denied, "it would hide /local"},
		"in the config":       {bind(data, "/local/x"), executors.Denied, "it would hide /local"},
		"over proc":           {bind(data, "/proc/self"), executors.Denied, "it would hide /proc"},
		"over all":            {bind(data, "/"), executors.Denied, "it would hide everything"},
		"relative dest":       {bind(data, "data"), executors.Denied, "must be an absolute path"},
		"dots in dest":        {bind(data, "/data/../local"), executors.Denied, "must be an absolute path"},
		"the machine":         {func(f *function.Function) { bind("/", "/data")(f); f.Root = "" }, executors.Denied, "is too broad"},
		"home":                {func(f *function.Function) { bind(home, "/data")(f); f.Root = "" }, executors.Denied, "is too broad"},
		"device": {func(f *function.Function) { bind("/dev/null", "/data")(f); f.Root = "" }, executors.Denied,
			"neither a directory nor a regular file"},
		"volume": {func(f *function.Function) { f.Mounts = []function.Mount{{Type: "volume", Source: "cache", Dest: "/c"}} },
			0, ""},
		"path as volume": {func(f *function.Function) { f.Mounts = []function.Mount{{Type: "volume", Source: "/etc", Dest: "/c"}} },
			executors.Denied, "is not the name of a volume"},
		"tmpfs": {func(f *function.Function) { f.Mounts = []function.Mount{{Type: "tmpfs", Dest: "/c"}} }, 0, ""},
		"unknown mount": {func(f *function.Function) { f.Mounts = []function.Mount{{Type: "devpts", Dest: "/c"}} }, executors.Denied,
			"is not a type of mount"},
	} {
		f := ok()
		tt.edit(&f)
		_, err := checked(f)
		if tt.want == "" && tt.code == 0 {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		e, _ := err.(*executors.Error)
		if e == nil || e.Code != tt.code || !strings.Contains(e.Error(), tt.want) || !strings.HasPrefix(e.Error(), "fn: ") {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func TestArgumentsIsolateContainer(t *testing.T) {
	f := function.Function{Image: "fn", Env: []string{"TOKEN=hush"}, Network: "net", Config: []byte("hush"),
		Limits: executors.Bounded(function.Limits{}), Mounts: []function.Mount{
			{Type: "bind", Source: "/a", Dest: "/b"}, {Type: "bind", Source: "/c", Dest: "/d", Writable: true}, {Type: "tmpfs", Dest: "/e"},
		}}
	for _, engine := range []string{"podman", "docker"} {
		c := &call{engine: Engine{engine, "/bin/" + engine}, function: f, image: "sha256:0", name: "krmflow-0", dir: "/run/x"}
		args := strings.Join(c.args(), " ")
		if strings.Contains(args, "hush") {
			t.Error(args)
		}
		for _, want := range []string{
			"--pull never", "--network net", "--user 65534:65534", "--cap-drop all", "--security-opt no-new-privileges", "--read-only",
			"--name krmflow-0",
			"--pids-limit 256", "--memory 2147483648", "--volume /run/x/local:/local:ro,Z",
			"--mount type=bind,source=/a,target=/b,readonly ",
			"--mount type=bind,source=/c,target=/d ", "--mount type=tmpfs,target=/e ", " -- sha256:0",
		} {
			if !strings.Contains(args+" ", want) {
				t.Errorf("%s: %q is not in %s", engine, want, args)
			}
		}
		if strings.Contains(args, "--http-proxy=false") != (engine == "podman") {
			t.Errorf("%s: %s", engine, args)
		}
	}
}

func TestUserIsNobodyByDefault(t *testing.T) {
	for _, tt := range []struct {
		engine string
		asked  bool
		uid    int
		want   string
	}{
		{"podman", false, 1000, "--user 65534:65534"},
		{"podman", true, 1000, "--user 1000:100 --userns keep-id"},
		{"podman", true, 0, "--user 0:100"},
		{"podman", true, -1, "--user 65534:65534"},
		{"docker", false, 1000, "--user 65534:65534"},
		{"docker", true, 1000, "--user 1000:100"},
	} {
		c := &call{engine: Engine{Name: tt.engine}, function: function.Function{AsCurrentUser: tt.asked}}
		if got := strings.Join(c.user(tt.uid, 100), " "); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

func TestGoneRecognisesDeadOwners(t *testing.T) {
	if owner() == "" || gone(owner()) {
		t.Errorf("%q counts as gone", owner())
	}
	if !gone(machineName() + "_4194305_0_0") {
		t.Error("a number that no process has counts as running")
	}
	if gone("other_4194305_0_0") || gone("") || gone("x") {
		t.Error("containers of other machines would be removed")
	}
}
