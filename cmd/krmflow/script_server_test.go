package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/rogpeppe/go-internal/testscript"
)

// A scriptServer is a local server of a script. It logs connections and requests.
type scriptServer struct {
	*httptest.Server
	mu  sync.Mutex
	log []string

	changes atomic.Int64 // number of changed responses, see [scriptServer.misbehave]
}

// serversKey is the key for the servers of a script, which are kept by name.
type serversKey struct{}

// startServer implements server NAME [http|expired]. The server stops with the script. It sets NAME
// to the address, NAME_PORT to the port, and the variables that make krmflow and git trust its
// certificate. It serves
//
//	/..., /files/...    the files below $WORK/NAME
//	/git/...            the repositories below $WORK/NAME
//	/private/...        the same, for the user me with the password hunter2
//	/v2/NAME/...        the files in $WORK/NAME/NAME, as an artifact with one version
//	/bad/BEHAVIOUR/...  wrong behaviour, see [misbehave]
func startServer(ts *testscript.TestScript, args []string) {
	s, dir := &scriptServer{}, ts.MkAbs(args[0])
	mux := http.NewServeMux()
	files := http.FileServer(http.Dir(dir))
	mux.Handle("/", files)
	mux.Handle("/files/", http.StripPrefix("/files/", files))
	mux.Handle("/git/", gitBackend(ts, "/git", dir))
	private := gitBackend(ts, "/private", dir)
	mux.HandleFunc("/private/", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "hunter2" {
			w.Header().Set("WWW-Authenticate", "Basic realm=x")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		private.ServeHTTP(w, r)
	})
	mux.HandleFunc("/bad/", s.misbehave)
	mux.HandleFunc("/v2/{name}/{kind}/{ref}", func(w http.ResponseWriter, r *http.Request) {
		serveArtifact(w, r, filepath.Join(dir, r.PathValue("name")))
	})
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note := r.Method + " " + r.URL.String()
		for _, name := range []string{"Authorization", "Cookie", "Referer"} {
			if r.Header.Get(name) != "" {
				note += " with " + name
			}
		}
		s.note(note)
		mux.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.note("connection")
		}
	}
	if kind := args[1:]; len(kind) == 1 && kind[0] == "http" {
		s.Start()
	} else {
		s.startTLS(ts, len(kind) == 1 && kind[0] == "expired")
	}
	ts.Value(serversKey{}).(map[string]*scriptServer)[args[0]] = s
	ts.Setenv(args[0], s.URL)
	ts.Setenv(args[0]+"_PORT", fmt.Sprint(s.Listener.Addr().(*net.TCPAddr).Port))
	ts.Defer(func() { s.CloseClientConnections(); s.Close() })
}

// startTLS starts the server with its own certificate for 127.0.0.1 and sets the variables of the
// script that name it.
func (s *scriptServer) startTLS(ts *testscript.TestScript, expired bool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	end := time.Now().Add(24 * time.Hour)
	if expired {
		end = time.Now().Add(-time.Hour)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: end.Add(-48 * time.Hour), NotAfter: end,
		IPAddresses: []net.IP{{127, 0, 0, 1}},
		IsCA:        true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	ts.Check(err)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	file := ts.MkAbs(".authorities")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer f.Close()
	ts.Check(pem.Encode(f, &pem.Block{Type: "CERTIFICATE", Bytes: der}))
	ts.Setenv("SSL_CERT_FILE", file)
	ts.Setenv("GIT_SSL_CAINFO", file)
}

func gitBackend(ts *testscript.TestScript, root, dir string) http.Handler {
	path, err := exec.Command("git", "--exec-path").Output()
	ts.Check(err)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := cgi.Handler{
			Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"), Root: root, Stderr: io.Discard,
			Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + dir,
				"GIT_PROTOCOL=" + r.Header.Get("Git-Protocol")},
		}
		h.ServeHTTP(w, r)
	})
}

// serveArtifact answers like a registry: it serves the manifest of an artifact with the files in
// dir, or one of the files.
func serveArtifact(w http.ResponseWriter, r *http.Request, dir string) {
	type layer struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	empty := layer{"application/vnd.oci.empty.v1+json", krm.DigestOf([]byte("{}")).String(), 2, nil}
	blobs, layers := map[string][]byte{empty.Digest: []byte("{}")}, []layer{}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		digest := krm.DigestOf(data).String()
		blobs[digest] = data
		mediaType := "text/plain"
		if strings.HasSuffix(file, ".tgz") {
			mediaType = remote.ChartLayer
		}
		layers = append(layers, layer{mediaType, digest, len(data),
			map[string]string{"org.opencontainers.image.title": filepath.Base(file)}})
	}
	const media = "application/vnd.oci.image.manifest.v1+json"
	manifest, _ := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": media, "artifactType": "text/plain", "config": empty,
		"layers": layers})
	data, ok := blobs[r.PathValue("ref")]
	if r.PathValue("kind") == "tags" {
		data, ok = []byte(`{"tags": ["latest", "1.2.3"]}`), true
	}
	if r.PathValue("kind") == "manifests" {
		data, ok = manifest, true
		w.Header().Set("Content-Type", media)
		w.Header().Set("Docker-Content-Digest", krm.DigestOf(manifest).String())
	}
	if !ok {
		w.WriteHeader(http.StatusNotFound)
	}
	w.Write(data)
}

