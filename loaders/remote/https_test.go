package remote

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote/internal/address"
	"github.com/krmflow/krmflow/loaders/remote/internal/archive"
	"github.com/ulikunitz/xz"
)

// A fileServer serves files over TLS and counts requests.
type fileServer struct {
	*httptest.Server
	requests atomic.Int64
}

func serve(t *testing.T, h http.HandlerFunc) *fileServer {
	t.Helper()
	s := &fileServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		h(w, r)
	}))
	s.Config.ErrorLog = quiet
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// options returns options that trust the server's certificate.
func (s *fileServer) options() Options {
	return Options{Transport: s.Client().Transport.(*http.Transport).Clone()}
}

const yamlText = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"

func TestHTTPSOncePerRun(t *testing.T) {
	var n atomic.Int64
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/a//b.yaml?b=2&a=1&archive=x&filename=y&checksumx=1" || r.Method != "GET" ||
			r.Header.Get("User-Agent") != "krmflow" {
			t.Errorf("%s %s %s", r.Method, r.URL, r.Header)
		}
		if r.Header.Get("Authorization")+r.Header.Get("Cookie")+r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("%s", r.Header)
		}
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "1"})
		w.Header().Set("X-Terraform-Get", "file:///etc/passwd")
		fmt.Fprintf(w, "%s# %d\n", yamlText, n.Add(1)) // different each time
	})
	s := session(t, srv.options())
	var all sync.WaitGroup
	text := srv.URL + "/a//b.yaml?b=2&a=1&archive=x&filename=y&checksumx=1"
	for range 20 {
		all.Go(func() {
			if got, err := read(t, s, text); got != yamlText+"# 1\n" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	v, err := s.Resolve(t.Context(), parse(t, text), FromUser)
	if err != nil || v.Digest != krm.DigestOf([]byte(yamlText+"# 1\n")) {
		t.Errorf("%s, %v", v, err)
	}
	if srv.requests.Load() != 1 {
		t.Errorf("%d requests", srv.requests.Load())
	}
	// The next run sees the current content of the server.
	if got, err := read(t, session(t, Options{Cache: s.opt.Cache, Transport: s.opt.Transport}), text); got != yamlText+"# 2\n" ||
		err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestHTTPSPinned(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, yamlText) })
	opt := srv.options()
	right, wrong := krm.DigestOf([]byte(yamlText)), krm.DigestOf([]byte("x"))
	s := session(t, opt)
	if _, err := read(t, s, srv.URL+"/x.yaml?checksum="+wrong.String()); !errors.Is(err, ErrVerification) ||
		!strings.Contains(err.Error(), right.String()) || !strings.Contains(err.Error(), wrong.String()) {
		t.Error(err)
	}
	opt.Cache = s.opt.Cache
	if got, err := read(t, s, srv.URL+"/x.yaml#sha256="+right.String()[7:]); got != yamlText || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	n := srv.requests.Load()
	opt.Offline = true
	if got, err := read(t, session(t, opt), srv.URL+"/x.yaml@"+right.String()); got != yamlText || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	var offline *OfflineError
	if _, err := read(t, session(t, opt), srv.URL+"/x.yaml"); !errors.As(err, &offline) || offline.Reference != srv.URL+"/x.yaml" {
		t.Error(err)
	}
	if srv.requests.Load() != n {
		t.Error("there were requests offline")
	}
	damage(t, opt.Cache)
	if _, err := read(t, session(t, opt), srv.URL+"/x.yaml@"+right.String()); !errors.As(err, &offline) {
		t.Errorf("damaged: %v", err)
	}
}

