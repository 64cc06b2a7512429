package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// digest implements digest FILE VARIABLE. It sets a variable to the SHA-256 of a file, in
// hexadecimal digits.
func digest(ts *testscript.TestScript, args []string) {
	ts.Setenv(args[1], fmt.Sprintf("%x", sha256.Sum256([]byte(ts.ReadFile(args[0])))))
}

// archive implements archive FILE.tgz|FILE.zip ENTRY=FILE... The file name extension selects the
// format.
func archive(ts *testscript.TestScript, args []string) {
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	var add func(name, data string)
	var end func() error
	if strings.HasSuffix(args[0], ".zip") {
		w := zip.NewWriter(&b)
		add = func(name, data string) {
			f, err := w.Create(name)
			ts.Check(err)
			io.WriteString(f, data)
		}
		end = w.Close
	} else {
		w := tar.NewWriter(packed)
		add = func(name, data string) {
			ts.Check(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), Typeflag: tar.TypeReg}))
			io.WriteString(w, data)
		}
		end = func() error { w.Close(); return packed.Close() }
	}
	for _, arg := range args[1:] {
		name, file, _ := strings.Cut(arg, "=")
		add(name, ts.ReadFile(file))
	}
	ts.Check(end())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}

// startRegistry implements registry NAME [HTPASSWD]. It starts a local registry that stops with the
// script, and sets NAME to its address. Only the users in HTPASSWD may log in.
func startRegistry(ts *testscript.TestScript, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	address := l.Addr().String()
	l.Close()
	dir := ts.MkAbs("." + args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	config := fmt.Sprintf(
		"version: 0.1\nlog: {accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: %q}\n", dir, address)
	if len(args) > 1 {
		config += fmt.Sprintf("auth: {htpasswd: {realm: x, path: %q}}\n", ts.MkAbs(args[1]))
	}
	file := filepath.Join(dir, "config.yaml")
	ts.Check(os.WriteFile(file, []byte(config), 0o644))
	cmd := exec.Command("docker-registry", "serve", file)
	ts.Check(cmd.Start())
	ts.Defer(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 100 {
		if resp, err := http.Get("http://" + address + "/v2/"); err == nil {
			resp.Body.Close()
			ts.Setenv(args[0], address)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("the registry does not start")
}

// artifact implements artifact HOST/NAME:TAG VARIABLE MEDIATYPE=FILE... It stores files in a
// registry and sets a variable to the digest.
func artifact(ts *testscript.TestScript, args []string) {
	place, tag := args[0], "latest"
	if i := strings.LastIndexByte(place, ':'); i > strings.LastIndexByte(place, '/') {
		place, tag = place[:i], place[i+1:]
	}
	repo := newRepository(ts, place)
	var layers []any
	for _, arg := range args[2:] {
		mediaType, file, _ := strings.Cut(arg, "=")
		layers = append(layers, repo.upload(mediaType, ts.ReadFile(file),
			map[string]string{"org.opencontainers.image.title": filepath.Base(file)}))
	}
	ts.Setenv(args[1], repo.manifest(tag, "application/vnd.oci.image.manifest.v1+json", map[string]any{
		"config": repo.upload("application/vnd.oci.empty.v1+json", "{}", nil), "layers": layers,
	})["digest"].(string))
}

// A repository is a repository in a local registry.
type repository struct {
	ts   *testscript.TestScript
	base string
}

func newRepository(ts *testscript.TestScript, place string) repository {
	host, name, _ := strings.Cut(place, "/")
	return repository{ts, "http://" + host + "/v2/" + name}
}

func (r repository) send(method, url, mediaType, body string) *http.Response {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	r.ts.Check(err)
	req.Header.Set("Content-Type", mediaType)
	resp, err := http.DefaultClient.Do(req)
	r.ts.Check(err)
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		r.ts.Fatalf("%s %s: %s", method, url, resp.Status)
	}
	return resp
}

// upload stores data and returns its descriptor for a manifest.
func (r repository) upload(mediaType, data string, annotations map[string]string) map[string]any {
	sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(data)))
	to := r.send("POST", r.base+"/blobs/uploads/", "", "").Header.Get("Location")
	r.send("PUT", to+"&digest="+sum, "application/octet-stream", data)
	return map[string]any{"mediaType": mediaType, "digest": sum, "size": len(data), "annotations": annotations}
}

// manifest stores a manifest under a tag, or under its digest if tag is empty. It returns its
// descriptor for an index.
func (r repository) manifest(tag, mediaType string, m map[string]any) map[string]any {
	m["schemaVersion"], m["mediaType"] = 2, mediaType
	text, err := json.Marshal(m)
	r.ts.Check(err)
	sum := fmt.Sprintf("sha256:%x", sha256.Sum256(text))
	r.send("PUT", r.base+"/manifests/"+cmp.Or(tag, sum), mediaType, string(text))
	return map[string]any{"mediaType": mediaType, "digest": sum, "size": len(text)}
}
