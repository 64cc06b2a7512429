package reference

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/krm"
)

var digest = krm.DigestOf([]byte("x"))

func TestParseSplitsReferences(t *testing.T) {
	sum := digest.String()
	hex := strings.TrimPrefix(sum, "sha256:")
	for _, test := range []struct {
		text                      string
		use                       Use
		scheme                    Scheme
		location, path, ref, rest string
	}{
		// kustomize's forms of a repository
		{"https://github.com/org/repo", Dir, Git, "https://github.com/org/repo", "", "", ""},
		{"https://github.com/org/repo", Any, Git, "https://github.com/org/repo", "", "", ""},
		{"github.com/org/repo/a/b?ref=v1", Any, Git, "https://github.com/org/repo", "a/b", "v1", ""},
		{"GitHub.com/org/repo.git//a?version=v1", Any, Git, "https://github.com/org/repo.git", "a", "v1", ""},
		{"github.com/org/repo//a/b/?ref=refs/heads/x_y&version=no", Dir, Git, "https://github.com/org/repo", "a/b", "refs/heads/x_y", ""},
		{"github.com:org/repo", Dir, Git, "https://github.com/org/repo", "", "", ""},
		{"git@github.com:org/repo//a", Any, Git, "git@github.com:org/repo", "a", "", ""},
		{"git@github.com/org/repo.git/a", Any, Git, "git@github.com:org/repo.git", "a", "", ""},
		{"ssh://git@github.com/org/repo", Any, Git, "git@github.com:org/repo", "", "", ""},
		{"git@gitlab.com:org/sub/repo.git//a?ref=v1", Any, Git, "git@gitlab.com:org/sub/repo.git", "a", "v1", ""},
		{"ssh://git@host:2222/org/repo//a", Any, Git, "ssh://git@host:2222/org/repo", "a", "", ""},
		{"https://host:8443/a/b/c.git//d?ref=main", Any, Git, "https://host:8443/a/b/c.git", "d", "main", ""},
		{"https://host/org/repo/dir?ref=main", Any, HTTPS, "https://host/org/repo/dir?ref=main", "", "", "either"},
		{"https://host/org/repo/dir?ref=main", Dir, Git, "https://host/org/repo", "dir", "main", ""},
		{"git::https://host/org/repo//dir?ref=main", Any, Git, "https://host/org/repo", "dir", "main", ""},
		{"GIT::git@host:org/repo.git", File, Git, "git@host:org/repo.git", "", "", ""},
		{"https://user@dev.azure.com/org/project/_git/repo/a/b?ref=v1", Any, Git, "https://user@dev.azure.com/org/project/_git/repo", "a/b", "v1", ""},
		{"https://org.visualstudio.com/p/_git/repo", Any, Git, "https://org.visualstudio.com/p/_git/repo", "", "", ""},
		{"file:///srv/repo.git//a?ref=v1", Any, Git, "file:///srv/repo.git", "a", "v1", ""},
		{"file:///srv/repo", Any, Git, "file:///srv/repo", "", "", ""},
		{"HTTPS://host/x/y.git", Dir, Git, "https://host/x/y.git", "", "", ""},
		{"https://github.com/org/repo?submodules=false&timeout=61", Dir, Git, "https://github.com/org/repo", "", "", "61s"},
		{"https://github.com/org/repo?timeout=2m", Dir, Git, "https://github.com/org/repo", "", "", "submodules 2m0s"},
		{"https://github.com/org/repo?timeout=9999h", Dir, Git, "https://github.com/org/repo", "", "", "submodules 10m0s"},
		{"https://github.com/org/repo?timeout=-1", Dir, Git, "https://github.com/org/repo", "", "", ""},
		// catalogs
		{"https://host/org/repo.git/dir/catalog.yaml@sidecar/v1.0", File, Git, "https://host/org/repo.git", "dir/catalog.yaml", "sidecar/v1.0", ""},
		{"git@host:org/repo.git/catalog.yaml@v1", File, Git, "git@host:org/repo.git", "catalog.yaml", "v1", ""},
		{"github.com/org/repo//catalog.yaml?ref=v1", Catalog, Git, "https://github.com/org/repo", "catalog.yaml", "v1", ""},
		{"https://host/org/repo//catalog.yaml?ref=v1", Catalog, Git, "https://host/org/repo", "catalog.yaml", "v1", ""},
		{"https://host/org/repo/catalog.yaml", Catalog, HTTPS, "https://host/org/repo/catalog.yaml", "", "", ""},
		{"https://host/a/b/catalog.yaml?ref=main", Catalog, HTTPS, "https://host/a/b/catalog.yaml?ref=main", "", "", ""},
		// files
		{"https://host/x.yaml", Any, HTTPS, "https://host/x.yaml", "", "", ""},
		{"https://host/a/b/x.yaml?token=t&ref=main", Any, HTTPS, "https://host/a/b/x.yaml?token=t&ref=main", "", "", ""},
		{"http://host/x", File, HTTPS, "http://host/x", "", "", ""},
		{"https://github.com/org/repo/raw/main/x", Any, HTTPS, "https://github.com/org/repo/raw/main/x", "", "", "either"},
		{"https://host/x.yaml#sha256=" + hex, File, HTTPS, "https://host/x.yaml", "", "", "pin"},
		{"https://host/x.yaml@" + sum, File, HTTPS, "https://host/x.yaml", "", "", "pin"},
		{"https://host/x?a=1&checksum=" + sum + "&b=2", Any, HTTPS, "https://host/x?a=1&b=2", "", "", "pin"},
		{"https://host/x.tar.gz//a/b?checksum=" + sum, Dir, HTTPS, "https://host/x.tar.gz", "a/b", "", "pin archive"},
		{"https://host/x.zip#sha256=" + hex, Any, HTTPS, "https://host/x.zip", "", "", "pin archive"},
		{"https://host/x.tar.zst//a?checksum=" + sum, Dir, HTTPS, "https://host/x.tar.zst", "a", "", "pin archive"},
		{"https://host/get//a/b?id=1&archive=tar.xz&checksum=" + sum, Dir, HTTPS, "https://host/get?id=1", "a/b", "", "pin archive tar.xz"},
		{"https://host/x.tar.gz", Catalog, HTTPS, "https://host/x.tar.gz", "", "", ""},
		// artifacts
		{"oci://host:5000/a/b:v1", Any, OCI, "host:5000/a/b", "", "v1", ""},
		{"oci://host/a", File, OCI, "host/a", "", "latest", ""},
		{"oci://host/a@" + sum + "//dir", Dir, OCI, "host/a", "dir", "", "pin"},
		{"oci://host/a:v1@" + sum, Dir, OCI, "host/a", "", "v1", "pin"},
	} {
		r, err := Parse(test.text, test.use)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		want := Reference{Scheme: test.scheme, Location: test.location, Path: test.path, Ref: test.ref, Submodules: test.scheme == Git &&
			test.rest != "61s"}
		for word := range strings.FieldsSeq(test.rest) {
			switch d, err := time.ParseDuration(word); {
			case err == nil:
				want.Timeout = d
			case word == "pin":
				want.Pin = digest
			case word == "archive":
				want.Archive = true
			case word == "either":
				want.Either = true
			case word == "tar.xz":
				want.Form = word
			}
		}
		if r != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", test.text, r, want)
		}
	}
}

