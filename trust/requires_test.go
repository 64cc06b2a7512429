package trust

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/function"
)

func TestGrantsAreDecided(t *testing.T) {
	const version = "{name: v1, requires: {env: [TOKEN, [KEY, KEY_FILE]], files: [{from: env, name: KEY_FILE}, {from: tree}], network: optional}, " +
		"runtime: " + execA + "}"
	environment := map[string]string{"TOKEN": "secret", "KEY_FILE": "/home/key", "EMPTY": ""}
	variable := func(name string) (string, bool) { v, ok := environment[name]; return v, ok }
	grants := func(texts ...string) Policy {
		p := Policy{Variable: variable}
		for _, text := range texts {
			g, err := ParseGrant(text)
			if err != nil {
				t.Fatal(err)
			}
			p.Granted = append(p.Granted, g)
		}
		return p
	}
	request := func() Request {
		r := request(t, "", trustedText(t, "/w/c.yaml", version, ""))
		r.Name = "k"
		r.Facts.Mounts["/home/key"] = Mount{Real: "/real/key"}
		return r
	}
	check(t, "no grant", grants(), request(), 3, []string{
		"the function requires TOKEN and KEY or KEY_FILE and tree, which you have not granted",
		"add --grant=example.com/Fn=TOKEN,KEY_FILE,tree"}) // KEY is not set
	check(t, "a part", grants("example.com/Fn=TOKEN,tree"), request(), 3, []string{"--grant=example.com/Fn=KEY_FILE"})
	check(t, "a different version", grants("example.com/v2/Fn=TOKEN,KEY_FILE,tree"), request(), 3, nil)
	check(t, "a different function", grants("example.com/Other=TOKEN,KEY_FILE,tree"), request(), 3, nil)
	check(t, "not set", grants("example.com/Fn=TOKEN,KEY,tree"), request(), 1, []string{"requires KEY: granted, but not set"})
	check(t, "not required", grants("example.com/Fn=TOKEN,KEY_FILE,tree,EXTRA"), request(),
		3, []string{"EXTRA is granted, but its entry requires"})

	d := check(t, "all", grants("example.com/v1/Fn=TOKEN,KEY_FILE", "example.com/Fn=tree"), request(), 0, []string{
		"variable TOKEN (granted by --grant), variable KEY_FILE and its file (granted by --grant), files below k (granted by --grant)",
		"cache no (has grants)"})
	if got, want := strings.Join(d.Function.Env, " "), "TOKEN=secret KEY_FILE=/real/key"; got != want {
		t.Errorf("the function gets %q, want %q", got, want)
	}
	mounts := []function.Mount{{Type: "bind", Source: "/real/key", Dest: "/real/key"}, {Type: "bind", Source: "/w", Dest: "/w"}}
	if len(d.Function.Mounts) != 2 || d.Function.Mounts[0] != mounts[0] || d.Function.Mounts[1] != mounts[1] || d.Function.Network != "" {
		t.Errorf("%+v", d.Function)
	}
	d = check(t, "network", grants("example.com/Fn=TOKEN,KEY_FILE,tree,network"), request(),
		0, []string{"the network of this machine (granted by --grant)"})
	if d.Function.Network == "" {
		t.Error("the function has no network")
	}
	if n := grants("example.com/Fn=TOKEN,KEY_FILE,tree").Needs(request()); len(n.Granted) != 1 || n.Granted[0] != "/home/key" || !n.Tree {
		t.Errorf("%+v", n)
	}
	if n := grants().Needs(request()); n.Granted != nil || n.Tree {
		t.Errorf("without a grant: %+v", n)
	}

	other := grants("example.com/Fn=TOKEN,KEY_FILE,tree")
	other.Granted[0].Catalog = &Configured{Ref: trustedText(t, "/w/other.yaml", version, "").Ref}
	check(t, "a different catalog", other, request(), 3, []string{"is for a different catalog than /w/c.yaml"})
	other.Granted[0].Catalog = &Configured{Ref: trustedText(t, "/w/c.yaml", version, "").Ref}
	check(t, "the same catalog", other, request(), 0, nil)
	other.Granted[0].Catalog.Ref.Pin = digest(hexB)
	check(t, "a different digest", other, request(), 3, nil)
	named := request()
	named.Catalogs[0].Named = true
	check(t, "a catalog that the tree chooses", grants("example.com/Fn=TOKEN,KEY_FILE,tree"), named,
		3, []string{"is for a different catalog"})
	changeable := request()
	changeable.Catalogs[0].Changeable = true
	check(t, "a catalog that others can change", grants("example.com/Fn=TOKEN,KEY_FILE,tree"), changeable, 3, []string{"gets no grants"})
	env := Policy{Variable: variable, Env: []string{"TOKEN=x", "KEY_FILE=/home/key", "tree=1"}}
	check(t, "variables are not grants", env, request(), 3, []string{"which you have not granted", "remove --env tree"})
	broad := grants("example.com/Fn=TOKEN,KEY_FILE,tree")
	broad.Home = "/w/home"
	check(t, "a tree with the home directory", broad, request(), 3, []string{"the grant of tree would open all files below /w"})
	keyed := request()
	keyed.Facts.Mounts["/home/key"] = Mount{Err: &fs.PathError{Op: "lstat", Path: "/w/AGE-SECRET-KEY-1X", Err: fs.ErrNotExist}}
	if d := check(t, "a key in place of its path", grants("example.com/Fn=TOKEN,KEY_FILE,tree"), keyed, 1,
		[]string{"KEY_FILE must be the path of a file"}); strings.Contains(allText(d), "AGE-SECRET") {
		t.Error("the value is shown")
	}
	r := request()
	r.Remote = true
	check(t, "a fetched tree", grants("example.com/Fn=TOKEN,KEY_FILE,tree"), r, 3, []string{"a remote tree may not use a local program"})
}

