package shared

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/sharedtest"
	"github.com/krmflow/krmflow/internal/dev/testbinary"
	"github.com/krmflow/krmflow/krm"
)

// startServer starts bazel-remote with an empty folder and stops it at the end of the test.
func startServer(t *testing.T, args ...string) *sharedtest.Server {
	t.Helper()
	if _, err := exec.LookPath(sharedtest.Program); err != nil {
		executortest.Missing(t, "bazel-remote is not on PATH: make bazel-remote builds it into .tools")
	}
	s, err := sharedtest.Start(t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// samples cover every way to send a blob: empty, inline in the result, in a batch, in a stream,
// compressed or not.
func samples() map[string][]byte {
	noise := make([]byte, 5<<20)
	rand.Read(noise)
	return map[string][]byte{
		"empty":  {},
		"small":  []byte("kind: ConfigMap\n"),
		"text":   bytes.Repeat([]byte("kind: ConfigMap\nmetadata: {name: a}\n"), 10_000),
		"noise":  noise[:300_000],
		"large":  noise,
		"larger": bytes.Repeat(append(noise[:1000:1000], "kind: ConfigMap\n"...), 10_000), // larger than a zstd window
	}
}

// open returns a client that the test closes at its end.
func open(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// exchange writes a small entry and the named ones to a shared cache and reads them with another
// client.
func exchange(t *testing.T, write, read Options, names ...string) {
	t.Helper()
	write.Timeout, read.Timeout = time.Minute, time.Minute // allows for a busy machine
	writer, reader := open(t, write), open(t, read)
	all := samples()
	for _, name := range append(names, "small") {
		data := all[name]
		key := krm.DigestOf([]byte(t.Name() + name))
		if _, err := reader.Get(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: before it is put: %v", name, err)
		}
		if err := writer.Put(t.Context(), key, data); err != nil {
			t.Errorf("%s: put: %v", name, err)
		}
		got, err := reader.Get(t.Context(), key)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, put %d: %v", name, len(got), len(data), err)
		}
	}
}

func TestBazelRemote(t *testing.T) {
	for _, storage := range []string{"zstd", "uncompressed"} {
		t.Run(storage, func(t *testing.T) {
			s := startServer(t, "--storage_mode", storage)
			addresses := []string{"grpc://" + s.GRPC, "grpc://" + s.GRPC + "/team/a", "http://" + s.HTTP, "http://" + s.HTTP + "/team/"}
			for i, from := range addresses {
				to := addresses[(i+1)%len(addresses)] // both protocols share entries: the instance is the same by default
				t.Run(from[:4]+"/"+to[:4], func(t *testing.T) {
					exchange(t, Options{Address: from}, Options{Address: to, ReadOnly: true}, "empty", "text", "noise", "large", "larger")
				})
			}
		})
	}
}

func TestBazelRemoteTLS(t *testing.T) {
	longtest.Only(t)
	dir := t.TempDir()
	makeCertificates(t, dir)
	file := func(name string) string { return filepath.Join(dir, name) }
	s := startServer(t, "--tls_cert_file", file("server.pem"), "--tls_key_file", file("server.key"))
	m := startServer(t, "--tls_cert_file", file("server.pem"), "--tls_key_file", file("server.key"), "--tls_ca_file", file("ca.pem"))
	for _, scheme := range []string{"grpcs", "https"} {
		address := map[string]string{"grpcs": s.GRPC, "https": s.HTTP}[scheme]
		mutual := map[string]string{"grpcs": m.GRPC, "https": m.HTTP}[scheme]
		t.Run(scheme, func(t *testing.T) {
			o := Options{Address: scheme + "://" + address, CA: file("ca.pem")}
			exchange(t, o, o)
		})
		t.Run(scheme+" unknown authority", func(t *testing.T) {
			mustGoOff(t, Options{Address: scheme + "://" + address}, "certificate")
		})
		t.Run(scheme+" mutual", func(t *testing.T) {
			o := Options{Address: scheme + "://" + mutual, CA: file("ca.pem"), Cert: file("client.pem"), Key: file("client.key")}
			exchange(t, o, o)
		})
		t.Run(scheme+" without a certificate", func(t *testing.T) {
			mustGoOff(t, Options{Address: scheme + "://" + mutual, CA: file("ca.pem")}, "")
		})
		t.Run(scheme+" at a port without TLS", func(t *testing.T) {
			mustGoOff(t, Options{Address: scheme + "://" + map[string]string{"grpcs": startServer(t).GRPC, "https": startServer(t).HTTP}[scheme]}, "")
		})
	}
}

// mustGoOff checks that the first use of a server reports the problem, and that later uses are not
// tried.
func mustGoOff(t *testing.T, o Options, says string) {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	c := open(t, o)
	_, err := c.Get(t.Context(), krm.Digest{})
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), says) {
		t.Errorf("first: %v", err)
	}
	if _, err := c.Get(t.Context(), krm.Digest{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("second: %v", err)
	}
	if err := c.Put(t.Context(), krm.Digest{}, []byte("x")); err != nil {
		t.Errorf("put: %v", err)
	}
}

// One server requires a password for everything, the other only for uploads.
func TestBazelRemotePassword(t *testing.T) {
	longtest.Only(t)
	sum := sha1.Sum([]byte("open-sesame"))
	file := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(file, []byte("ci:{SHA}"+base64.StdEncoding.EncodeToString(sum[:])+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "--htpasswd_file", file)
	readable := startServer(t, "--htpasswd_file", file, "--allow_unauthenticated_reads")
	for _, scheme := range []string{"grpc", "http"} {
		place := func(s *sharedtest.Server) string { return map[string]string{"grpc": s.GRPC, "http": s.HTTP}[scheme] }
		plain := Options{Address: scheme + "://" + place(s)}
		t.Run(scheme+" in the address", func(t *testing.T) {
			o := Options{Address: scheme + "://ci:open-sesame@" + place(s)}
			exchange(t, o, o)
		})
		t.Run(scheme+" header", func(t *testing.T) {
			o := plain
			o.Headers = []string{"Authorization=Basic " + base64.StdEncoding.EncodeToString([]byte("ci:open-sesame"))}
			exchange(t, o, o)
		})
		t.Run(scheme+" helper", func(t *testing.T) {
			o := plain
			o.Helper = helper(t, `{"headers":{"Authorization":["Basic `+base64.StdEncoding.EncodeToString([]byte("ci:open-sesame"))+`"]}}`)
			exchange(t, o, o)
		})
		t.Run(scheme+" none", func(t *testing.T) { mustGoOff(t, plain, "") })
		t.Run(scheme+" wrong", func(t *testing.T) {
			o := Options{Address: scheme + "://ci:not-the-one@" + place(s)}
			mustGoOff(t, o, "")
		})
		t.Run(scheme+" reads only", func(t *testing.T) {
			c := open(t, Options{Address: scheme + "://" + place(readable), Timeout: time.Minute})
			if err := c.Put(t.Context(), krm.Digest{1}, []byte("x")); err == nil ||
				!strings.Contains(err.Error(), "does not accept uploads") {
				t.Errorf("put: %v", err)
			}
			if err := c.Put(t.Context(), krm.Digest{1}, []byte("x")); err != nil {
				t.Errorf("second put: %v", err)
			}
			w := open(t, Options{Address: scheme + "://ci:open-sesame@" + place(readable), Timeout: time.Minute})
			if err := w.Put(t.Context(), krm.Digest{2}, []byte("x")); err != nil {
				t.Fatal(err)
			}
			if got, err := c.Get(t.Context(), krm.Digest{2}); string(got) != "x" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// helper makes a credential helper that prints a text if its input is correct.
func helper(t *testing.T, prints string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "helper")
	script := "#!/bin/sh\nread -r line\ncase \"$1 $line\" in 'get {\"uri\":\"'*'://127.0.0.1:'*'\"}') ;; *) echo \"asked $1 $line\" >&2; exit 1 ;; esac\ncat <<'END'\n" + prints + "\nEND\n"
	testbinary.Script(t, file, script)
	return file
}

// A server that dies during a run costs only its answers.
func TestBazelRemoteDies(t *testing.T) {
	for _, scheme := range []string{"grpc", "http"} {
		t.Run(scheme, func(t *testing.T) {
			s := startServer(t)
			c := open(t, Options{Address: scheme + "://" + map[string]string{"grpc": s.GRPC, "http": s.HTTP}[scheme], Timeout: time.Minute})
			if err := c.Put(t.Context(), krm.Digest{1}, []byte("x")); err != nil {
				t.Fatal(err)
			}
			s.Kill()
			if _, err := c.Get(t.Context(), krm.Digest{1}); err == nil {
				t.Error("something comes from a server that is gone")
			}
			if _, err := c.Get(t.Context(), krm.Digest{1}); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		})
	}
}

// makeCertificates writes an authority and the certificates of a server and a client.
func makeCertificates(t *testing.T, dir string) {
	t.Helper()
	write := func(name, kind string, der []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var authority *x509.Certificate
	var authorityKey *ecdsa.PrivateKey
	for i, name := range []string{"ca", "server", "client"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			KeyUsage:    x509.KeyUsageDigitalSignature}
		if i == 0 {
			c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.IPAddresses, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil, nil
			authority, authorityKey = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, authority, &key.PublicKey, authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		keyDER, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		write(name+".pem", "CERTIFICATE", der)
		write(name+".key", "PRIVATE KEY", keyDER)
	}
}
