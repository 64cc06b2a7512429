package remote

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/reference"
)

// A gitServer serves the repositories below dir over TLS and counts fetches.
type gitServer struct {
	*httptest.Server
	dir              string
	fetches, listens atomic.Int64
	handler          atomic.Pointer[func(http.ResponseWriter, *http.Request) bool] // may answer first
}

// needGit returns the folder of git's internal programs. Without git the test is skipped, and in CI
// it fails.
func needGit(t *testing.T) []byte {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip("git is not installed")
	}
	return path
}

func serveGit(t *testing.T) *gitServer {
	t.Helper()
	path := needGit(t)
	g := &gitServer{dir: t.TempDir()}
	backend := &cgi.Handler{
		Path:   filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Stderr: io.Discard,
		Env:    []string{"GIT_PROJECT_ROOT=" + g.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + t.TempDir()},
	}
	g.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := g.handler.Load(); h != nil && (*h)(w, r) {
			return
		}
		if strings.HasSuffix(r.URL.Path, "/info/refs") {
			g.listens.Add(1)
		} else if r.ContentLength > 300 || r.Header.Get("Content-Encoding") != "" || r.Method == "POST" {
			g.fetches.Add(1)
		}
		r.Header.Set("X-Forwarded-Proto", r.Header.Get("Git-Protocol"))
		h := *backend
		h.Env = append(h.Env[:len(h.Env):len(h.Env)], "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"))
		h.ServeHTTP(w, r)
	}))
	g.Config.ErrorLog = quiet
	t.Cleanup(g.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
	if err := os.WriteFile(ca, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSL_CAINFO", ca)
	t.Setenv("HOME", t.TempDir())
	noProxy(t)
	return g
}

// noProxy removes a configured proxy, which cannot reach this machine.
func noProxy(t *testing.T) {
	for _, name := range []string{"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} {
		t.Setenv(name, "")
	}
}

func (g *gitServer) handle(h func(http.ResponseWriter, *http.Request) bool) { g.handler.Store(&h) }

// repo makes a repository name.git with commits, each a set of files, and returns their ids. A text
// "-> x" is a symbolic link.
func (g *gitServer) repo(t *testing.T, name string, commits ...map[string]string) []string {
	t.Helper()
	work, bare := filepath.Join(t.TempDir(), name), filepath.Join(g.dir, name+".git")
	gitIn(t, "", "init", "-q", "-b", "main", work)
	var ids []string
	for i, files := range commits {
		for path, text := range files {
			path = filepath.Join(work, path)
			os.MkdirAll(filepath.Dir(path), 0o755)
			err := error(nil)
			if target, ok := strings.CutPrefix(text, "-> "); ok {
				err = os.Symlink(target, path)
			} else {
				err = os.WriteFile(path, []byte(text), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		gitIn(t, work, "add", "-A")
		gitIn(t, work, "commit", "-q", "-m", "x", "--allow-empty")
		ids = append(ids, gitIn(t, work, "rev-parse", "HEAD"))
		gitIn(t, work, "tag", "-a", "-m", "x", fmt.Sprintf("v%d", i+1))
	}
	gitIn(t, work, "branch", "dev/x_y", ids[0])
	gitIn(t, "", "clone", "-q", "--bare", work, bare)
	return ids
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// session returns a session with a new cache, or with the cache of another session.
func session(t *testing.T, opt Options) *Session {
	t.Helper()
	if opt.Cache == nil {
		c, err := cache.Open(filepath.Join(t.TempDir(), "cache"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		opt.Cache = c
	}
	return NewSession(opt)
}

func parse(t *testing.T, text string) reference.Reference {
	t.Helper()
	r, err := reference.Parse(text, reference.Any)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t *testing.T, s *Session, text string) (string, error) {
	t.Helper()
	c, err := s.Open(t.Context(), parse(t, text), FromUser)
	if err != nil {
		return "", err
	}
	data, err := c.Bytes()
	return string(data), err
}

func TestGitRefs(t *testing.T) {
	g := serveGit(t)
	ids := g.repo(t, "r", map[string]string{"a/x.yaml": "1"}, map[string]string{"a/x.yaml": "2"}, map[string]string{"a/x.yaml": "3"})
	for _, base := range []string{g.URL + "/r.git", "file://" + g.dir + "/r.git"} {
		s := session(t, Options{})
		for ref, want := range map[string]string{
			"": "3", "?ref=main": "3", "?ref=v1": "1", "?ref=refs/tags/v2": "2", "?ref=dev/x_y": "1", "?ref=tags/v2": "2",
			"?version=v2": "2", "?ref=" + ids[1]: "2",
		} {
			if got, err := read(t, s, base+"//a/x.yaml"+ref); got != want || err != nil {
				t.Errorf("%s%s: %q, %v; want %q", base, ref, got, err, want)
			}
		}
		if got, err := read(t, s, base+"/a/x.yaml@dev/x_y"); got != "1" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		for _, ref := range []string{"nothing", ids[0][:10], strings.Repeat("0", 40)} {
			if _, err := read(t, s, base+"//a/x.yaml?ref="+ref); !errors.Is(err, ErrRetrieval) {
				t.Errorf("%s: %v", ref, err)
			}
		}
	}
}

// Servers with the first version of the protocol serve only named refs.
func TestGitOldServer(t *testing.T) {
	g := serveGit(t)
	ids := g.repo(t, "r", map[string]string{"x": "1"}, map[string]string{"x": "2"})
	g.handle(func(w http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("Git-Protocol")
		return false
	})
	for ref, want := range map[string]string{"": "2", "?ref=v1": "1", "?ref=dev/x_y": "1", "?ref=" + ids[1]: "2"} {
		if got, err := read(t, session(t, Options{}), g.URL+"/r.git//x"+ref); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", ref, got, err, want)
		}
	}
}

// However many callers request however many paths, a repository is asked once for the ref and once
// for the commit.
func TestGitOncePerRun(t *testing.T) {
	g := serveGit(t)
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("d%d/x.yaml", i)] = fmt.Sprint(i)
	}
	ids := g.repo(t, "r", files)
	var states []State
	s := session(t, Options{Progress: func(e Event) { states = append(states, e.State) }})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if got, err := read(t, s, fmt.Sprintf("%s/r.git//d%d/x.yaml?ref=main", g.URL, i)); got != fmt.Sprint(i) || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	if fmt.Sprint(states) != "[asking done started done]" {
		t.Error(states)
	}
	// The first call of git asks for the list of refs, the second for the commit.
	if n := g.listens.Load(); n != 2 {
		t.Errorf("git has connected %d times", n)
	}
	before := g.listens.Load() + g.fetches.Load()
	again := session(t, Options{Cache: s.opt.Cache, Offline: true})
	if got, err := read(t, again, g.URL+"/r.git//d7/x.yaml?ref="+ids[0]); got != "7" || err != nil {
		t.Errorf("offline: %q, %v", got, err)
	}
	var offline *OfflineError
	if _, err := read(t, again, g.URL+"/r.git//d7/x.yaml?ref=main"); !errors.As(err, &offline) {
		t.Errorf("offline, a branch: %v", err)
	}
	again = session(t, Options{Cache: s.opt.Cache})
	if got, err := read(t, again, g.URL+"/r.git//d7/x.yaml?ref="+ids[0]); got != "7" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if n := g.listens.Load() + g.fetches.Load(); n != before {
		t.Errorf("%d more requests for a commit that is in the cache", n-before)
	}
}

func TestGitTree(t *testing.T) {
	g := serveGit(t)
	g.repo(t, "r", map[string]string{
		"base/kustomization.yaml": "k", "link": "-> base", "out": "-> ../../etc", ".gitattributes": "*.yaml filter=evil export-ignore\n",
		"base/crlf.yaml": "a\r\n",
	})
	s := session(t, Options{})
	for path, want := range map[string]string{"base/kustomization.yaml": "k", "link/kustomization.yaml": "k", "base/crlf.yaml": "a\r\n"} {
		if got, err := read(t, s, g.URL+"/r.git//"+path); got != want || err != nil {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	var escape *cache.EscapeError
	if _, err := read(t, s, g.URL+"/r.git//out/passwd"); !errors.As(err, &escape) {
		t.Error(err)
	}
	_, err := read(t, s, g.URL+"/r.git//nothing")
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `no "nothing"`) {
		t.Error(err)
	}
	if _, err := read(t, session(t, Options{MaxTree: cache.Limits{Files: 2}}), g.URL+"/r.git"); !errors.Is(err, diag.ErrLimit) {
		t.Errorf("too many files: %v", err)
	}
}

// git starts no program for a fetch, whatever the user has configured for working copies and
// whatever a repository contains.
func TestGitStartsNothing(t *testing.T) {
	g := serveGit(t)
	g.repo(t, "r", map[string]string{".gitattributes": "* filter=evil diff=evil\n", "x.yaml": "1",
		".gitmodules": "[submodule \"s\"]\n\tpath = s\n\turl = ext::touch% canary\n"})
	canary := filepath.Join(t.TempDir(), "canary")
	hooks := t.TempDir()
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"} {
		write(t, filepath.Join(hooks, hook), "#!/bin/sh\ntouch "+canary+"\n")
		os.Chmod(filepath.Join(hooks, hook), 0o700)
	}
	evil := "touch " + canary
	write(t, filepath.Join(os.Getenv("HOME"), ".gitconfig"),
		fmt.Sprintf(
			"[core]\n\thooksPath = %s\n\tfsmonitor = %q\n\tpager = %q\n\taskPass = %q\n[filter \"evil\"]\n\tsmudge = %q\n\tclean = %q\n"+
				"[init]\n\ttemplateDir = %s\n[protocol]\n\tallow = always\n[submodule]\n\trecurse = true\n[fetch]\n\trecurseSubmodules = true\n",
			hooks, evil, evil, evil, evil, evil, hooks))
	if got, err := read(t, session(t, Options{}), g.URL+"/r.git//x.yaml"); got != "1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a program was started")
	}
}

// Repositories over ssh use the user's ssh, without a terminal for questions.
func TestGitSSH(t *testing.T) {
	g := serveGit(t)
	g.repo(t, "r", map[string]string{"x": "1"})
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ssh"), "#!/bin/sh\n(: </dev/tty) 2>/dev/null && touch "+dir+"/terminal\necho \"$@\" >>"+
		dir+"/calls\nfor last; do :; done\nexec sh -c \"$last\"\n")
	t.Setenv("GIT_SSH_COMMAND", "sh "+filepath.Join(dir, "ssh"))
	t.Setenv("GIT_SSH_VARIANT", "ssh")
	for _, text := range []string{"git@host:" + g.dir + "/r.git//x", "ssh://git@host:2222" + g.dir + "/r.git//x?ref=main", "git::ssh://git@host" + g.dir + "/r.git//x", "git@host:" + g.dir + "/r.git/x@v1"} {
		if got, err := read(t, session(t, Options{}), text); got != "1" || err != nil {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil || !strings.Contains(string(calls), "-p 2222 git@host git-upload-pack") {
		t.Errorf("%s %v", calls, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "terminal")); err == nil {
		t.Error("ssh has a terminal")
	}
}

// git knows the setting that pins a host name to the checked addresses.
func TestGitResolvesAsTold(t *testing.T) {
	g := serveGit(t)
	g.repo(t, "r", map[string]string{"x": "1"})
	u, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "http.curloptResolve")
	t.Setenv("GIT_CONFIG_VALUE_0", "example.com:"+u.Port()+":127.0.0.1")
	if got, err := read(t, session(t, Options{}), "https://example.com:"+u.Port()+"/r.git//x"); got != "1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A damaged file in the cache is fetched again, even while the tree is in use.
func TestGitDamage(t *testing.T) {
	g := serveGit(t)
	ids := g.repo(t, "r", map[string]string{"x.yaml": strings.Repeat("x", 1000)})
	opt := Options{Cache: session(t, Options{}).opt.Cache}
	for range 2 {
		c, err := session(t, opt).Open(t.Context(), parse(t, g.URL+"/r.git//x.yaml?ref="+ids[0]), FromUser)
		if err != nil {
			t.Fatal(err)
		}
		damage(t, opt.Cache)
		if data, err := c.Bytes(); len(data) != 1000 || err != nil {
			t.Errorf("%d bytes, %v", len(data), err)
		}
		damage(t, opt.Cache)
	}
}

func damage(t *testing.T, c *cache.Cache) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(c.Path(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(path, "/v1/tmp/") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) == 0 {
			return err
		}
		n++
		data[len(data)/2] ^= 1
		return os.WriteFile(path, data, 0o600)
	})
	if err != nil || n == 0 {
		t.Fatalf("%d files, %v", n, err)
	}
}

// A server that never answers costs at most the timeout. After it, git and its folder are gone.
func TestGitTimeout(t *testing.T) {
	g := serveGit(t)
	g.repo(t, "r", map[string]string{"x": "1"})
	stop := make(chan struct{})
	defer close(stop)
	g.handle(func(w http.ResponseWriter, r *http.Request) bool {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
		return true
	})
	s := session(t, Options{})
	start := time.Now()
	_, err := read(t, s, g.URL+"/r.git//x?timeout=1")
	if !errors.Is(err, ErrRetrieval) || !strings.Contains(err.Error(), "longer than 1s") {
		t.Error(err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	if _, err := s.Open(ctx, parse(t, g.URL+"/r.git//x?ref=v1"), FromUser); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.opt.Cache.Path(), "v1/tmp/*/*")); len(left) > 0 {
		t.Errorf("left: %s", left)
	}
	// The children of git are killed with it. They disappear as soon as the system has processed
	// that.
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := processes(g.URL)
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("left: %q", left)
		}
	}
}