func TestHTTPSBadServers(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		kind   error
		says   string
		tries  int64 // 0 for as many as time allows
	}{
		"truncated": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "2000")
			io.WriteString(w, long)
		}, ErrRetrieval, "EOF", 1},
		"endless": {func(w http.ResponseWriter, r *http.Request) { flood(w, r) }, diag.ErrLimit, "64 KiB", 1},
		"too long": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100000")
			io.WriteString(w, long)
		}, diag.ErrLimit, "64 KiB", 1},
		"slow":   {func(w http.ResponseWriter, r *http.Request) { trickle(w, r) }, ErrRetrieval, "longer than 1s", 1},
		"silent": {func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ErrRetrieval, "longer than 1s", 1},
		"compressed": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, long)
		}, ErrRetrieval, "encoding", 1},
		"web page": {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "\n<!DOCTYPE html><html>") }, ErrRetrieval,
			"web page", 1},
		"not found":  {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) }, ErrRetrieval, "404 Not Found", 1},
		"no content": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }, ErrRetrieval, "204", 1},
		"part":       {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(206) }, ErrRetrieval, "206", 1},
		"forbidden":  {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401) }, ErrRetrieval, "without credentials", 1},
		"broken": {func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Retry-After", "0"); w.WriteHeader(500) },
			ErrRetrieval, "500", 4},
		"busy for long": {func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Retry-After", "600"); w.WriteHeader(503) },
			ErrRetrieval, "503", 1},
		"to http":    {redirect("http://example.com/x"), ErrRetrieval, "from https to http", 1},
		"to file":    {redirect("file:///etc/passwd"), ErrRetrieval, "from https to file", 1},
		"to another": {redirect("https://example.com/x"), ErrRetrieval, "to example.com", 1},
		"to itself": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) },
			ErrRetrieval, "more than 3 times", 4},
		"hangs up": {func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, ErrRetrieval, "", 0},
		"many headers": {func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X", strings.Repeat("x", 100_000)) }, ErrRetrieval,
			"header", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := serve(t, test.answer)
			opt := srv.options()
			opt.Timeout, opt.MaxBytes = time.Second, 64<<10
			s := session(t, opt)
			start := time.Now()
			got, err := read(t, s, srv.URL+"/dir/canary.yaml?token=secret")
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret") ||
				!strings.Contains(err.Error(), "canary.yaml") {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if n := srv.requests.Load(); n != test.tries && test.tries > 0 {
				t.Errorf("%d requests", n)
			}
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func flood(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := w.Write(make([]byte, 4096)); err != nil {
			return
		}
	}
}

func trickle(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		io.WriteString(w, "a")
		w.(http.Flusher).Flush()
		time.Sleep(50 * time.Millisecond)
	}
}

func TestHTTPSRetries(t *testing.T) {
	var n atomic.Int64
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if i := n.Add(1); i <= 2 {
			w.Header().Set("Retry-After", strconv.Itoa(int(i)-1))
			w.WriteHeader([]int{429, 503}[i-1])
			return
		}
		io.WriteString(w, yamlText)
	})
	var states []State
	opt := srv.options()
	opt.Progress = func(e Event) { states = append(states, e.State) }
	if got, err := read(t, session(t, opt), srv.URL+"/x.yaml"); got != yamlText || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if fmt.Sprint(states) != "[started retrying retrying done]" {
		t.Error(states)
	}
}

// A redirect within a server is followed. A redirect to a different host is followed only with a
// digest, and never with credentials.
func TestHTTPSRedirects(t *testing.T) {
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("credentials for one host are sent to another")
		}
		io.WriteString(w, "other")
	})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "canary" {
			t.Errorf("%q %q", user, password)
		}
		switch r.URL.Path {
		case "/dir/within.yaml":
			w.Header().Set("Location", "x.yaml")
			w.WriteHeader(http.StatusFound)
		case "/dir/x.yaml":
			io.WriteString(w, yamlText)
		default:
			http.Redirect(w, r, other.URL, http.StatusFound)
		}
	})
	with := strings.Replace(srv.URL, "https://", "https://me:canary@", 1)
	s := session(t, srv.options())
	if got, err := read(t, s, with+"/dir/within.yaml"); got != yamlText || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	// A different host must be public, whatever refers to it.
	_, err := read(t, s, with+"/other.yaml?checksum="+krm.DigestOf([]byte("other")).String())
	if !errors.Is(err, address.ErrNotPublic) || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
	if other.requests.Load() > 0 {
		t.Error("a redirection reached an address of this machine")
	}
}

func TestHTTPSCertificates(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, yamlText) })
	if _, err := read(t, session(t, Options{}), srv.URL+"/x.yaml"); !errors.Is(err, ErrRetrieval) ||
		!strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
	if srv.requests.Load() > 0 {
		t.Error("it was asked all the same")
	}
	closed := serve(t, nil)
	closed.Close()
	if _, err := read(t, session(t, closed.options()), closed.URL+"/x.yaml"); !errors.Is(err, ErrRetrieval) ||
		!strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
}

