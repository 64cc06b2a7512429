package sink

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"sync"
)

// inMemory is the maximum number of bytes that a spool holds in memory.
const inMemory = 1 << 20

// A spool holds texts, first in memory and then in an unnamed temporary file. The output of a
// thousand roots would otherwise be most of the memory in use. If the file cannot be created,
// all texts stay in memory. The zero spool is empty. Put and Close may be called concurrently.
type spool struct {
	mu     sync.Mutex
	texts  map[string][]section
	held   int
	file   *os.File
	failed bool
	end    int64
}

// A section is a part of a text, either in memory or at an offset in the file.
type section struct {
	text   []byte
	at, n  int64
	inFile bool
}

// Put stores the output of write as the text called name. After an error the text does not
// exist.
func (s *spool) Put(name string, write func(io.Writer) error) error {
	w := writer{spool: s}
	if err := write(&w); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string][]section{}
	}
	s.texts[name] = w.list
	return nil
}

// writer collects a text in sections, because it is not needed in one piece.
type writer struct {
	spool *spool
	list  []section
}

func (w *writer) Write(text []byte) (int, error) {
	if len(text) > 0 {
		w.list = append(w.list, w.spool.keep(text))
	}
	return len(text), nil
}

func (s *spool) keep(text []byte) section {
	if at, ok := s.reserve(len(text)); ok {
		if _, err := s.file.WriteAt(text, at); err == nil {
			return section{at: at, n: int64(len(text)), inFile: true}
		}
	}
	return section{text: bytes.Clone(text)}
}

// reserve returns an offset in the file for n bytes. ok is false if they must stay in memory.
func (s *spool) reserve(n int) (at int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held+n <= inMemory {
		s.held += n
		return 0, false
	}
	if s.file == nil && !s.failed {
		file, err := os.CreateTemp("", "krmflow-out-")
		if err == nil {
			os.Remove(file.Name()) // fails on Windows, where Close removes it
		}
		s.file, s.failed = file, err != nil
	}
	at = s.end
	s.end += int64(n)
	return at, !s.failed
}

// WriteYAML writes the texts called names, in this order, as one YAML stream. Missing and empty
// texts are skipped. Put must not be called at the same time.
func (s *spool) WriteYAML(w io.Writer, names []string) error {
	b := bufio.NewWriterSize(w, 64<<10)
	first := true
	for _, name := range names {
		for i, x := range s.texts[name] {
			if i == 0 && !first {
				b.WriteString("---\n")
			}
			first = false
			if err := s.writeSection(b, x); err != nil {
				return err
			}
		}
	}
	return b.Flush() // also returns earlier write errors
}

func (s *spool) writeSection(w io.Writer, x section) error {
	if !x.inFile {
		_, err := w.Write(x.text)
		return err
	}
	_, err := io.Copy(w, io.NewSectionReader(s.file, x.at, x.n))
	return err
}

// Close removes the file. It may be called at any time and more than once. Texts put later stay
// in memory.
func (s *spool) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
		s.file, s.failed = nil, true
	}
}
