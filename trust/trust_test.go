package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

const hexA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
const hexB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

func digest(hex string) krm.Digest {
	d, err := krm.ParseDigest(hex)
	if err != nil {
		panic(err)
	}
	return d
}

var fnGVK = krm.GVK{Group: "example.com", Version: "v1", Kind: "Fn"}

// trusted returns a catalog at path whose only function has this runtime.
func trusted(t *testing.T, path, runtime string) Trusted {
	t.Helper()
	return trustedText(t, path, "{name: v1, runtime: "+runtime+"}", "")
}

func trustedText(t *testing.T, path, version, more string) Trusted {
	t.Helper()
	ref, err := catalog.ParseRef(path)
	if err != nil {
		t.Fatal(err)
	}
	text := "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec:\n  krmFunctions:\n  - {group: example.com, names: {kind: Fn}, versions: [" + version + "]" + more + "}\n"
	c, err := catalog.Parse(&yaml.Source{File: path, Data: []byte(text)}, ref)
	if err != nil {
		t.Fatal(err)
	}
	return Trusted{Ref: ref, Catalog: c, By: "flag"}
}

// request returns the request of a valid tree in /w.
func request(t *testing.T, inline string, catalogs ...Trusted) Request {
	t.Helper()
	r := Request{
		ID: krm.ID{GVK: fnGVK, Name: "x"}, Pos: diag.Pos{File: "fn.yaml", Line: 3}, Node: "k#transformers[0]", Dir: "/w",
		Catalogs: catalogs, OS: "linux", Arch: "amd64",
		Facts: Facts{
			Programs: map[string]Program{
				"/w/fn.sh":   {Real: "/w/fn.sh", Digest: digest(hexA)},
				"/w/ln.sh":   {Real: "/w/fn.sh", Digest: digest(hexA)},
				"/w/out.sh":  {Real: "/bin/sh", Digest: digest(hexA)},
				"/w/gone.sh": {Err: errors.New("no such file")},
				"/w/raw.sh":  {Real: "/w/raw.sh"},
				"/w/ksops":   {Err: fmt.Errorf("gone: %w", fs.ErrNotExist)},
				"/w/pipe":    {Err: errors.New("not a regular file")},
			},
			Images: map[string]Image{"e/f:v1": {Digests: []krm.Digest{digest(hexA)}}, "e/f:v2": {Digests: []krm.Digest{digest(hexB)}},
				"e/g:v1": {Err: errors.New("the store has none")}},
			Mounts:    map[string]Mount{"/w/data": {Real: "/w/data"}, "/w/esc": {Real: "/etc"}, "/w/d.sock": {Real: "/w/d.sock"}},
			Isolation: "landlock7+userns+netns",
		},
	}
	if inline != "" {
		doc, err := (&yaml.Source{File: "fn.yaml", Data: []byte("runtime: " + inline)}).Strict()
		if err != nil {
			t.Fatal(err)
		}
		if r.Inline, err = function.ReadInline(doc.Value, nil); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func allText(d Decision) string {
	var b strings.Builder
	for _, x := range d.Denials {
		fmt.Fprintf(&b, "%d %v\n", x.Reason, x.Err)
	}
	for _, w := range d.Warnings {
		fmt.Fprintf(&b, "warning %v\n", w)
	}
	fmt.Fprintf(&b, "allow %s\n%s\n%s", strings.Join(d.Allow(), " "), d.Line(), strings.Join(d.Notes(), "\n"))
	return b.String()
}

const execA = "{exec: {path: fn.sh, sha256: " + hexA + "}}"
const imageA = "{container: {image: 'e/f:v1', sha256: " + hexA + "}}"

func TestDecideFollowsPolicy(t *testing.T) {
	alpha := Policy{AllowUncatalogued: true}
	alphaExec := Policy{AllowUncatalogued: true, AllowExec: true}
	tests := []struct {
		row      string
		policy   Policy
		inline   string
		runtimes []string // of the trusted catalogs /w/c0.yaml, /w/c1.yaml ...
		exit     int
		want     []string
	}{
		// Known and trusted functions.
		{"with a trusted catalog no other flag is needed: exec", Policy{}, "", []string{execA}, 0,
			[]string{"exec fn.sh  sha256:" + hexA +
				"  verified  catalog /w/c0.yaml, entry 1 (flag)  caps none  isolation landlock7+userns+netns  cache no (not declared idempotent)"}},
		{"with a trusted catalog no other flag is needed: container", Policy{}, "", []string{imageA},
			0, []string{"container e/f:v1  sha256:" + hexA + "  pinned"}},
		{"function present, no trusted catalog given", Policy{}, "", nil, 3,
			[]string{"fn.yaml:3: example.com/v1 Fn/x: the function is not known", "add --trusted-plugin-catalog=CATALOG"}},
		{"the first definition wins and what is shadowed is shown", Policy{}, "", []string{execA, imageA}, 0,
			[]string{"exec fn.sh", "warning", "catalog /w/c1.yaml, entry 1 defines it differently and is shadowed",
				"shadows catalog /w/c1.yaml, entry 1"}},
		{"--strict makes shadowing an error", Policy{Strict: true}, "", []string{execA, imageA}, 3, []string{"is shadowed"}},
		{"container preferred, printed with the reason", Policy{},
			"", []string{"{container: {image: 'e/f:v1', sha256: " + hexA + "}, exec: {path: fn.sh, sha256: " + hexA + "}}"}, 0,
			[]string{"container e/f:v1", "a container is preferred to exec"}},
		{"exec by flag", Policy{Prefer: function.RuntimeExec},
			"", []string{"{container: {image: 'e/f:v1', sha256: " + hexA + "}, exec: {path: fn.sh, sha256: " + hexA + "}}"},
			0, []string{"exec fn.sh"}},
		{"no platform entry for this os/arch", Policy{}, "",
			[]string{"{exec: [{os: darwin, arch: amd64, path: fn.sh, sha256: " + hexA + "}]}"}, 3,
			[]string{"no linux/amd64 build of example.com/v1 Fn in catalog /w/c0.yaml"}},
		{"at least one of container and exec must be set", Policy{}, "", []string{"{}"},
			1, []string{"at least one of container and exec must be set"}},
		{"a starlark runtime of a catalog names the way out", Policy{}, "", []string{"{starlark: s}"},
			1, []string{"starlark", "container"}},
		{"an inline starlark runtime, too", alphaExec, "{starlark: s}", nil, 1, []string{"starlark", "container"}},

		// Digests.
		{"digest differs", Policy{}, "", []string{"{exec: {path: fn.sh, sha256: " + hexB + "}}"}, 4,
			[]string{"SECURITY ERROR: fn.sh does NOT match the trusted catalog (catalog /w/c0.yaml, entry 1)", "want sha256:" + hexB,
				"got  sha256:" + hexA, "nothing was executed"}},
		{"absent digest", Policy{}, "", []string{"{exec: {path: fn.sh}}"},
			3, []string{"has no digest", "sha256: " + hexA, "--allow-unverified"}},
		{"absent digest, allowed", Policy{AllowUnverified: true}, "", []string{"{exec: {path: fn.sh}}"},
			0, []string{"warning", "UNVERIFIED", "UNVERIFIED  catalog"}},
		{"short digest", Policy{}, "", []string{"{exec: {path: fn.sh, sha256: " + hexA[1:] + "}}"}, 4, []string{"has 63 characters"}},
		{"md5 digest", Policy{}, "", []string{"{exec: {path: fn.sh, sha256: 'md5:0123'}}"}, 4, []string{"is not a sha256"}},
		{"empty digest", Policy{}, "", []string{"{exec: {path: fn.sh, sha256: ''}}"}, 4, []string{"the digest is empty"}},
		{"a malformed digest cannot be waved through", Policy{AllowUnverified: true}, "", []string{"{exec: {path: fn.sh, sha256: ''}}"},
			4, []string{"the digest is empty"}},
		{"upper case is the same digest", Policy{}, "", []string{"{exec: {path: fn.sh, sha256: " + strings.ToUpper(hexA) + "}}"}, 0, nil},
		{"container entry with tag and no digest", Policy{}, "", []string{"{container: {image: 'e/f:v1'}}"},
			3, []string{"has no digest", "sha256: " + hexA}},
		{"the same, the image is not here", Policy{}, "", []string{"{container: {image: 'e/g:v1'}}"},
			3, []string{"has no digest", "the store has none"}},
		{"image by digest needs no sha256", Policy{}, "", []string{"{container: {image: 'e/f@sha256:" + hexA + "'}}"}, 0,
			[]string{"sha256:" + hexA}},
		{"image and sha256 disagree", Policy{}, "", []string{"{container: {image: 'e/f@sha256:" + hexA + "', sha256: " + hexB + "}}"},
			4, []string{hexA, hexB}},
		{"what the tag means here does not matter beside a digest", Policy{},
			"", []string{"{container: {image: 'e/f:v2', sha256: " + hexA + "}}"}, 0, []string{hexA + "  pinned"}},
		{"a pinned image that is not here yet", Policy{}, "", []string{"{container: {image: 'e/g:v1', sha256: " + hexA + "}}"}, 0, nil},

		// Allowed locations of programs.
		{"a path that escapes the root", Policy{}, "", []string{"{exec: {path: ../fn.sh, sha256: " + hexA + "}}"},
			3, []string{"../fn.sh is outside /w"}},
		{"an absolute path", Policy{}, "", []string{"{exec: {path: /usr/bin/true, sha256: " + hexA + "}}"}, 3, []string{"absolute path"}},
		{"a symbolic link out of the root", Policy{}, "", []string{"{exec: {path: out.sh, sha256: " + hexA + "}}"},
			3, []string{"leads to /bin/sh, which is outside /w"}},
		{"a program that was not examined never runs", Policy{}, "", []string{"{exec: {path: other.sh, sha256: " + hexA + "}}"},
			4, []string{"was not examined"}},
		{"a program that was not hashed never runs", Policy{AllowUnverified: true}, "", []string{"{exec: {path: raw.sh}}"},
			4, []string{"was not hashed"}},
		{"a missing program", Policy{}, "", []string{"{exec: {path: gone.sh, sha256: " + hexA + "}}"},
			1, []string{"gone.sh cannot be used: no such file"}},
		{"a program that is there and none is not looked for", alphaExec, "{exec: {path: pipe}}",
			nil, 1, []string{"not a regular file\nallow"}},
		{"inline absolute", alphaExec, "{exec: {path: /w/fn.sh}}", nil, 3, []string{"absolute path"}},
		{"inline escaping", alphaExec, "{exec: {path: ../x}}", nil, 3, []string{"outside /w", "no --load-restrictor"}},
		{"inline, a link out", alphaExec, "{exec: {path: out.sh}}", nil, 3, []string{"leads to /bin/sh"}},
		{"PATH is not searched", alphaExec, "{exec: {path: ksops}}", nil, 1, []string{"PATH is not searched"}},
		{"Go plugins are refused", alphaExec, "{exec: {path: a.so}}", nil, 1, []string{"Go plugin"}},
		{"a remote program", Policy{}, "", []string{"{exec: {path: 'https://e.co/fn', sha256: " + hexA + "}}"}, 0, []string{"exec https://e.co/fn  sha256:" + hexA + "  pinned"}},
		{"an artifact by digest needs no sha256", Policy{}, "", []string{"{exec: {path: 'oci://e.co/fn@sha256:" + hexA + "'}}"}, 0, []string{"sha256:" + hexA + "  pinned"}},
		{"a remote program without a digest", Policy{}, "", []string{"{exec: {path: 'https://e.co/fn'}}"}, 3, []string{"has no digest"}},
		{"a commit is no digest", Policy{}, "", []string{"{exec: {path: 'git::https://e.co/r.git//fn?ref=" + hexA + "'}}"}, 3, []string{"has no digest"}},
		{"a remote program that was not examined never runs", Policy{AllowUnverified: true}, "", []string{"{exec: {path: 'https://e.co/fn'}}"}, 4, []string{"was not examined"}},
		{"a remote program with two digests", Policy{}, "", []string{"{exec: {path: 'https://e.co/fn#sha256=" + hexB + "', sha256: " + hexA + "}}"}, 4, []string{hexA, hexB}},
		{"a remote archive without bin", Policy{}, "", []string{"{exec: {path: 'https://e.co/fn.tgz', sha256: " + hexA + "}}"}, 1, []string{"bin does not name its file"}},
		{"a scheme that nobody knows", Policy{}, "", []string{"{exec: {path: 's3://e.co/fn', sha256: " + hexA + "}}"}, 1, []string{"s3 is not supported"}},
		{"an archive without bin", Policy{}, "", []string{"{exec: {path: fn.tar.gz, sha256: " + hexA + "}}"},
			1, []string{"bin does not name its file"}},
		{"a path out of an archive", Policy{}, "", []string{"{exec: {path: fn.tar.gz, bin: ../sh, sha256: " + hexA + "}}"},
			1, []string{"not a path in an archive"}},

		// The grid of the flags for uncatalogued functions.
		{"inline exec, no flags", Policy{}, "{exec: {path: fn.sh}}", nil,
			3, []string{"exec fn.sh is not in a trusted catalog", "allow --enable-alpha-plugins --enable-exec"}},
		{"inline exec with --enable-alpha-plugins only is no silent skip", alpha, "{exec: {path: fn.sh}}", nil,
			3, []string{"allow --enable-exec\n"}},
		{"inline exec with --enable-exec only", Policy{AllowExec: true}, "{exec: {path: fn.sh}}",
			nil, 3, []string{"allow --enable-alpha-plugins\n"}},
		{"inline exec with both flags", alphaExec, "{exec: {path: fn.sh, args: [a, b c]}}", nil,
			0, []string{"warning", "uncatalogued", `arguments: ["a" "b c"]`, "sha256:" + hexA}},
		{"inline container, no flags", Policy{}, "{container: {image: 'e/f:v1'}}", nil, 3, []string{"allow --enable-alpha-plugins\n"}},
		{"inline container with --enable-alpha-plugins", alpha, "{container: {image: 'e/f:v1'}}",
			nil, 0, []string{"warning", "sha256:" + hexA, "caps none"}},
		{"nobody asks for the digest of what is denied", Policy{}, "{container: {image: 'e/g:v1'}}", nil, 3,
			[]string{"--enable-alpha-plugins", "name the image with its digest: e/g:v1@sha256:..."}},
		{"inline container with unknown digest", alpha, "{container: {image: 'e/g:v1'}}", nil, 3,
			[]string{"digest of image e/g:v1 is not known", "the store has none", "--allow-unverified"}},
		{"inline container by digest: a tag beside it is decoration", alpha, "{container: {image: 'e/f:v1@sha256:" + hexB + "'}}", nil,
			0, []string{"sha256:" + hexB}},

		// An inline function and a trusted entry.
		{"inline equal to the entry runs with the trust flag alone: exec", Policy{}, "{exec: {path: ./fn.sh}}", []string{execA},
			0, []string{"verified"}},
		{"through a link to the same file", Policy{}, "{exec: {path: ln.sh}}", []string{execA}, 0, []string{"verified"}},
		{"the same image by tag runs by the entry's digest", Policy{}, "{container: {image: 'docker.io/e/f:v1'}}", []string{imageA},
			0, []string{"pinned", hexA}},
		{"the same image by digest", Policy{}, "{container: {image: 'e/f@sha256:" + hexA + "'}}", []string{imageA}, 0, []string{"pinned"}},
		{"another digest", Policy{}, "{container: {image: 'e/f:v1@sha256:" + hexB + "'}}", []string{imageA},
			3, []string{"differs from what the trusted catalog allows"}},
		{"another registry", Policy{}, "{container: {image: 'r.io/e/f:v1'}}", []string{imageA}, 3,
			[]string{"names image r.io/e/f:v1, the entry e/f:v1"}},
		{"inline v0.9.0 pins a version: an error that shows both", Policy{}, "{container: {image: 'e/f:v2'}}", []string{imageA},
			3, []string{"e/f:v2", "e/f:v1", "--enable-alpha-plugins"}},
		{"and runs uncatalogued with the flag", alpha, "{container: {image: 'e/f:v2'}}", []string{imageA}, 0,
			[]string{"uncatalogued", hexB, "differs from the trusted catalog"}},
		{"another path", Policy{}, "{exec: {path: gone.sh}}", []string{execA}, 3, []string{"names program gone.sh, the entry fn.sh"}},
		{"exec inline, container in the catalog", Policy{}, "{exec: {path: fn.sh}}", []string{imageA},
			3, []string{"the entry has none for this platform"}},
		{"container inline, exec in the catalog", Policy{}, "{container: {image: x}}", []string{execA}, 3, []string{"the entry has none"}},
		{"an edited program that equals the entry's path", Policy{}, "{exec: {path: fn.sh}}",
			[]string{"{exec: {path: fn.sh, sha256: " + hexB + "}}"}, 4, []string{"SECURITY ERROR"}},

		// Isolation is the default.
		{"4 beats 3", Policy{}, "", []string{"{exec: {path: fn.sh, sha256: " + hexB + "}}", imageA}, 4, nil},
	}
	for _, tt := range tests {
		var list []Trusted
		for i, rt := range tt.runtimes {
			list = append(list, trusted(t, fmt.Sprintf("/w/c%d.yaml", i), rt))
		}
		r := request(t, tt.inline, list...)
		check(t, tt.row, tt.policy, r, tt.exit, tt.want)
	}
}

// reasons maps the exit codes in the rows of the requirements to reasons.
var reasons = map[int]Reason{1: Invalid, 3: Untrusted, 4: Mismatch}

func check(t *testing.T, row string, p Policy, r Request, exit int, want []string) Decision {
	t.Helper()
	d := p.Decide(r)
	text := allText(d)
	if d.Worst != reasons[exit] || d.Allowed != (exit == 0) || d.Allowed != (len(d.Denials) == 0) {
		t.Errorf("%s: %v, want %v\n%s", row, d.Worst, reasons[exit], text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: %q is not in\n%s", row, w, text)
		}
	}
	if !d.Allowed && (d.Function.Runtime != "" || d.Function.Program != "" || d.Function.URI != "" || d.Function.Image != "") {
		t.Errorf("%s: a denied decision carries the function", row)
	}
	if d.Allowed && d.Function.Runtime == function.RuntimeExec &&
		(d.Function.Digest.IsZero() || d.Function.URI == "" && (d.Function.Program == "" || d.Function.Root == "")) {
		t.Errorf("%s: incomplete %+v", row, d.Function)
	}
	return d
}

func TestCapabilitiesNeedGrants(t *testing.T) {
	entry := func(more string) string { return "{container: {image: 'e/f:v1', sha256: " + hexA + more + "}}" }
	inline := func(more string) string { return "{container: {image: 'e/f:v1'" + more + "}}" }
	bind := ", mounts: [{type: bind, src: data, dst: /data}]"
	rw := ", mounts: [{type: bind, src: data, dst: /data, rw: true}]"
	alpha := Policy{AllowUncatalogued: true}
	flagMount := Policy{AllowUncatalogued: true, Mounts: []function.Mount{{Type: "bind", Source: "/w/data", Dest: "/data"}}}
	tests := []struct {
		row           string
		policy        Policy
		inline, entry string
		exit          int
		network       string
		mounts        string
		want          []string
	}{
		{"requireNetwork grants network with no flag", Policy{}, "", entry(", requireNetwork: true"), 0, "bridge",
			"", []string{"network bridge (granted by catalog /w/c.yaml)", "cache no (network)"}},
		{"the network that the user names", Policy{NetworkName: "n1"}, "", entry(", requireNetwork: true"), 0, "n1", "", nil},
		{"the network of the machine", Policy{NetworkName: "host"}, "", entry(", requireNetwork: true"), 3, "",
			"", []string{`the network "host" cannot be granted`}},
		{"that of another container", Policy{NetworkName: "container:db"}, "", entry(", requireNetwork: true"), 3, "", "",
			[]string{`"container:db" cannot be granted`}},
		{"what could be an option", Policy{NetworkName: "--privileged"}, "", entry(", requireNetwork: true"), 3, "", "",
			[]string{"cannot be granted"}},
		{"the user's own ids are shown", Policy{AsCurrentUser: true}, "", entry(""),
			0, "", "", []string{"the user's own ids (granted by --as-current-user)"}},
		{"no network by default", Policy{Network: true}, "", entry(""), 0, "", "", nil},
		{"equality is allowed", Policy{}, inline(", network: true"), entry(", requireNetwork: true"), 0, "bridge", "", nil},
		{"inline silent: granted", Policy{}, inline(""), entry(", requireNetwork: true"), 0, "bridge", "", nil},
		{"inline explicit false: not granted", Policy{}, inline(", network: false"), entry(", requireNetwork: true"), 0, "", "", nil},
		{"inline config cannot grant what the entry does not declare", Policy{}, inline(", network: true"), entry(""), 3,
			"", "", []string{"asks for network, but the entry does not require it", "entry 1"}},
		{"not even with --network alone", Policy{Network: true}, inline(", network: true"), entry(""), 3, "", "", nil},
		{"requireStorageMount allows the mounts of the config", Policy{}, inline(bind), entry(", requireStorageMount: true"), 0, "",
			"bind /w/data at /data (ro)", []string{"granted by catalog"}},
		{"mounts without requireStorageMount", Policy{}, inline(bind), entry(""), 3, "", "", []string{"asks for mounts"}},
		{"mounts are read-only unless the trusted entry says rw", Policy{}, inline(rw), entry(", requireStorageMount: true"), 3, "",
			"", []string{"writable mount"}},
		{"the trusted entry says rw", Policy{}, inline(rw), entry(", requireStorageMount: true, requireWritableStorageMount: true"),
			0, "", "bind /w/data at /data (rw)", nil},
		{"the entry says rw, the configuration does not", Policy{}, inline(bind),
			entry(", requireStorageMount: true, requireWritableStorageMount: true"), 0, "", "bind /w/data at /data (ro)", nil},
		{"environment never for catalogued functions", Policy{}, inline(", envs: [A=b]"), entry(""), 3, "", "",
			[]string{"environment variables, which no entry can grant"}},

		{"uncatalogued network needs --network", alpha, inline(", network: true"), "", 3, "", "", []string{"allow --network\n"}},
		{"uncatalogued network with the flag", Policy{AllowUncatalogued: true, Network: true}, inline(", network: true"), "", 0, "bridge",
			"", []string{"granted by --network"}},
		{"the flag alone gives nothing", Policy{AllowUncatalogued: true, Network: true}, inline(""), "", 0, "", "", nil},
		{"uncatalogued mount with no flag", alpha, inline(bind), "", 3, "",
			"", []string{"allow --mount=type=bind,src=/w/data,dst=/data\n"}},
		{"uncatalogued mount with its flag", flagMount, inline(bind), "", 0, "", "bind /w/data at /data (ro)",
			[]string{"granted by --mount"}},
		{"a flag for a read-only mount grants no writable one", flagMount, inline(rw), "", 3, "", "", nil},
		{"uncatalogued env with a warning", alpha, inline(", envs: [A=b]"), "", 0, "",
			"", []string{"deprecated", "env A (granted by the configuration)"}},
		{"a host variable by name", alpha, inline(", envs: [AWS_SECRET_ACCESS_KEY]"), "", 3, "",
			"", []string{"allow --env=AWS_SECRET_ACCESS_KEY\n"}},
		{"a host variable that the user passes", Policy{AllowUncatalogued: true, Env: []string{"TOKEN=1"}}, inline(", envs: [TOKEN]"),
			"", 0, "", "", []string{"env TOKEN (granted by --env)"}},
	}
	for _, tt := range tests {
		var list []Trusted
		if tt.entry != "" {
			list = append(list, trusted(t, "/w/c.yaml", tt.entry))
		}
		d := check(t, tt.row, tt.policy, request(t, tt.inline, list...), tt.exit, tt.want)
		var mounts []string
		for _, m := range d.Function.Mounts {
			mounts = append(mounts, mountText(m))
		}
		if d.Function.Network != tt.network || strings.Join(mounts, ",") != tt.mounts {
			t.Errorf("%s: network %q, mounts %v", tt.row, d.Function.Network, mounts)
		}
	}
}

// Mount sources stay inside the layer's directory. Destinations hide nothing that isolates.
func TestMountsThatAreRefused(t *testing.T) {
	for _, m := range []string{
		"type: bind, src: /etc, dst: /data", "type: bind, src: .., dst: /data", "type: bind, src: a/../../b, dst: /data",
		"type: bind, src: esc, dst: /data",
		"type: bind, src: d.sock, dst: /data", "type: bind, src: 'data,readonly=false', dst: /data",
		"type: bind, src: data, dst: '/data,rw'", "type: bind, src: nowhere, dst: /data",
		"type: bind, src: data, dst: /local", "type: bind, src: data, dst: /local/x", "type: bind, src: data, dst: /proc",
		"type: bind, src: data, dst: /", "type: bind, src: data, dst: data",
		"type: bind, src: data, dst: /x/../proc", "type: bind, src: '', dst: /data", "type: volume, src: v, dst: /data",
		"type: tmpfs, src: x, dst: /data", "type: volume, src: ../v, dst: /data",
	} {
		inline := "{container: {image: 'e/f:v1', mounts: [{" + m + "}]}}"
		entry := trusted(t, "/w/c.yaml", "{container: {image: 'e/f:v1', sha256: "+hexA+", requireStorageMount: true}}")
		check(t, m, Policy{}, request(t, inline, entry), 3, nil)
	}
	ok := "{container: {image: 'e/f:v1', mounts: [{type: tmpfs, dst: /scratch}]}}"
	check(t, "tmpfs", Policy{}, request(t, ok, trusted(t, "/w/c.yaml", "{container: {image: 'e/f:v1', sha256: "+
		hexA+", requireStorageMount: true}}")), 0, []string{"tmpfs at /scratch"})
}

func TestVersionsAndHints(t *testing.T) {
	c := trusted(t, "/w/c.yaml", execA)
	r := request(t, "", c)
	r.ID.Version = "v2"
	check(t, "version differs", Policy{}, r, 3, []string{"no trusted catalog defines example.com/v2 Fn; searched: /w/c.yaml",
		"catalog /w/c.yaml offers: v1"})
	r.ID.GVK = krm.GVK{Group: "example.org", Version: "v1", Kind: "Fn"}
	check(t, "group differs", Policy{}, r, 3, []string{"did you mean example.com/v1 Fn (catalog /w/c.yaml, entry 1)?"})

	// `catalogs:` of a Kustomization is informational only.
	ref, _ := catalog.ParseRef("/w/own.yaml")
	r = request(t, "")
	r.Named = []Named{{Ref: ref, Pos: diag.Pos{File: "kustomization.yaml", Line: 2}, Flag: "w/own.yaml"}}
	check(t, "names an untrusted catalog", Policy{AllowUncatalogued: true, AllowExec: true}, r, 3,
		[]string{"kustomization.yaml:2 names catalog /w/own.yaml, which is not trusted; to trust it add --trusted-plugin-catalog=w/own.yaml", "allow --trusted-plugin-catalog=w/own.yaml\n"})
	if w := r.Named[0].Warning().Error(); !strings.Contains(w,
		"kustomization.yaml:2: catalogs: catalog /w/own.yaml is not trusted and not read") {
		t.Error(w)
	}

	// For a legacy plugin, the reason describes the migration.
	r = request(t, "")
	r.Config = yaml.MapOf(yaml.Field{Key: "argsOneLiner", Value: yaml.Str("x")})
	check(t, "legacy style is unsupported", Policy{}, r, 3, []string{"legacy exec plugins, which are not supported", "runtime: {exec:"})
}

// An unavailable catalog is never silently skipped in favour of a later one.
func TestUnavailableCatalog(t *testing.T) {
	good := trusted(t, "/w/good.yaml", execA)
	ref, _ := catalog.ParseRef("/w/dead.yaml")
	dead := Trusted{Ref: ref, Err: errors.New("no such file"), By: "flag"}
	check(t, "dead first", Policy{}, request(t, "", dead, good),
		1, []string{"cannot read catalog /w/dead.yaml, which must be searched for it: no such file"})
	check(t, "found before", Policy{}, request(t, "", good, dead), 0, nil)
	check(t, "not needed", Policy{AllowUncatalogued: true, AllowExec: true}, request(t, "{exec: {path: fn.sh}}", dead), 0, nil)
}

func TestConflictingConfigurationIsRefused(t *testing.T) {
	err := diag.Errorf(diag.Pos{File: "fn.yaml", Line: 7}, "",
		"the configuration names two functions: container a in runtime and container b in provider")
	r := request(t, "", trusted(t, "/w/c.yaml", execA))
	r.Conflict = &function.InlineConflict{Err: err}
	check(t, "two places that differ", Policy{AllowUncatalogued: true, AllowExec: true},
		r, 3, []string{"fn.yaml:7", "container a in runtime and container b in provider"})
}

func TestMissingIsolationNeedsPermission(t *testing.T) {
	r := request(t, "", trusted(t, "/w/c.yaml", execA))
	r.Facts.Isolation, r.Facts.NotIsolated = "", "a function could connect"
	check(t, "without isolation", Policy{}, r, 3,
		[]string{"this machine cannot isolate a program: a function could connect", "allow --allow-unsandboxed\n", "isolation none"})
	if d := check(t, "allowed", Policy{AllowUnsandboxed: true}, r, 0, []string{"warning", "isolation none"}); !d.Function.Unsandboxed {
		t.Error("the function does not say so")
	}
	r = request(t, "", trusted(t, "/w/c.yaml", imageA))
	r.Facts.Isolation = ""
	check(t, "a container isolates itself", Policy{}, r, 0, nil)
}

// Arguments are a capability: a configuration can pass them to a catalogued program only if the
// entry allows it.
func TestArgumentsNeedPermission(t *testing.T) {
	entry := func(more string) Trusted {
		return trustedText(t, "/w/c.yaml", "{name: v1, runtime: "+execA+"}", more)
	}
	inline, both := "{exec: {path: fn.sh, args: [-a, '']}}", Policy{AllowUncatalogued: true, AllowExec: true}
	differs := "the configuration passes arguments, but the entry does not allow them (allowArgs); catalog /w/c.yaml, entry 1"
	check(t, "the entry says nothing", Policy{}, request(t, inline, entry("")), 3,
		[]string{differs, "allow --enable-alpha-plugins --enable-exec\n"})
	check(t, "the entry refuses", Policy{}, request(t, inline, entry(", allowArgs: false")), 3, []string{differs})
	check(t, "an empty argument is one", Policy{}, request(t, "{exec: {path: fn.sh, args: ['']}}", entry("")), 3, []string{differs})
	check(t, "an empty list is none", Policy{}, request(t, "{exec: {path: fn.sh, args: []}}", entry("")), 0,
		[]string{"verified", "caps none"})
	d := check(t, "with the flags it is uncatalogued", both, request(t, inline, entry("")), 0, []string{"uncatalogued", differs})
	if d.Entry != nil || !slices.Equal(d.Function.Args, []string{"-a", ""}) {
		t.Errorf("entry %v, arguments %q", d.Entry, d.Function.Args)
	}
	d = check(t, "the entry allows them", Policy{}, request(t, inline, entry(", allowArgs: true")), 0,
		[]string{"verified", "caps arguments (granted by catalog /w/c.yaml)", `arguments: ["-a" ""]`})
	if !slices.Equal(d.Function.Args, []string{"-a", ""}) {
		t.Errorf("arguments %q", d.Function.Args)
	}
	check(t, "the entry allows them, none are given", Policy{}, request(t, "", entry(", allowArgs: true")), 0, []string{"caps none"})
	check(t, "it allows nothing else", Policy{}, request(t, "{exec: {path: gone.sh, args: [a]}}", entry(", allowArgs: true")),
		3, []string{"names program gone.sh"})
}

// A configuration from a fetched tree can neither use functions catalogued for local use nor bring
// its own program.
func TestRemoteConfiguration(t *testing.T) {
	remote := func(inline string, c ...Trusted) Request {
		r := request(t, inline, c...)
		r.Remote = true
		return r
	}
	check(t, "local program", Policy{}, remote("", trusted(t, "/w/c.yaml", execA)), 3, []string{"remote tree may not use a local program"})
	check(t, "allowRemoteConfig", Policy{},
		remote("", trustedText(t, "/w/c.yaml", "{name: v1, runtime: "+execA+"}", ", allowRemoteConfig: true")), 0, nil)
	check(t, "capabilities", Policy{}, remote("",
		trusted(t, "/w/c.yaml", "{container: {image: 'e/f:v1', sha256: "+hexA+", requireNetwork: true}}")), 3, []string{"capabilities"})
	check(t, "a plain container", Policy{}, remote("", trusted(t, "/w/c.yaml", imageA)), 0, nil)
	d := check(t, "own program", Policy{AllowUncatalogued: true, AllowExec: true, AllowUnsandboxed: true}, remote("{exec: {path: fn.sh}}"),
		3, []string{"cannot bring its own program"})
	if d.Allow() != nil {
		t.Errorf("no flag lifts this: %v", d.Allow())
	}
	// A remote catalog cannot name a path on the user's machine.
	check(t, "remote catalog", Policy{}, request(t, "", trusted(t, "https://h/c.yaml", execA)), 3, []string{"cannot name a path on this machine"})
}

// All reasons against a function are reported at once, and flags add up to a permission.
func TestAllReasonsAtOnce(t *testing.T) {
	r := request(t, "{container: {image: 'e/g@sha256:"+hexA+
		"', network: true, mounts: [{type: bind, src: data, dst: /data}], envs: [HOME]}}")
	d := check(t, "everything is missing", Policy{}, r, 3, nil)
	want := []string{"--enable-alpha-plugins", "--env=HOME", "--mount=type=bind,src=/w/data,dst=/data", "--network"}
	if !slices.Equal(d.Allow(), want) {
		t.Errorf("got %v", d.Allow())
	}
	p := Policy{AllowUncatalogued: true, Network: true, Env: []string{"HOME=/h"},
		Mounts: []function.Mount{{Type: "bind", Source: "/w/data", Dest: "/data"}}}
	check(t, "everything is given", p, r, 0, nil)
	r = request(t, "{exec: {path: fn.sh}}")
	r.Facts.Isolation = ""
	d = check(t, "exec", Policy{}, r, 3, nil)
	if got := strings.Join(d.Allow(), " "); got != "--allow-unsandboxed --enable-alpha-plugins --enable-exec" {
		t.Error(got)
	}
}

// The zero policy allows only catalogued and verified functions, whatever it finds.
func TestZeroPolicy(t *testing.T) {
	for _, inline := range []string{"{exec: {path: fn.sh}}", "{container: {image: 'e/f:v1'}}", "{container: {image: 'e/f@sha256:" + hexA +
		"'}}", "{starlark: x}", ""} {
		if d := (Policy{}).Decide(request(t, inline)); d.Allowed || d.Worst == 0 {
			t.Errorf("%s is allowed", inline)
		}
	}
	if d := (Policy{}).Decide(Request{}); d.Allowed {
		t.Error("the empty request is allowed")
	}
}

// Answers are reused only for functions that are verified, isolated, declared idempotent and
// without capabilities. For other functions, the plan states the reason.
func TestNotReused(t *testing.T) {
	network := "{container: {image: 'e/f:v1', sha256: " + hexA + ", requireNetwork: true}}"
	const declared = ", idempotent: true"
	for _, tt := range []struct {
		policy                 Policy
		runtime, version, want string
	}{
		{Policy{}, execA, declared, ""},
		{Policy{}, imageA, declared, ""},
		{Policy{AsCurrentUser: true}, imageA, declared, ""},
		{Policy{AllowUnsandboxed: true}, imageA, declared, ""},
		{Policy{}, execA, "", "not declared idempotent"},
		{Policy{}, imageA, ", idempotent: false", "not declared idempotent"},
		{Policy{}, network, declared, "network"},
		{Policy{AllowUnverified: true}, "{exec: {path: fn.sh}}", declared, "unverified"},
		{Policy{AllowUnsandboxed: true}, execA, declared, "not isolated"},
		{Policy{Executors: map[function.Runtime]Executor{function.RuntimeExec: {Name: "x"}}}, execA, declared, "executor of a third party"},
		{Policy{Executors: map[function.Runtime]Executor{function.RuntimeExec: {Name: "x", Cached: true}}}, execA, declared, ""},
		{Policy{Executors: map[function.Runtime]Executor{function.RuntimeExec: {Name: "x", Cached: true}}}, execA, "",
			"not declared idempotent"},
		{Policy{}, "{exec: {path: fn.sh}}", declared, "denied"},
	} {
		c := trustedText(t, "/w/c.yaml", "{name: v1"+tt.version+", runtime: "+tt.runtime+"}", "")
		d := tt.policy.Decide(request(t, "", c))
		if d.NotReused != tt.want || d.Allowed != (tt.want != "denied") {
			t.Errorf("%s%s: %q, want %q; allowed %t", tt.runtime, tt.version, d.NotReused, tt.want, d.Allowed)
		}
	}
	p := Policy{AllowUncatalogued: true, AllowExec: true}
	if d := p.Decide(request(t, "{exec: {path: fn.sh}}")); d.NotReused == "" || !d.Allowed {
		t.Errorf("in no catalog: %q, %t", d.NotReused, d.Allowed)
	}
	p = Policy{AllowUncatalogued: true, Env: []string{"A=1"}}
	if d := p.Decide(request(t, "{container: {image: 'e/f@sha256:"+hexA+"', envs: [A]}}")); d.NotReused != "variables" || !d.Allowed {
		t.Errorf("with variables: %q, %t", d.NotReused, d.Allowed)
	}
}

func TestDecisionDescribesFunction(t *testing.T) {
	p := Policy{NetworkName: "n", AsCurrentUser: true, Limits: function.Limits{Procs: 7}}
	c := trustedText(t, "/w/c.yaml", "{name: v1, runtime: "+execA+"}", ", allowArgs: true")
	d := p.Decide(request(t, "{exec: {path: ln.sh, args: [a]}}", c))
	got := fmt.Sprintf("%+v", d.Function)
	want := fmt.Sprintf("%+v", function.Function{Name: "example.com/v1 Fn/x", Node: "k#transformers[0]", Runtime: function.RuntimeExec,
		Digest:  digest(hexA),
		Program: "/w/fn.sh", Root: "/w", Args: []string{"a"}, Dir: "/w", Limits: function.Limits{Procs: 7}})
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	d = p.Decide(request(t, "", trusted(t, "/w/c.yaml", "{container: {image: 'e/f:v1@sha256:"+hexA+"', requireNetwork: true}}")))
	if f := d.Function; f.Image != "e/f:v1" || f.Digest != digest(hexA) || f.Network != "n" || !f.AsCurrentUser ||
		f.Runtime != function.RuntimeContainer || f.Dir != "/w" {
		t.Errorf("%+v", f)
	}
}

func TestNeedsListsLocalFilesAndImages(t *testing.T) {
	tests := []struct {
		row, inline string
		runtimes    []string
		want        string
	}{
		{"an entry's program is beside its catalog", "", []string{"{exec: {path: p/fn.sh}}"}, "[/c/p/fn.sh] [/c] [] []"},
		{"inline and entry", "{exec: {path: ./a}}", []string{"{exec: {path: fn.sh}}"}, "[/w/a /c/fn.sh] [/w /c] [] []"},
		{"nothing outside the root is looked at", "{exec: {path: ../a}}", []string{"{exec: {path: /bin/sh}}"}, "[] [] [] []"},
		{"images", "{container: {image: 'a:v1', mounts: [{type: bind, src: d, dst: /d}, {type: bind, src: ../e, dst: /e}]}}",
			[]string{"{container: {image: 'b:v1', sha256: " + hexA + "}}"}, "[] [] [] [/w/d]"},
		{"an entry without a digest", "", []string{"{container: {image: 'b:v1'}}"}, "[] [] [b:v1] []"},
		{"an image by digest needs no look", "", []string{"{container: {image: 'b:v1@sha256:" + hexA + "'}}"}, "[] [] [] []"},
		{"remote programs are not here", "", []string{"{exec: {path: 'https://h/x'}}"}, "[] [] [] []"},
		{"only the first definition counts", "", []string{"{exec: {path: one}}", "{exec: {path: two}}"}, "[/c/one] [/c] [] []"},
	}
	inline := "{container: {image: 'a:v1'}}"
	if n := (Policy{AllowUncatalogued: true}).Needs(request(t, inline)); !slices.Equal(n.Images, []string{"a:v1"}) {
		t.Errorf("an image that may run: %v", n.Images)
	}
	for _, tt := range tests {
		var list []Trusted
		for i, rt := range tt.runtimes {
			list = append(list, trusted(t, fmt.Sprintf("/c/c%d.yaml", i), rt))
		}
		n := (Policy{}).Needs(request(t, tt.inline, list...))
		if got := fmt.Sprint(n.Programs, n.Roots, n.Images, n.Mounts); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.row, got, tt.want)
		}
	}
}

