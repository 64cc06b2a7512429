package answers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/internal/engine/answers"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A server is a shared cache in memory that can fail.
type server struct {
	mu         sync.Mutex
	data       map[krm.Digest][]byte
	gets, puts int
	broken     error
}

func (s *server) Get(_ context.Context, key krm.Digest) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets++
	if s.broken != nil {
		return nil, s.broken
	}
	data, ok := s.data[key]
	if !ok {
		return nil, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	return data, nil
}

func (s *server) Put(_ context.Context, key krm.Digest, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts++
	if s.broken != nil {
		return s.broken
	}
	if s.data == nil {
		s.data = map[krm.Digest][]byte{}
	}
	s.data[key] = data
	return nil
}

// A machine has its own cache and the answers of one run.
type machine struct {
	*answers.Answers
	opened, local, shared int // number of openings, and of reported failures
}

func newMachine(t *testing.T, dir string, s answers.Shared) *machine {
	m := &machine{}
	m.Answers = answers.New(t.Context(), answers.Options{
		Open: func() *cache.Cache {
			m.opened++
			if dir == "" {
				return nil
			}
			c, err := cache.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
		Shared: s,
		Failed: func(shared bool, _ error) {
			if shared {
				m.shared++
			} else {
				m.local++
			}
		},
	})
	return m
}

func text(out function.Output) string { return fmt.Sprintf("%s|%s", out.List, out.Stderr) }

var (
	key    = krm.DigestOf([]byte("key"))
	answer = function.Output{List: yaml.Chunks{[]byte("a"), []byte("b")}, Stderr: []byte("said")}
)

// A result stored by one machine is available to its next run and, through the shared cache, to
// other machines, which keep it.
func TestAnswersAreSharedBetweenMachines(t *testing.T) {
	dir, other, s := t.TempDir(), t.TempDir(), &server{}
	a := newMachine(t, filepath.Join(dir, "c"), s)
	if _, ok := a.Lookup(t.Context(), key); ok || s.gets != 1 {
		t.Fatal("an answer from nowhere")
	}
	a.Store(t.Context(), key, answer)
	a.Close()
	for _, step := range []struct {
		dir    string
		shared answers.Shared
		gets   int
	}{{filepath.Join(dir, "c"), s, 0}, {filepath.Join(other, "c"), s, 1}, {filepath.Join(other, "c"), nil, 0}, {"", s, 1}} {
		s.gets = 0
		m := newMachine(t, step.dir, step.shared)
		out, ok := m.Lookup(t.Context(), key)
		m.Close()
		if !ok || text(out) != "ab|said" || s.gets != step.gets || s.puts != 1 {
			t.Errorf("%+v: %t, %s, %d gets, %d puts", step, ok, text(out), s.gets, s.puts)
		}
	}
}

// A failed shared cache is reported once, and the user's cache is used as without it.
func TestSharedFails(t *testing.T) {
	s := &server{broken: errors.New("no route")}
	m := newMachine(t, filepath.Join(t.TempDir(), "c"), s)
	for i := range 3 {
		other := krm.DigestOf([]byte{byte(i)})
		if _, ok := m.Lookup(t.Context(), other); ok {
			t.Error("an answer from nowhere")
		}
		m.Store(t.Context(), other, answer)
		if out, ok := m.Lookup(t.Context(), other); !ok || text(out) != "ab|said" {
			t.Errorf("%t, %s", ok, text(out))
		}
	}
	m.Close()
	if m.shared != 1 || m.local != 0 {
		t.Errorf("%d and %d failures", m.shared, m.local)
	}
}

// A server that refused a result or returned one wrong answer may still have other results.
func TestSharedFailsOnce(t *testing.T) {
	s := &server{}
	a := newMachine(t, "", s)
	a.Store(t.Context(), key, answer)
	a.Close()
	other := krm.DigestOf([]byte("other"))
	for name, use := range map[string]func(*machine){
		"put": func(m *machine) { m.Store(t.Context(), other, answer); m.Close() },
		"get": func(m *machine) { m.Lookup(t.Context(), other) },
	} {
		m := newMachine(t, "", s)
		s.broken = errors.New("full")
		use(m)
		s.broken = nil
		if out, ok := m.Lookup(t.Context(), key); !ok || text(out) != "ab|said" || m.shared != 1 {
			t.Errorf("%s: %t, %s, %d failures", name, ok, text(out), m.shared)
		}
		m.Close()
	}
}

// An invalid answer of a server is not used and not kept.
func TestSharedLies(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	for _, data := range [][]byte{nil, {0xff}, {5, 'a'}, bytes.Repeat([]byte{0xff}, 11), make([]byte, answers.MaxSize+1)} {
		m := newMachine(t, dir, &server{data: map[krm.Digest][]byte{key: data}})
		if out, ok := m.Lookup(t.Context(), key); ok {
			t.Errorf("%d bytes: %s", len(data), text(out))
		}
		m.Close()
		m = newMachine(t, dir, nil)
		if _, ok := m.Lookup(t.Context(), key); ok {
			t.Errorf("%d bytes are kept", len(data))
		}
		m.Close()
	}
}

// The cache is opened on demand, and a cache that accepts no more results is reported once. Large
// results are not kept.
func TestCacheOpensOnDemand(t *testing.T) {
	m := newMachine(t, filepath.Join(t.TempDir(), "c"), nil)
	m.Close()
	if m.opened != 0 {
		t.Error("the cache was opened for nothing")
	}
	m = newMachine(t, filepath.Join(t.TempDir(), "c"), nil)
	m.Store(t.Context(), key, function.Output{List: yaml.Chunks{make([]byte, answers.MaxSize+1)}})
	if _, ok := m.Lookup(t.Context(), key); ok {
		t.Error("a large answer is kept")
	}
	m.Store(t.Context(), key, function.Output{})
	if out, ok := m.Lookup(t.Context(), key); !ok || text(out) != "|" {
		t.Errorf("an empty answer is %t, %s", ok, text(out))
	}
	m.Close()
	if m.opened != 1 {
		t.Errorf("the cache was opened %d times", m.opened)
	}

	dir := filepath.Join(t.TempDir(), "c")
	m = newMachine(t, dir, nil)
	m.Lookup(t.Context(), key)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		m.Store(t.Context(), krm.DigestOf([]byte{byte(i)}), answer)
	}
	m.Close()
	if m.local != 1 {
		t.Errorf("that nothing is kept was told %d times", m.local)
	}
}
