package remote

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// A registryServer is a local registry, with or without TLS.
type registryServer struct {
	host, url, user string
	client          *http.Client
	transport       *http.Transport
}

// serveRegistry starts a registry, with users if it has TLS.
func serveRegistry(t *testing.T, secure bool) *registryServer {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("docker-registry is not installed: apt-get install docker-registry")
	}
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &registryServer{host: l.Addr().String(), transport: &http.Transport{}}
	l.Close()
	config := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s/data}}\nhttp: {addr: %s%%s}\n",
		dir, r.host)
	if secure {
		pool := certificate(t, dir)
		r.transport.TLSClientConfig = &tls.Config{RootCAs: pool}
		config = fmt.Sprintf(config, fmt.Sprintf(", tls: {certificate: %s/cert.pem, key: %s/key.pem}", dir, dir))
		config += fmt.Sprintf("auth: {htpasswd: {realm: x, path: %s/htpasswd}}\n", dir)
		write(t, filepath.Join(dir, "htpasswd"), "me:$2a$04$l3Ri0/Wt86T3g.jJCuAk3.0gQCIqe3wxQxV9b3Yy7iXPf0450Fv16\n")
		r.url, r.user = "https://"+r.host, "me"
	} else {
		config = fmt.Sprintf(config, "")
		r.url = "http://" + r.host
	}
	r.client = &http.Client{Transport: r.transport.Clone()}
	write(t, filepath.Join(dir, "config.yml"), config)
	cmd := exec.Command(program, "serve", filepath.Join(dir, "config.yml"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 200 {
		if resp, err := r.client.Get(r.url + "/v2/"); err == nil {
			resp.Body.Close()
			return r
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatal("the registry does not answer")
	return nil
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// certificate makes a certificate for this machine.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{{127, 0, 0, 1}},
		IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(t, filepath.Join(dir, "cert.pem"), cert)
	write(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(cert))
	return pool
}

// push stores an artifact and returns the digest of its manifest.
func (r *registryServer) push(t *testing.T, name, tag string, layers ...Layer) krm.Digest {
	t.Helper()
	if r.user != "" {
		path := filepath.Join(t.TempDir(), "auth.json")
		write(t, path, fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, r.host, base64.StdEncoding.EncodeToString([]byte(r.user+":canary"))))
		t.Setenv("REGISTRY_AUTH_FILE", path)
	}
	v, err := session(t, Options{Transport: r.transport}).Push(t.Context(), parse(t, "oci://"+r.host+"/"+name+":"+tag), Artifact{Type: "application/x-test", Layers: layers})
	if err != nil {
		t.Fatal(err)
	}
	return v.Digest
}

const catalogType = "application/vnd.cncf.kubernetes.krm-func-catalog.layer.v1+yaml"

func TestOCI(t *testing.T) {
	srv := serveRegistry(t, false)
	first := srv.push(t, "org/cat", "v1", Layer{catalogType, "catalog.yaml", []byte("1")})
	second := srv.push(t, "org/cat", "v2", Layer{catalogType, "catalog.yaml", []byte("2")})
	s := session(t, Options{})
	base := "oci://" + srv.host + "/org/cat"
	for text, want := range map[string]string{base + ":v1": "1", base + ":v2": "2", base + "@" + first.String(): "1",
		base + ":v1@" + second.String(): "2"} {
		if got, err := read(t, s, text); got != want || err != nil {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	c, err := s.Open(t.Context(), parse(t, base+":v1"), FromUser)
	if err != nil || c.Version.Digest != first || c.Reference.String() != base+":v1@"+first.String() || c.MediaType != catalogType {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{base + ":v3", base + "@" + krm.DigestOf([]byte("x")).String(), "oci://" + srv.host + "/org/none:v1"} {
		if _, err := read(t, s, text); !errors.Is(err, ErrRetrieval) || !strings.Contains(err.Error(), "no such artifact") {
			t.Errorf("%s: %v", text, err)
		}
	}
	// A cached artifact with a digest needs no registry, but a tag does.
	offline := session(t, Options{Cache: s.opt.Cache, Offline: true})
	if got, err := read(t, offline, base+"@"+first.String()); got != "1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	var missing *OfflineError
	if _, err := read(t, offline, base+":v1"); !errors.As(err, &missing) {
		t.Error(err)
	}
	damage(t, s.opt.Cache)
	offline = session(t, offline.opt)
	if _, err := read(t, offline, base+"@"+first.String()); !errors.As(err, &missing) {
		t.Error(err)
	}
	if got, err := read(t, session(t, Options{Cache: s.opt.Cache}), base+"@"+first.String()); got != "1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestOCITrees(t *testing.T) {
	srv := serveRegistry(t, false)
	tgz := string(archives(t, tarFile("d/x.yaml"), tarFile("d/y.yaml"))[".tar.gz"])
	packed := srv.push(t, "org/packed", "v1", Layer{"application/vnd.cncf.flux.content.v1.tar+gzip", "", []byte(tgz)})
	srv.push(t, "org/files", "v1", Layer{"text/yaml", "a/x.yaml", []byte("1")}, Layer{"text/yaml", "b.yaml", []byte("2")})
	srv.push(t, "org/odd", "v1", Layer{"text/yaml", "x.yaml", []byte("1")}, Layer{"application/x.tar", "y", []byte("2")})
	srv.push(t, "org/out", "v1", Layer{"text/yaml", "../x.yaml", []byte("1")}, Layer{"text/yaml", "x", []byte("2")})
	s := session(t, Options{})
	base := "oci://" + srv.host + "/org/"
	for text, want := range map[string]string{base + "packed:v1//d/x.yaml": "1\n", base + "files:v1//a/x.yaml": "1",
		base + "files:v1//b.yaml": "2"} {
		if got, err := read(t, s, text); got != want || err != nil {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{base + "odd:v1", base + "out:v1", base + "files:v1//none"} {
		if got, err := read(t, s, text); !errors.Is(err, ErrRetrieval) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	c, err := s.Open(t.Context(), parse(t, base+"packed@"+packed.String()), FromUser)
	if err != nil {
		t.Fatal(err)
	}
	damage(t, s.opt.Cache)
	if data, err := c.Tree.ReadFile("d/y.yaml"); string(data) != "1\n" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// Registries that require authentication get the credentials that the user has stored for them in
// the files of docker and podman. Other registries get none.
func TestOCICredentials(t *testing.T) {
	srv := serveRegistry(t, true)
	d := srv.push(t, "org/cat", "v1", Layer{catalogType, "", []byte("1")})
	auth := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, srv.host, base64.StdEncoding.EncodeToString([]byte("me:canary")))
	text := "oci://" + srv.host + "/org/cat:v1"
	for _, path := range []string{"", ".docker/config.json", ".config/containers/auth.json", "run/containers/auth.json"} {
		home := t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("XDG_CONFIG_HOME", "")
		t.Setenv("DOCKER_CONFIG", "")
		t.Setenv("REGISTRY_AUTH_FILE", "")
		t.Setenv("XDG_RUNTIME_DIR", filepath.Join(home, "run"))
		s := session(t, Options{Transport: srv.transport})
		if path != "" {
			write(t, filepath.Join(home, path), auth)
			if got, err := read(t, s, text); got != "1" || err != nil {
				t.Errorf("%s: %q, %v", path, got, err)
			}
			continue
		}
		if _, err := read(t, s, text); !errors.Is(err, ErrRetrieval) || !strings.Contains(err.Error(), "podman login") {
			t.Error(err)
		}
	}
	if _, err := read(t, session(t, Options{}), "oci://"+srv.host+"/org/cat@"+d.String()); !errors.Is(err, ErrRetrieval) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: %v", err)
	}
}

// A proxy in front of a registry counts requests and returns false data.
func TestOCILies(t *testing.T) {
	srv := serveRegistry(t, false)
	d := srv.push(t, "org/cat", "v1", Layer{catalogType, "", []byte("honest")})
	srv.push(t, "org/large", "v1", Layer{catalogType, "", []byte(strings.Repeat("x", 5000))})
	target, _ := url.Parse(srv.url)
	var manifests, blobs atomic.Int64
	var lie atomic.Value
	lie.Store("")
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			isBlob := strings.Contains(r.Request.URL.Path, "/blobs/")
			if isBlob {
				blobs.Add(1)
			} else if strings.Contains(r.Request.URL.Path, "/manifests/") {
				manifests.Add(1)
			}
			if data, err := io.ReadAll(r.Body); err == nil &&
				(lie.Load() == "blob" && isBlob || lie.Load() == "manifest" && !isBlob && r.Request.Method == "GET") {
				r.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("honest"), []byte("h0nest")),
					[]byte("size"), []byte("Size"))))
			} else {
				r.Body = io.NopCloser(bytes.NewReader(data))
			}
			return nil
		}}
	front := httptest.NewServer(proxy)
	defer front.Close()
	host := strings.TrimPrefix(front.URL, "http://")
	for _, what := range []string{"blob", "manifest"} {
		lie.Store(what)
		for _, ref := range []string{":v1", "@" + d.String()} {
			if got, err := read(t, session(t, Options{}), "oci://"+host+"/org/cat"+ref); !errors.Is(err, ErrVerification) {
				t.Errorf("%s %s: %q, %v", what, ref, got, err)
			}
		}
	}
	lie.Store("")
	if _, err := read(t, session(t, Options{MaxBytes: 1000}), "oci://"+host+"/org/large:v1"); !errors.Is(err, diag.ErrLimit) {
		t.Error(err)
	}
	srv.push(t, "org/sum", "v1", Layer{"text/yaml", "a", []byte(strings.Repeat("x", 600))},
		Layer{"text/yaml", "b", []byte(strings.Repeat("y", 600))})
	if _, err := read(t, session(t, Options{MaxBytes: 1000}), "oci://"+host+"/org/sum:v1//a"); !errors.Is(err, diag.ErrLimit) {
		t.Error(err)
	}
	manifests.Store(0)
	blobs.Store(0)
	s := session(t, Options{})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if got, err := read(t, s, "oci://"+host+"/org/cat:v1"); got != "honest" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	if manifests.Load() != 2 || blobs.Load() != 1 {
		t.Errorf("%d requests for manifests and %d for blobs", manifests.Load(), blobs.Load())
	}
}

func TestMediaType(t *testing.T) {
	for text, want := range map[string]string{
		catalogType: "catalog", "application/vnd.cncf.kubernetes.krm-plugin-catalog.layer.v1+yaml": "catalog",
		"application/vnd.cncf.kubernetes.krm-func-definition.layer.v1+yaml": "definition",
		"application/vnd.cncf.kubernetes.krm-plugin-provider-exec.layer.v1": "runtime-exec",
		"application/vnd.cncf.kubernetes.krm-func-runtime-exec.layer.v1":    "runtime-exec", "text/yaml": "",
		"application/vnd.cncf.kubernetes.krm-func-x": "",
	} {
		what, ok := MediaType(text)
		if ok != (want != "") || ok && what != want {
			t.Errorf("%s: %q, %v", text, what, ok)
		}
	}
}

func TestPushIsIdempotent(t *testing.T) {
	srv := serveRegistry(t, false)
	text := "oci://" + srv.host + "/org/cat:v1"
	layers := []Layer{{catalogType, "catalog.yaml", []byte("1")}}
	s := session(t, Options{})
	var digests []krm.Digest
	for range 2 {
		v, err := s.Push(t.Context(), parse(t, text), Artifact{Type: "application/x-test", Layers: layers})
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, v.Digest)
	}
	if v, err := s.Resolve(t.Context(), parse(t, text), FromUser); v.Digest != digests[0] || v.Digest != digests[1] || err != nil {
		t.Errorf("%s, %v, %s", v, err, digests)
	}
	for ref, layers := range map[string][]Layer{
		"oci://" + srv.host + "/org/cat@" + digests[0].String(): layers, "https://example.com/x.yaml": layers, text: nil, text + "//dir": layers,
	} {
		if _, err := s.Push(t.Context(), parse(t, ref), Artifact{Type: "application/x-test", Layers: layers}); err == nil {
			t.Errorf("%s: %d layers are pushed", ref, len(layers))
		}
	}
	none := httptest.NewServer(http.NotFoundHandler())
	defer none.Close()
	text = "oci://" + strings.TrimPrefix(none.URL, "http://") + "/org/cat:v1"
	if _, err := s.Push(t.Context(), parse(t, text), Artifact{Type: "application/x-test", Layers: layers}); !errors.Is(err, ErrRetrieval) ||
		!strings.Contains(err.Error(), "is not writable") {
		t.Error(err)
	}
}