func TestRequireChecksums(t *testing.T) {
	for text, want := range map[string]bool{
		"https://h/c.yaml": true, "oci://r.io/c:v1": true, "git+https://h/r.git//c.yaml?ref=v1": true, "c.yaml": false,
		"git+https://h/r.git//c.yaml?ref=0123456789012345678901234567890123456789": false, "oci://r.io/c@sha256:" + hexA: false,
	} {
		r, err := catalog.ParseRef(text)
		_, denial := Policy{RequireChecksums: true}.DecideCatalog(CatalogRequest{Ref: r, Digest: digest(hexA),
			LayerPin: LayerPin(digest(hexA))})
		if err != nil || (denial != nil) != want {
			t.Errorf("%s: %v, %v", text, denial, err)
		}
	}
}

func TestDecideAge(t *testing.T) {
	const head = "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata: {annotations: {krmflow.dev/expires: %q}}\nspec: {krmFunctions: []}\n"
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for text, expired := range map[string]bool{"2026-11-21": true, "2026-11-22": true, "2026-11-23": false, "2026-11-22T00:00:01Z": false,
		"": false} {
		src := &yaml.Source{File: "c.yaml", Data: fmt.Appendf(nil, head, text)}
		c, err := catalog.Parse(src, catalog.Ref{Location: "c.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		warnings, denial := Policy{}.DecideAge(c, now)
		if (len(warnings) > 0) != expired || denial != nil {
			t.Errorf("%s: %v %v", text, warnings, denial)
		}
		if warnings, denial = (Policy{Strict: true}).DecideAge(c, now); len(warnings) > 0 || (denial != nil) != expired {
			t.Errorf("%s, strict: %v %v", text, warnings, denial)
		}
	}
	src := &yaml.Source{File: "c.yaml", Data: fmt.Appendf(nil, head, "tomorrow")}
	if _, err := catalog.Parse(src, catalog.Ref{Location: "c.yaml"}); err == nil {
		t.Error("a date that nobody can read is accepted")
	}
}

func TestDecideCatalog(t *testing.T) {
	ref := func(text string) catalog.Ref {
		r, err := catalog.ParseRef(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	tests := []struct {
		row    string
		strict bool
		r      CatalogRequest
		exit   int
		warn   bool
		want   string
	}{
		{"the pin matches", true, CatalogRequest{Ref: ref("c.yaml#sha256=" + hexA), Digest: digest(hexA), Shares: "tree"}, 0, false, ""},
		{"the pin does not match the bytes", false, CatalogRequest{Ref: ref("c.yaml#sha256=" + hexB), Digest: digest(hexA)}, 4, false,
			"want sha256:" + hexB + "\n  got  sha256:" + hexA},
		{"a catalog inside the rendered tree", false, CatalogRequest{Ref: ref("c.yaml"), Digest: digest(hexA), Shares: "tree"}, 0, true,
			"pin it: --trusted-plugin-catalog=c.yaml#sha256=" + hexA},
		{"the same, strict", true, CatalogRequest{Ref: ref("c.yaml"), Digest: digest(hexA), Shares: "tree"},
			3, false, "pin it: --trusted-plugin-catalog=c.yaml#sha256=" + hexA},
		{"a catalog beside it", false, CatalogRequest{Ref: ref("c.yaml"), Digest: digest(hexA), Shares: "repository"}, 0,
			true, "is inside the repository being rendered and is not pinned: anyone who can change the repository can"},
		{"the same, strict", true, CatalogRequest{Ref: ref("c.yaml"), Digest: digest(hexA), Shares: "repository"}, 3, false,
			"pin it: --trusted-plugin-catalog=c.yaml#sha256=" + hexA},
		{"a catalog outside", true, CatalogRequest{Ref: ref("c.yaml"), Digest: digest(hexA)}, 0, false, ""},
		{"a remote catalog without pin", false, CatalogRequest{Ref: ref("https://h/c.yaml"), Digest: digest(hexA)}, 0, true, "https://h/c.yaml#sha256=" + hexA},
		{"the same, strict", true, CatalogRequest{Ref: ref("https://h/c.yaml"), Digest: digest(hexA)}, 3, false, hexA},
		{"a commit", true, CatalogRequest{Ref: ref("git+https://h/r.git//c.yaml?ref=0123456789012345678901234567890123456789"), Digest: digest(hexA)}, 0, false, ""},
		{"a tag", true, CatalogRequest{Ref: ref("git+https://h/r.git//c.yaml?ref=v1"), Digest: digest(hexA)}, 3, false, "git+https://h/r.git//c.yaml?ref=v1#sha256=" + hexA},
		{"a commit with the pin of another file", true, CatalogRequest{Ref: ref("git+https://h/r.git//c.yaml?ref=0123456789012345678901234567890123456789#sha256=" + hexB), Digest: digest(hexA)}, 4, false, ""},
		{"an artifact by tag", false, CatalogRequest{Ref: ref("oci://r.io/c:v1"), Digest: digest(hexA)}, 0, true, "oci://r.io/c:v1@sha256:" + hexA},
		{"an artifact with another digest", false, CatalogRequest{Ref: ref("oci://r.io/c@sha256:" + hexB), Digest: digest(hexA)}, 4, false, ""},
		{"a signature", true, CatalogRequest{Ref: ref("https://h/c.yaml"), Digest: digest(hexA), Signed: true}, 0, false, ""},
		{"a signature beside the wrong pin", true, CatalogRequest{Ref: ref("https://h/c.yaml#sha256=" + hexB), Digest: digest(hexA), Signed: true}, 4, false, ""},
		{"only the pin of a layer matches", false, CatalogRequest{Ref: ref("https://h/c.yaml"), Digest: digest(hexA), LayerPin: LayerPin(digest(hexA))}, 0, false, ""},
		{"the same, strict", true, CatalogRequest{Ref: ref("https://h/c.yaml"), Digest: digest(hexA), LayerPin: LayerPin(digest(hexA))}, 3, false, "is remote and pinned by a layer, not by you"},
		{"the same in the tree", false, CatalogRequest{Ref: ref("c.yaml"), Digest: digest(hexA), LayerPin: LayerPin(digest(hexA)),
			Shares: "tree"}, 0, true, "is not pinned"},
		{"the pin of a layer does not match", false, CatalogRequest{Ref: ref("https://h/c.yaml"), Digest: digest(hexA), LayerPin: LayerPin(digest(hexB))}, 4, false, "want sha256:" + hexB},
		{"nor beside the user's, which does", false, CatalogRequest{Ref: ref("c.yaml#sha256=" + hexA), Digest: digest(hexA),
			LayerPin: LayerPin(digest(hexB))}, 4, false, "want sha256:" + hexB},
		{"nor beside a signature", false, CatalogRequest{Ref: ref("https://h/c.yaml"), Digest: digest(hexA), LayerPin: LayerPin(digest(hexB)), Signed: true}, 4, false, ""},
		{"compiled in", true, CatalogRequest{Ref: ref("https://h/c.yaml"), Digest: digest(hexA), BuiltIn: true}, 0, false, ""},
	}
	for _, tt := range tests {
		warnings, denial := Policy{Strict: tt.strict}.DecideCatalog(tt.r)
		var reason Reason
		text := ""
		if denial != nil {
			reason, text = denial.Reason, denial.Err.Error()
		}
		for _, w := range warnings {
			text += w.Error()
		}
		if reason != reasons[tt.exit] || (len(warnings) > 0) != tt.warn || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %v %v %s", tt.row, reason, warnings, text)
		}
	}
}

func TestDevelopmentAcceptsOnlyItsDirectory(t *testing.T) {
	changed, none := "{exec: {path: fn.sh, sha256: "+hexB+"}}", "{exec: {path: fn.sh}}"
	at := func(dirs ...string) Policy {
		var p Policy
		for _, dir := range dirs {
			p.Dev = append(p.Dev, Developed{Dir: dir, Name: "fns"})
		}
		return p
	}
	strict := at("/w")
	strict.Strict = true
	for _, tt := range []struct {
		name    string
		policy  Policy
		runtime string
		edit    func(*Trusted)
		exit    int
		want    []string
	}{
		{"changed program", at("/w"), changed, nil, 0, []string{"warning", "fn.sh: digest changed since it was written",
			"because of --dev fns", "krmflow catalog digest --write /w/c0.yaml", "UNVERIFIED", hexA}},
		{"no digest", at("/w"), none, nil, 0, []string{"no digest is written yet", "UNVERIFIED"}},
		{"one of several directories", at("/x", "/w"), changed, nil, 0, nil},
		{"matching digest", at("/w"), execA, nil, 0, []string{"verified"}},
		{"another directory", at("/x"), changed, nil, 4, []string{"SECURITY ERROR"}},
		{"no digest, another directory", at("/x"), none, nil, 3, nil},
		{"a directory whose name begins like it", at("/w2", "/"+"w/fn"), changed, nil, 4, nil},
		{"the program itself", at("/w/fn.sh"), changed, nil, 4, nil},
		{"a link that leads out", at("/w"), "{exec: {path: out.sh, sha256: " + hexB + "}}", nil, 3, []string{"is outside"}},
		{"an invalid digest", at("/w"), "{exec: {path: fn.sh, sha256: " + hexB[1:] + "}}", nil, 4, nil},
		{"a pinned catalog", at("/w"), changed, func(x *Trusted) { x.Ref.Pin = digest(hexA) }, 4, []string{"SECURITY ERROR"}},
		{"a catalog that a layer pins", at("/w"), changed, func(x *Trusted) { x.LayerPin = LayerPin(digest(hexA)) }, 4, nil},
		{"a signed catalog", at("/w"), changed, func(x *Trusted) { x.Signed = "team" }, 4, nil},
		{"strict", strict, changed, nil, 4, []string{"SECURITY ERROR"}},
	} {
		list := []Trusted{trusted(t, "/w/c0.yaml", tt.runtime)}
		if tt.edit != nil {
			tt.edit(&list[0])
		}
		d := check(t, tt.name, tt.policy, request(t, "", list...), tt.exit, tt.want)
		if d.Allowed && d.Function.Digest != digest(hexA) {
			t.Errorf("%s: it runs %v, which is not the digest of the examined program", tt.name, d.Function.Digest)
		}
	}
}