func TestPlainHTTP(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, yamlText) }))
	defer srv.Close()
	if got, err := read(t, session(t, Options{}), srv.URL+"/x.yaml"); got != yamlText || err != nil {
		t.Errorf("on this machine: %q, %v", got, err)
	}
	s := session(t, Options{Offline: true})
	for text, want := range map[string]bool{
		"http://example.com/x.yaml": false, "http://example.com/x.yaml?checksum=" + krm.DigestOf([]byte("x")).String(): true, "http://example.com/r.git?ref=main": false,
		"http://example.com/r.git?ref=" + strings.Repeat("1", 40): true,
	} {
		_, err := s.Open(t.Context(), parse(t, text), FromUser)
		if errors.Is(err, ErrRefused) == want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A URL that may name a file or a repository is a file if that exists.
func TestAmbiguousURLPrefersFile(t *testing.T) {
	g := serveGit(t)
	ids := g.repo(t, "org/r", map[string]string{"d/x": "1"})
	var there atomic.Bool
	g.handle(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/org/r/d" && !there.Load() {
			io.WriteString(w, "<html>")
			return true
		}
		r.URL.Path = strings.Replace(r.URL.Path, "/org/r/info", "/org/r.git/info", 1)
		r.URL.Path = strings.Replace(r.URL.Path, "/org/r/git-upload", "/org/r.git/git-upload", 1)
		return false
	})
	for range 2 {
		s := session(t, Options{Transport: g.Client().Transport.(*http.Transport)})
		c, err := s.Open(t.Context(), parse(t, g.URL+"/org/r/d?ref=v1"), FromUser)
		if err != nil {
			t.Fatal(err)
		}
		if c.Tree == nil || c.Version.Commit != ids[0] || c.Reference.Path != "d" || c.Reference.Location != g.URL+"/org/r" ||
			c.Reference.Mutable() {
			t.Errorf("%+v", c)
		}
		there.Store(true)
	}
	// Once the URL is known to be a repository, a pinned commit needs no network.
	there.Store(false)
	s := session(t, Options{Transport: g.Client().Transport.(*http.Transport)})
	text := g.URL + "/org/r/d?ref=" + ids[0]
	if _, err := s.Open(t.Context(), parse(t, text), FromUser); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, session(t, Options{Cache: s.opt.Cache, Offline: true}), text[:strings.Index(text, "?")]+"/x?ref="+
		ids[0]); got != "1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func archives(t *testing.T, files ...tar.Header) map[string][]byte {
	var tgz, zipped bytes.Buffer
	gz := gzip.NewWriter(&tgz)
	tw, zw := tar.NewWriter(gz), zip.NewWriter(&zipped)
	for _, h := range files {
		text := "1\n"
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Size = 2; h.Typeflag != tar.TypeReg {
			h.Size, text = 0, ""
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(tw, text)
		zh := &zip.FileHeader{Name: h.Name}
		zh.SetMode(h.FileInfo().Mode())
		f, err := zw.CreateHeader(zh)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, text+h.Linkname)
	}
	if err := errors.Join(tw.Close(), gz.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	var xzed bytes.Buffer
	plain, err := gzip.NewReader(bytes.NewReader(tgz.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	tarred, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	xw, err := xz.NewWriter(&xzed)
	if err != nil {
		t.Fatal(err)
	}
	zs, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := xw.Write(tarred); err != nil {
		t.Fatal(err)
	}
	if err := xw.Close(); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{".tar.gz": tgz.Bytes(), ".zip": zipped.Bytes(), ".tar.xz": xzed.Bytes(), ".tar.zst": zs.EncodeAll(tarred, nil)}
}

func tarFile(name string) tar.Header { return tar.Header{Name: name} }

func TestArchivesAreUnpackedSafely(t *testing.T) {
	good := archives(t, tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, tar.Header{Name: "top/", Typeflag: tar.TypeDir,
		Mode: 0o755}, tar.Header{Name: "top/x.yaml"}, tar.Header{Name: "top/run", Mode: 0o755},
		tar.Header{Name: "top/link", Typeflag: tar.TypeSymlink, Linkname: "x.yaml"})
	for suffix, data := range good {
		srv := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(data) })
		s := session(t, srv.options())
		text := srv.URL + "/a" + suffix + "//top/link?checksum=" + krm.DigestOf(data).String()
		for range 2 {
			if got, err := read(t, s, text); got != "1\n" || err != nil {
				t.Errorf("%s: %q, %v", suffix, got, err)
			}
			s = session(t, Options{Cache: s.opt.Cache, Offline: true})
		}
		if srv.requests.Load() != 1 {
			t.Errorf("%d requests", srv.requests.Load())
		}
		named := srv.URL + "/get//top/link?archive=" + suffix[1:] + "&id=1&checksum=" + krm.DigestOf(data).String()
		if got, err := read(t, session(t, srv.options()), named); got != "1\n" || err != nil {
			t.Errorf("%s: %q, %v", named, got, err)
		}
		for n := range len(data) / 50 {
			cut := data[:n*50]
			if _, err := archive.Unpack(s.opt.Cache, archive.Limits, cut); err == nil {
				t.Errorf("%s: %d of %d bytes are an archive", suffix, len(cut), len(data))
			}
		}
	}
	for name, h := range map[string][]tar.Header{
		"out":      {{Name: "../x"}},
		"deep out": {{Name: "a/../../x"}},
		"absolute": {{Name: "/etc/x"}},
		"twice":    {{Name: "x"}, {Name: "x"}},
		"case":     {{Name: "x"}, {Name: "X"}},
		"below":    {{Name: "x"}, {Name: "x/y"}},
		"device":   {{Name: "x", Typeflag: tar.TypeChar}},
		"fifo":     {{Name: "x", Typeflag: tar.TypeFifo}},
		"setuid":   {{Name: "x", Mode: 0o4755}},
		"link out": {{Name: "a/x", Typeflag: tar.TypeSymlink, Linkname: "../../y"}},
		"link abs": {{Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}},
		"many":     {{Name: "1"}, {Name: "2"}, {Name: "3"}, {Name: "4"}},
		"dos":      {{Name: `..\x`}},
	} {
		for suffix, data := range archives(t, h...) {
			limits := archive.Limits
			limits.Files = 3
			if _, err := archive.Unpack(session(t, Options{}).opt.Cache, limits, data); err == nil {
				t.Errorf("%s%s is unpacked", name, suffix)
			}
		}
	}
	hard := archives(t, tar.Header{Name: "x"}, tar.Header{Name: "y", Typeflag: tar.TypeLink, Linkname: "x"})[".tar.gz"]
	if _, err := archive.Unpack(session(t, Options{}).opt.Cache, archive.Limits, hard); err == nil {
		t.Error("a hard link is unpacked")
	}
	bomb := bytes.Buffer{}
	gz := gzip.NewWriter(&bomb)
	tw := tar.NewWriter(gz)
	tw.WriteHeader(&tar.Header{Name: "x", Size: 20 << 20, Mode: 0o644})
	tw.Write(make([]byte, 20<<20))
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	// Other data, such as headers, is also subject to the size limit.
	headers := bytes.Buffer{}
	gz = gzip.NewWriter(&headers)
	tw = tar.NewWriter(gz)
	for range 80 {
		tw.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header",
			PAXRecords: map[string]string{"comment": strings.Repeat("x", 1<<20-100)}})
	}
	tw.WriteHeader(&tar.Header{Name: "x", Mode: 0o644})
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	many := append([]byte("PK"), bytes.Repeat([]byte("PK\x01\x02"), 100_000)...)
	if _, err := archive.Unpack(session(t, Options{}).opt.Cache, archive.Limits, many); !errors.Is(err, diag.ErrLimit) {
		t.Error(err)
	}
	limits := archive.Limits
	limits.Bytes = 1 << 20
	for name, data := range map[string][]byte{"a file": bomb.Bytes(), "headers": headers.Bytes()} {
		if _, err := archive.Unpack(session(t, Options{}).opt.Cache, limits, data); !errors.Is(err, diag.ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	for _, data := range archives(nil, tar.Header{Name: "a/x"}, tar.Header{Name: "a/l", Typeflag: tar.TypeSymlink, Linkname: "x"}) {
		f.Add(data)
	}
	c, err := cache.Temporary()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := archive.Unpack(c, cache.Limits{Files: 20, Bytes: 1 << 20}, data)
		if err != nil {
			return
		}
		defer tree.Close()
		err = fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			_, err = tree.ReadFile(name)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestCancelledIsAskedAgain(t *testing.T) {
	var n atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			cancel()
			<-r.Context().Done()
			return
		}
		io.WriteString(w, yamlText)
	})
	s := session(t, srv.options())
	if _, err := s.Open(ctx, parse(t, srv.URL+"/x.yaml"), FromUser); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got, err := read(t, s, srv.URL+"/x.yaml"); got != yamlText || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// The options limit the number of concurrent fetches, and each fetch is reported.
func TestParallelFetchesAreLimited(t *testing.T) {
	var now, most, done atomic.Int64
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(20 * time.Millisecond)
		now.Add(-1)
		io.WriteString(w, yamlText)
	})
	opt := srv.options()
	opt.Parallel = 3
	opt.Progress = func(e Event) {
		if e.State == Done {
			done.Add(1)
		}
	}
	s := session(t, opt)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if _, err := read(t, s, fmt.Sprintf("%s/%d.yaml", srv.URL, i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most.Load() != 3 || done.Load() != 12 {
		t.Errorf("%d at the same time, %d done", most.Load(), done.Load())
	}
}