func (s *scriptServer) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, text)
}

// count returns the number of logged connections and requests that match a pattern.
func (s *scriptServer) count(pattern *regexp.Regexp) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.log {
		if pattern.MatchString(line) {
			n++
		}
	}
	return n
}

// requests implements requests NAME COUNT PATTERN, which checks how many log lines of a server
// match a pattern, and requests NAME forget, which removes the lines. A line is "connection", or
// "GET /path", in some cases followed by " with Authorization".
func requests(ts *testscript.TestScript, args []string) {
	s := ts.Value(serversKey{}).(map[string]*scriptServer)[args[0]]
	if s == nil {
		ts.Fatalf("there is no server %s", args[0])
	}
	if len(args) == 2 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = nil
		return
	}
	pattern, err := regexp.Compile(args[2])
	ts.Check(err)
	if n := s.count(pattern); fmt.Sprint(n) != args[1] {
		ts.Fatalf("%d requests are like %s, want %s:\n%s", n, pattern, args[1], strings.Join(s.log, "\n"))
	}
}

const someYAML = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"

// misbehave answers as the second part of the path says. All content is a ConfigMap.
func (s *scriptServer) misbehave(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	header := w.Header()
	switch parts[2] {
	case "silent": // no answer
		<-r.Context().Done()
	case "drip": // never ends
		io.WriteString(w, someYAML)
		for give(w, r, "#") {
			time.Sleep(50 * time.Millisecond)
		}
	case "endless":
		io.WriteString(w, someYAML)
		for chunk := strings.Repeat("#", 1<<16); give(w, r, chunk); {
		}
	case "compressed":
		header.Set("Content-Encoding", "gzip")
		io.WriteString(w, someYAML)
	case "truncated":
		header.Set("Content-Length", "200")
		io.WriteString(w, someYAML)
	case "to": // redirects to the query
		to := r.URL.RawQuery
		if to == "" {
			to = r.URL.Path + "x"
		}
		header.Set("Location", to)
		w.WriteHeader(http.StatusFound)
	case "html":
		io.WriteString(w, "<!DOCTYPE html><html><body>Sign in</body></html>")
	case "status": // the third part of the path; the query is the time to retry
		header.Set("Retry-After", r.URL.RawQuery)
		code := 0
		fmt.Sscan(parts[3], &code)
		w.WriteHeader(code)
	case "busy": // twice
		if s.count(regexp.MustCompile("/bad/busy/")) < 3 {
			header.Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, someYAML)
	case "changing": // different each time
		fmt.Fprintf(w, "%sdata: {version: %q}\n", someYAML, fmt.Sprint(s.changes.Add(1)))
	}
}

// give sends a text and reports whether the client still reads it.
func give(w http.ResponseWriter, r *http.Request, text string) bool {
	_, err := io.WriteString(w, text)
	w.(http.Flusher).Flush()
	return err == nil && r.Context().Err() == nil
}

// commitFiles implements commit REPOSITORY FOLDER [TAG]. It commits all files of a folder to the
// branch main of a bare repository, which it creates if necessary, and sets COMMIT. The same files
// make the same commit.
func commitFiles(ts *testscript.TestScript, args []string) {
	repository, folder := ts.MkAbs(args[0]), ts.MkAbs(args[1])
	run := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = folder
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + repository, "GIT_DIR=" + repository, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@b", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			ts.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if _, err := os.Stat(repository); err != nil {
		run("init", "-q", "--bare", "-b", "main", repository)
	}
	run("--work-tree="+folder, "add", "-A")
	run("--work-tree="+folder, "commit", "-q", "--allow-empty", "-m", "x")
	if len(args) == 3 {
		run("tag", "-a", "-m", "x", args[2])
	}
	ts.Setenv("COMMIT", run("rev-parse", "HEAD"))
}

// expand implements expand FILE... It replaces $NAME and ${NAME} in files with the values of
// variables.
func expand(ts *testscript.TestScript, files []string) {
	for _, file := range files {
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(os.Expand(ts.ReadFile(file), ts.Getenv)), 0o666))
	}
}
