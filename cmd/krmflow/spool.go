package main

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// spoolAfter is how many bytes of output are held in memory until all roots are known to be good.
const spoolAfter = 1 << 20

// A spool keeps texts: the first ones in memory, the others in a temporary file that has no name any more, as the output of
// a thousand roots would be most of what is in memory. Without a place for the file all of them are in memory. It is safe for
// concurrent use.
type spool struct {
	mu     sync.Mutex
	held   int
	file   *os.File
	failed bool
	end    int64
}

// A section is a part of a text: in memory, or at an offset of the file.
type section struct {
	text   []byte
	at, n  int64
	inFile bool
}

func (s *spool) keep(text []byte) section {
	if at, ok := s.reserve(len(text)); ok {
		if _, err := s.file.WriteAt(text, at); err == nil {
			return section{at: at, n: int64(len(text)), inFile: true}
		}
	}
	return section{text: bytes.Clone(text)}
}

// reserve returns a place in the file for n bytes, if they belong there.
func (s *spool) reserve(n int) (at int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held+n <= spoolAfter {
		s.held += n
		return 0, false
	}
	if s.file == nil && !s.failed {
		file, err := os.CreateTemp("", "krmflow-out-")
		if err == nil {
			os.Remove(file.Name()) // fails on Windows: close does it there
		}
		s.file, s.failed = file, err != nil
	}
	at = s.end
	s.end += int64(n)
	return at, !s.failed
}

func (s *spool) writeTo(w io.Writer, x section) error {
	if !x.inFile {
		_, err := w.Write(x.text)
		return err
	}
	_, err := io.Copy(w, io.NewSectionReader(s.file, x.at, x.n))
	return err
}

// close may be called at any time, also twice.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
		s.file, s.failed = nil, true
	}
}
