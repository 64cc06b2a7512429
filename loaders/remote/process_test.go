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
	"github.com/krmflow/krmflow/reference"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("KRMFLOW_TEST_FETCH"); dir != "" {
		if err := fetchAll(dir, os.Args[1:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fetchAll opens references with the cache in dir. Each is text=content.
func fetchAll(dir string, args []string) error {
	c, err := cache.Open(dir)
	if err != nil {
		return err
	}
	defer c.Close()
	s := NewSession(Options{Cache: c, Timeout: time.Minute})
	defer s.Close()
	for _, arg := range args {
		text, want, _ := strings.Cut(arg, "\n")
		r, err := reference.Parse(text, reference.Any)
		if err != nil {
			return err
		}
		content, err := s.Open(context.Background(), r, FromUser)
		if err != nil {
			return err
		}
		if data, err := content.Bytes(); string(data) != want || err != nil {
			return fmt.Errorf("%s: %q, %v", r, data, err)
		}
	}
	return nil
}

// Processes fetch the same into one cold cache at the same time, and one of them is killed: the others are right, and so is what is left.
func TestColdCacheOfManyProcesses(t *testing.T) {
	g := serveGit(t)
	g.repo(t, "r", map[string]string{"a/x.yaml": "1", "b/y.yaml": strings.Repeat("y", 100_000)})
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, yamlText) }))
	defer plain.Close()
	args := []string{g.URL + "/r.git//a/x.yaml?ref=v1\n1", plain.URL + "/f.yaml\n" + yamlText, "file://" + g.dir + "/r.git//a/x.yaml\n1"}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rounds := 3
	if os.Getenv("CI") != "" {
		rounds = 20
	}
	for range rounds {
		dir := filepath.Join(t.TempDir(), "cache")
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
				time.AfterFunc(time.Duration(rand.IntN(400))*time.Millisecond, func() { cmd.Process.Kill() })
			}
			all.Go(func() {
				if err := cmd.Wait(); err != nil && i > 0 {
					t.Errorf("%v: %s", err, &out)
				}
			})
		}
		all.Wait()
		if err := fetchAll(dir, args); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "v1/tmp/*")); len(left) > 0 {
			t.Errorf("left: %s", left)
		}
	}
}
