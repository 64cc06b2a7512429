package records_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// A log is the output of a running program.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestWatchMatchesCleanRender edits a random tree at random moments while krmflow watches it. After
// some edits, the folder must become equal to a clean render. Nothing signals that moment, so the
// test polls, and takes long only if it fails.
func TestWatchMatchesCleanRender(t *testing.T) {
	w := randomTree(t)
	out, fresh := filepath.Join(w.dir, "out"), filepath.Join(w.top, "fresh")
	command := func(args ...string) *exec.Cmd {
		return w.command(append([]string{"apply-render", "-R", ".", "--keep-going", "--prune", "--force"}, args...)...)
	}
	watch := command("-o", out, "--watch")
	said := &log{}
	watch.Stderr = said
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- watch.Wait() }()
	defer func() {
		watch.Process.Signal(os.Interrupt)
		if err := <-ended; watch.ProcessState.ExitCode() != 130 {
			t.Errorf("it has ended with %v:\n%s", err, said)
		}
	}()
	var edits []string
	for round := range max(1, *rounds/4) {
		for range 1 + w.rnd.IntN(4) {
			edits = append(edits, w.Edit())
			time.Sleep(time.Duration(w.rnd.IntN(12)) * time.Millisecond)
		}
		os.RemoveAll(fresh)
		cmd := command("-o", fresh, "--no-cache")
		cmd.Run() // its exit code reports roots with errors
		want := content(t, fresh)
		delete(want, "/.krmflow-manifest") // contains the path to the tree
		if len(want) == 0 {
			continue
		}
		last := edits[max(0, len(edits)-6):]
		until(t, func() string {
			got := content(t, out)
			delete(got, "/.krmflow-manifest")
			if maps.Equal(known(got, want), want) {
				return ""
			}
			select {
			case err := <-ended:
				ended <- err
				t.Fatalf("round %d, after %q: it has ended: %v\n%s", round, last, err, said)
			default:
			}
			return fmt.Sprintf("round %d, after %q:\n%q\nwant %q\n%s", round, last, got, want, said)
		})
	}
}

// until waits until wrong returns "".
func until(t *testing.T, wrong func() string) {
	t.Helper()
	text := ""
	for range 2000 {
		if text = wrong(); text == "" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal(text)
}