func TestParseLocal(t *testing.T) {
	for _, text := range []string{"", ".", "..", "base", "../base", "/srv/base", "a/b.yaml", "a@b", "github.com", "host.com/org/repo",
		"./github.com/a/b", "a:b/c", "1x@host:a/b"} {
		for _, use := range []Use{Any, Dir, File, Catalog} {
			if r, err := Parse(text, use); !errors.Is(err, ErrNotRemote) {
				t.Errorf("%q: %+v, %v", text, r, err)
			}
		}
	}
}

// TestParsePaths checks that text without a scheme is a path where kustomize reads files.
func TestParsePaths(t *testing.T) {
	for _, text := range []string{"github.com/org/repo/x.yaml", "git@host:org/x.yaml", "github.com/org/repo.git/x.yaml"} {
		if r, err := Parse(text, File); !errors.Is(err, ErrNotRemote) {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"s3::https://host/x", "hg::https://host/x", "gcs://x/y", "ftp://host/x", "git://host/x.git", "smb://x/y", "ext::sh -c true",
		"git::ext::sh -c true",
		"https://host/r.git?ref=--upload-pack=x", "https://host/r.git?ref=-x", "https://host/r.git?ref=a..b", "https://host/r.git?ref=a@{1}",
		"https://host/r.git?ref=a//b", "https://host/r.git?ref=a.lock", "https://host/r.git?ref=a%0ab", "https://host/r.git?ref=a%00b", "https://host/r.git?ref=a:b",
		"https://host/r.git?ref=%2Ba", "https://host/r.git?ref=" + strings.Repeat("x", 300), "https://host/r.git//../x", "https://host/r.git//a/../../x",
		"git@-oProxyCommand=x:a/b.git", "git@host:-x/y.git", "ssh://-oProxyCommand=x/a/b.git", "https:///x", "https://", "https://host/a b",
		"https://host/x\n", "https://host/x?checksum=md5:00", "https://host/x?checksum=file:https://host/sums", "https://host/x#sha256=00", "https://host/x.tar.gz",
		"oci://host", "oci://host/A", "oci://host/a:-x", "oci://host/a@sha256:1", "oci://host/../x", "oci://user:pw@host/x", "oci://-x/a", "oci://host/a//../x",
		strings.Repeat("x", 10_000),
	} {
		if r, err := Parse(text, Dir); err == nil || errors.Is(err, ErrNotRemote) {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

func TestStringHidesCredentials(t *testing.T) {
	for _, text := range []string{
		"https://user:canary@host/x.yaml", "https://host/x.yaml?token=canary", "https://user:canary@host/r.git//a?ref=v1", "https://canary@host/r.git",
		"https://host/x.yaml?X-Amz-Signature=canary&checksum=" + digest.String(),
	} {
		for _, use := range []Use{Any, Dir, File, Catalog} {
			r, err := Parse(text, use)
			if s := r.String(); err != nil && strings.Contains(err.Error(), "canary") || strings.Contains(s, "canary") {
				t.Errorf("%s is shown as %s, %v", text, s, err)
			}
		}
	}
	for _, text := range []string{"https://canary@ho st/x.yaml", "https://user:canary@host/r.git?ref=-x", "oci://user:canary@host/x", "oci://user:x@canary@host/x", "ssh://git:canary@host/r.git"} {
		if _, err := Parse(text, Any); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"https://github.com/org/repo//a?ref=v1", "git@host:a/b.git/c@v1", "oci://h/a:v1@" + digest.String(), "https://h/x.zip//a?checksum=" + digest.String(), "file:///a//b", "git::ssh://u@h:1/a/_git/b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, use := range []Use{Any, Dir, File, Catalog} {
			r, err := Parse(text, use)
			if err != nil {
				continue
			}
			if strings.HasPrefix(r.Location, "-") || strings.HasPrefix(r.Ref, "-") || strings.HasPrefix(r.Host(), "-") {
				t.Errorf("%q gives an option: %+v", text, r)
			}
			if r.Path == ".." || strings.HasPrefix(r.Path, "../") || strings.HasPrefix(r.Path, "/") {
				t.Errorf("%q leads out: %+v", text, r)
			}
			if r.Protocol() != "file" && r.Host() == "" {
				t.Errorf("%q names no host: %+v", text, r)
			}
			if strings.ContainsAny(r.Location+r.Ref, " \n\x00") {
				t.Errorf("%q has blanks: %+v", text, r)
			}
			_ = r.String()
		}
	})
}
