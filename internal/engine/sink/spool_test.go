package sink

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// Texts arrive in any order, in memory or in the file, and leave in the requested order.
func TestSpoolKeepsOrder(t *testing.T) {
	var s spool
	defer s.Close()
	var names []string
	var want []string
	var puts sync.WaitGroup
	for i := range 8 {
		name, body := fmt.Sprint(i), strings.Repeat(fmt.Sprintf("a: %d\n", i), 50<<10)
		names, want = append(names, name), append(want, body)
		puts.Go(func() {
			if err := s.Put(name, text(body)); err != nil {
				t.Error(err)
			}
		})
	}
	puts.Wait()
	if s.file == nil || s.held > inMemory {
		t.Errorf("%d bytes in memory, file %v", s.held, s.file)
	}
	if err := s.Put("empty", text("")); err != nil {
		t.Error(err)
	}
	if err := s.Put("bad", func(io.Writer) error { return errors.New("bad") }); err == nil {
		t.Error("an error was lost")
	}
	var b strings.Builder
	if err := s.WriteYAML(&b, append([]string{"empty", "missing", "bad"}, names...)); err != nil ||
		b.String() != strings.Join(want, "---\n") {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}

// A closed spool keeps texts in memory, as does a spool whose file cannot be created.
func TestSpoolClosed(t *testing.T) {
	var s spool
	s.Close()
	s.held = inMemory
	if err := s.Put("a", text("a\n")); err != nil || s.file == nil {
		t.Error(err)
	}
	s.Close()
	s.Close()
	if err := s.Put("b", text("b\n")); err != nil || s.file != nil {
		t.Error(err)
	}
	var b strings.Builder
	if err := s.WriteYAML(&b, []string{"b"}); err != nil || b.String() != "b\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