func TestGrantsAreParsed(t *testing.T) {
	for text, want := range map[string]string{
		"example.com/v1/Fn=A,tree": "", "Fn=network": "", "a/b/c/d=A": "is not GROUP/KIND", "a//b=A": "is not GROUP/KIND",
		"=A":             "is not GROUP/KIND",
		"example.com/Fn": "has no =", "example.com/Fn=": "is not a variable", "example.com/Fn=A,,B": "is not a variable",
		"example.com/Fn=A=b": "is not a variable",
	} {
		if _, err := ParseGrant(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A configuration may name a function by each of the names of its entry.
func TestEntriesCoverFurtherNames(t *testing.T) {
	const both = "{container: {image: 'e/f:v1', images: ['old/f:v0.1', 'old/f:v0.1.0'], sha256: " + hexA + "}, exec: {programs: [ksops], " +
		"platforms: [{bin: fn, os: linux, arch: amd64, uri: fn.sh, sha256: " + hexA + "}]}}"
	exec := Policy{Prefer: function.RuntimeExec}
	for _, c := range []struct {
		row, inline string
		policy      Policy
		exit        int
		runtime     function.Runtime
	}{
		{"another tag", "{container: {image: 'old/f:v0.1'}}", Policy{}, 0, function.RuntimeContainer},
		{"another tag, as a program", "{container: {image: 'old/f:v0.1.0'}}", exec, 0, function.RuntimeExec},
		{"the image, as a program", "{container: {image: 'e/f:v1'}}", exec, 0, function.RuntimeExec},
		{"an unknown tag", "{container: {image: 'old/f:v0.2'}}", exec, 3, ""},
		{"an image that asks for the network", "{container: {image: 'e/f:v1', network: true}}", exec, 3, ""},
		{"a program by its name", "{exec: {path: ksops}}", Policy{}, 0, function.RuntimeExec},
		{"an unknown program", "{exec: {path: sops}}", Policy{}, 3, ""},
	} {
		r := request(t, c.inline, trusted(t, "/w/c.yaml", both))
		r.Facts.Programs["/w/sops"] = Program{Real: "/w/sops", Digest: digest(hexB)}
		d := check(t, c.row, c.policy, r, c.exit, nil)
		if c.exit == 0 && d.Runtime != c.runtime {
			t.Errorf("%s: runs as %s, want %s", c.row, d.Runtime, c.runtime)
		}
	}
}

// Only the catalog of the user's installed programs may name absolute paths.
func TestInstalledPrograms(t *testing.T) {
	r := request(t, "", trusted(t, "/w/programs.yaml", "{exec: {path: /usr/bin/fn, sha256: "+hexA+"}}"))
	r.Facts.Programs["/usr/bin/fn"] = Program{Real: "/usr/bin/fn", Digest: digest(hexA)}
	check(t, "a different catalog", Policy{}, r, 3, []string{"has an absolute path"})
	r.Catalogs[0].Own = true
	if d := check(t, "the user's own", Policy{}, r, 0, []string{"verified"}); d.Function.Program != "/usr/bin/fn" {
		t.Errorf("%+v", d.Function)
	}
	r.Facts.Programs["/usr/bin/fn"] = Program{Real: "/usr/bin/fn", Digest: digest(hexB)}
	check(t, "changed", Policy{}, r, 4, []string{"SECURITY ERROR", "krmflow catalog add-program example.com/v1/Fn --path /usr/bin/fn"})
	if n := (Policy{}).Needs(r); len(n.Programs) != 1 || n.Programs[0] != "/usr/bin/fn" || n.Roots[0] != "/usr/bin" {
		t.Errorf("%+v", n)
	}
}