// processes returns the command lines that contain a text.
func processes(text string) (lines []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), text) {
			lines = append(lines, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return lines
}

// Credentials in a URL are sent to the server and nowhere else.
func TestGitCredentials(t *testing.T) {
	g := serveGit(t)
	g.repo(t, "r", map[string]string{"x": "1"})
	g.handle(func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		if user == "me" && password == "canary" || user == "canary" && password == "" {
			return false
		}
		w.Header().Set("WWW-Authenticate", "Basic realm=x")
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	for _, user := range []string{"me:canary@", "canary@"} {
		var events []string
		s := session(t, Options{Progress: func(e Event) { events = append(events, e.Reference) }})
		with := strings.Replace(g.URL, "https://", "https://"+user, 1)
		if got, err := read(t, s, with+"/r.git//x?ref=main"); got != "1" || err != nil {
			t.Errorf("%s: %q, %v", user, got, err)
		}
		_, err := read(t, s, with+"/nothing.git//x")
		if err == nil || strings.Contains(err.Error(), "canary") || strings.Contains(strings.Join(events, ""), "canary") {
			t.Errorf("%v\n%s", err, events)
		}
		if out, err := exec.Command("grep", "-r", "canary", s.opt.Cache.Path()).Output(); len(out) > 0 {
			t.Errorf("%s %v", out, err)
		}
	}
	// Credentials configured by the user are used without asking.
	s := session(t, Options{})
	if _, err := read(t, s, g.URL+"/r.git//x"); !errors.Is(err, ErrRetrieval) {
		t.Error(err)
	}
	helper := filepath.Join(os.Getenv("HOME"), ".gitconfig")
	config := "[credential]\n\thelper = \"!f() { echo username=me; echo password=canary; }; f\"\n"
	if err := os.WriteFile(helper, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, session(t, Options{}), g.URL+"/r.git//x"); got != "1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// References in fetched content reach only public hosts.
func TestFromFetched(t *testing.T) {
	g := serveGit(t)
	g.repo(t, "r", map[string]string{"x": "1"})
	s := session(t, Options{})
	for _, text := range []string{
		"file://" + g.dir + "/r.git", g.URL + "/r.git", "ssh://git@host/r.git//x", "git@github.com:org/repo", "https://localhost/r.git", "https://[::1]/r.git", "https://2130706433/r.git",
		"https://0x7f.1/r.git", "https://169.254.169.254/x.yaml", "http://example.com/x.yaml", "https://10.0.0.1/x.yaml", "oci://127.0.0.1:5000/x:v1", "https://[::ffff:10.0.0.1]/x.yaml",
	} {
		if _, err := s.Open(t.Context(), parse(t, text), FromFetched); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if n := g.listens.Load(); n > 0 {
		t.Errorf("%d requests", n)
	}
}
