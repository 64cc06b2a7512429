package remote

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/reference"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("KRMFLOW_TEST_FETCH"); dir != "" {
		if err := fetchAll(dir, os.Args[1:], false); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fetchAll opens references with the cache in dir. Each argument contains a reference and its
// content, see [asked].
func fetchAll(dir string, args []string, offline bool) error {
	c, err := cache.Open(dir)
	if err != nil {
		return err
	}
	defer c.Close()
	s := NewSession(Options{Cache: c, Timeout: time.Minute, Offline: offline})
	defer s.Close()
	for _, arg := range args {
		text, want, _ := strings.Cut(arg, " ")
		r, err := reference.Parse(text, reference.Any)
		if err != nil {
			return err
		}
		content, err := s.Open(context.Background(), r, FromUser)
		if err != nil {
			return err
		}
		if data, err := content.Bytes(); asked(text, data) != arg || err != nil {
			return fmt.Errorf("%s: %s instead of %s, %v", r, krm.DigestOf(data), want, err)
		}
	}
	return nil
}

// asked returns an argument for [fetchAll].
func asked[T string | []byte](text string, content T) string {
	return text + " " + krm.DigestOf([]byte(content)).String()
}

// Processes fetch the same content into a cold cache at the same time, and one of them is killed.
// The others succeed, and the cache is valid.
func TestColdCacheOfManyProcesses(t *testing.T) {
	g := serveGit(t)
	ids := g.repo(t, "r", map[string]string{"a/x.yaml": "1", "b/y.yaml": strings.Repeat("y", 100_000)})
	for range longtest.Sample(1, 3, 20) {
		pinned := asked(g.URL+"/r.git//a/x.yaml?ref="+ids[0], "1")
		coldCache(t, 400*time.Millisecond, []string{pinned, asked("file://"+g.dir+"/r.git//a/x.yaml?ref=v1", "1")}, pinned)
	}
}

// The same with more rounds, and with references that need no git: a file, an archive and an
// artifact.
func TestColdCacheOfManyFetches(t *testing.T) {
	packed := archives(t, tarFile("top/x.yaml"))[".tar.gz"]
	large := strings.Repeat("large\n", 50_000)
	layer := Layer{CatalogLayer, "", []byte(large)}
	pushed := Artifact{Type: CatalogLayer, Layers: []Layer{layer}}
	manifest, err := pushed.manifest()
	if err != nil {
		t.Fatal(err)
	}
	tag := "/v2/fns/manifests/"
	known := map[string][]byte{
		"/f.yaml": []byte(yamlText), "/a.tar.gz": packed, tag + "v1": manifest, tag + krm.DigestOf(manifest).String(): manifest,
		"/v2/fns/blobs/" + krm.DigestOf(layer.Data).String(): layer.Data,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(known[r.URL.Path]) }))
	defer srv.Close()
	artifact := "oci://" + strings.TrimPrefix(srv.URL, "http://") + "/fns"
	pinned := []string{
		asked(srv.URL+"/f.yaml?checksum="+krm.DigestOf([]byte(yamlText)).String(), yamlText),
		asked(srv.URL+"/a.tar.gz//top/x.yaml?checksum="+krm.DigestOf(packed).String(), "1\n"),
		asked(artifact+"@"+krm.DigestOf(manifest).String(), large),
	}
	rounds, killed := longtest.Sample(10, 10, 100), 0
	args := append([]string{asked(srv.URL+"/f.yaml", yamlText), asked(artifact+":v1", large)}, pinned...)
	start := time.Now()
	coldCache(t, time.Hour, args, pinned...)
	took := time.Since(start) // duration of a round without a kill
	for n := 0; n < rounds && time.Since(start) < 40*time.Second; n++ {
		if coldCache(t, took, args, pinned...) {
			killed++
		}
	}
	if t.Logf("%d of %d killed", killed, rounds); killed == 0 {
		t.Error("no process was killed while it worked")
	}
}

// coldCache starts eight processes that fetch the references of args into a new cache. It kills one
// of them at a random moment within a time. All others must succeed and leave only complete
// entries, including the pinned ones. It reports whether the process was killed.
func coldCache(t *testing.T, within time.Duration, args []string, pinned ...string) (killed bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "cache")
	defer os.RemoveAll(dir)
	var all sync.WaitGroup
	for i := range 8 {
		cmd := exec.Command(exe, args...)
		cmd.Env = append(os.Environ(), "KRMFLOW_TEST_FETCH="+dir)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			defer time.AfterFunc(rand.N(within), func() { cmd.Process.Kill() }).Stop()
		}
		all.Go(func() {
			err := cmd.Wait()
			if i == 0 {
				killed = cmd.ProcessState.ExitCode() < 0
			}
			if err != nil && !(i == 0 && killed) {
				t.Errorf("%v: %s", err, &out)
			}
		})
	}
	all.Wait()
	blobs, _ := filepath.Glob(filepath.Join(dir, "v1/blobs/*/*"))
	for _, blob := range blobs {
		data, err := os.ReadFile(blob)
		if name := filepath.Base(filepath.Dir(blob)) + filepath.Base(blob); err != nil || krm.DigestOf(data).String() != "sha256:"+name {
			t.Errorf("%s is %s, %v", blob, krm.DigestOf(data), err)
		}
	}
	if len(blobs) == 0 {
		t.Error("the cache is empty")
	}
	if err := fetchAll(dir, pinned, true); err != nil {
		t.Error(err)
	}
	next, err := cache.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.TempDir(); err != nil { // the next writer removes leftovers
		t.Error(err)
	}
	next.Close()
	if left, _ := filepath.Glob(filepath.Join(dir, "v1/tmp/*")); len(left) > 0 {
		t.Errorf("left: %s", left)
	}
	return killed
}
