package remote

import (
	"archive/tar"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/reference"
)

// A program has its own digest or is in an archive with a digest. It is verified in each run and
// needs no server once it is cached.
func TestProgramIsVerifiedEachRun(t *testing.T) {
	packed := archives(t, tarFile("bin/fn"), tarFile("README"))
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch data, ok := packed[strings.TrimPrefix(r.URL.Path, "/fn")]; {
		case ok:
			w.Write(data)
		case r.URL.Path == "/plain":
			w.Write([]byte("plain"))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	opt := srv.options()
	other := krm.DigestOf([]byte("other"))
	first := session(t, opt)
	member := func(kind string) string {
		p, err := first.Program(t.Context(), blob(t, srv.URL+"/fn"+kind), "bin/fn", krm.Digest{}, FromUser)
		if err != nil {
			t.Fatal(err)
		}
		return string(p.Data)
	}
	for kind, data := range packed {
		text := srv.URL + "/fn" + kind
		want := member(kind)
		for _, d := range []krm.Digest{krm.DigestOf(data), krm.DigestOf([]byte(want))} {
			s := session(t, opt)
			for range 2 {
				before := srv.requests.Load()
				p, err := s.Program(t.Context(), blob(t, text), "bin/fn", d, FromUser)
				if err != nil || string(p.Data) != want {
					t.Fatalf("%s: %q, %v", kind, p, err)
				}
				if srv.requests.Load() > before+1 {
					t.Errorf("%s: more than one request", kind)
				}
			}
			before := srv.requests.Load()
			again := NewSession(Options{Cache: s.opt.Cache, Offline: true})
			if p, err := again.Program(t.Context(), blob(t, text), "bin/fn", d, FromUser); err != nil || string(p.Data) != want ||
				srv.requests.Load() != before {
				t.Errorf("%s from the cache: %v", kind, err)
			}
			damage(t, s.opt.Cache)
			if p, err := again.Program(t.Context(), blob(t, text), "bin/fn", d, FromUser); err == nil {
				t.Errorf("%s from a damaged cache: %q", kind, p.Data)
			}
		}
		s := session(t, opt)
		if _, err := s.Program(t.Context(), blob(t, text), "bin/fn", other, FromUser); !errors.Is(err, ErrVerification) {
			t.Errorf("%s: another digest: %v", kind, err)
		}
		_, err := s.Program(t.Context(), blob(t, text), "fn", krm.DigestOf(data), FromUser)
		if err == nil || !strings.Contains(err.Error(), `the archive has no "fn"`) ||
			!strings.Contains(err.Error(), "it has README, bin/fn") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	s := session(t, opt)
	if p, err := s.Program(t.Context(), blob(t, srv.URL+"/plain"), "", krm.DigestOf([]byte("plain")), FromUser); err != nil ||
		string(p.Data) != "plain" {
		t.Errorf("plain: %v", err)
	}
	if _, err := s.Program(t.Context(), blob(t, srv.URL+"/plain"), "", other, FromUser); !errors.Is(err, ErrVerification) {
		t.Errorf("plain: %v", err)
	}
	if _, err := s.Program(t.Context(), blob(t, srv.URL+"/gone"), "", other, FromUser); !errors.Is(err, ErrRetrieval) {
		t.Errorf("gone: %v", err)
	}
}

// The content of an archive is ignored until its digest is verified, and then only one file is
// used. Symlinks out of the archive, setuid files and oversized files make the whole archive
// invalid.
func TestHostilePrograms(t *testing.T) {
	for name, files := range map[string][]tar.Header{
		"../evil":     {tarFile("fn"), tarFile("../evil")},
		"/evil":       {tarFile("fn"), tarFile("/evil")},
		"link":        {tarFile("fn"), {Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}},
		"hard":        {tarFile("fn"), {Name: "hard", Typeflag: tar.TypeLink, Linkname: "fn"}},
		"null":        {tarFile("fn"), {Name: "null", Typeflag: tar.TypeChar}},
		"sudo":        {tarFile("fn"), {Name: "sudo", Mode: 0o4755}},
		"FN":          {tarFile("fn"), tarFile("FN")},
		"other files": {tarFile("fn"), tarFile("a"), tarFile("b"), tarFile("c")},
	} {
		data := archives(t, files...)[".tar.gz"]
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(data) })
		opt := srv.options()
		opt.MaxTree = cache.Limits{Files: 3}
		for _, d := range []krm.Digest{krm.DigestOf(data), krm.DigestOf([]byte("fn"))} {
			_, err := session(t, opt).Program(t.Context(), blob(t, srv.URL+"/fn.tar.gz"), "fn", d, FromUser)
			if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(name, "other ")) {
				t.Errorf("%s: %v", name, err)
			}
			if name == "other files" && !errors.Is(err, diag.ErrLimit) {
				t.Errorf("%s: %v is no limit", name, err)
			}
		}
	}
}

func blob(t *testing.T, text string) reference.Reference {
	t.Helper()
	r, err := reference.Parse(text, reference.Blob)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
