package yaml

import (
	"crypto/sha256"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/krmflow/krmflow/diag"
	"go.yaml.in/yaml/v3"
)

// MaxFile is the size in bytes up to which a [Source] is read.
const MaxFile = 64 << 20

// A Source is one input file: read once, hashed once, parsed once, whoever refers to it. Its methods are safe for
// concurrent use. A Source must not be copied.
type Source struct {
	// File is the path as messages show it.
	File string
	// Data is the content. It must not be changed.
	Data []byte
	// answer is true for what a function answered: messages show nothing of it, and it must not take too much memory. rare is
	// how many marks the documents of it had that needed the slow path.
	answer bool
	rare   int

	same   *Source     // not nil if this is another name of that file: see Source.As
	secret atomic.Bool // see HoldSecret

	digestOnce sync.Once
	digest     [sha256.Size]byte

	textOnce sync.Once
	text     string
	textErr  error

	docsOnce sync.Once
	docsRead atomic.Bool
	docs     []Document
	docsErr  error
	unnamed  error // that a resource has no name; a configuration needs none
	badKey   bool  // docsErr is about a key that is no string, which a patch may have

	valueOnce sync.Once
	value     Value
	valueErr  error
	repeated  *diag.Error // about the first key that occurs twice in value

	mu       sync.Mutex
	warnings []*diag.Error
	forms    map[*diag.Error]bool // those of warnForm

	piecesOnce sync.Once
	cut        []piece // kept if somebody asks for single documents
	cutErr     error

	located  atomic.Int32 // calls of Locate
	treeMu   sync.Mutex
	tree     *yaml.Node // of treePart, made when there are many such calls
	treePart int

	subs []sub // the places that this stands for, if it is a part of other files: see Source.Sub

	encodedOnce sync.Once
	encoded     string
}

// NewAnswer returns a Source of what a program answered: messages show nothing of it but its name, and it must not take too much memory.
func NewAnswer(name string, data []byte) *Source {
	return &Source{File: name, Data: data, answer: true}
}

// As returns s under another name: what has several names is read and parsed once.
func (s *Source) As(name string) *Source {
	return &Source{File: name, Data: s.Data, same: s.original()}
}

func (s *Source) original() *Source {
	if s.same != nil {
		return s.same
	}
	return s
}

// renamed returns an error about the original as one about s.
func (s *Source) renamed(err error) error {
	at, ok := err.(*diag.Error)
	if s.same == nil || !ok || at.Pos.File != s.same.File {
		return err
	}
	e := *at
	e.Pos.File = s.File
	return &e
}

// Text returns Data as a text. Nothing is copied.
func (s *Source) Text() string { return unsafe.String(unsafe.SliceData(s.Data), len(s.Data)) }

// Encoded returns encode of the text. It is called once for a file, whoever asks, and should be the same function for all.
func (s *Source) Encoded(encode func(string) string) string {
	s = s.original()
	s.encodedOnce.Do(func() { s.encoded = encode(s.Text()) })
	return s.encoded
}

// Digest returns the SHA-256 of Data.
func (s *Source) Digest() [sha256.Size]byte {
	s = s.original()
	s.digestOnce.Do(func() { s.digest = sha256.Sum256(s.Data) })
	return s.digest
}

// A Document is one object of a [Source].
type Document struct {
	Value Value
	// Line is where the document starts; that of an item of a List is where the List does.
	Line int
	// Size is that of its text in bytes, with aliases counted as copies.
	Size  int
	piece int   // which piece of the file it is in
	path  []any // where it is in the piece, if that is a List
}

// Documents returns the objects in the file: documents in order, Lists replaced by their items, empty documents dropped. It parses at
// the first call. The result must not be changed. The error is an [*diag.Error] with the line.
func (s *Source) Documents() ([]Document, error) {
	if s.same != nil {
		docs, err := s.same.Documents()
		return docs, s.renamed(err)
	}
	s.docsOnce.Do(func() {
		s.docs, s.docsErr = s.readDocuments(false)
		s.docsRead.Store(true)
	})
	if s.docsErr == nil && s.unnamed != nil {
		return nil, s.unnamed
	}
	return s.docs, s.docsErr
}

// Configs returns the objects in the file as [Source.Documents] does, but lets them be without metadata.name: a function
// may be found by the group, version and kind of its configuration alone.
func (s *Source) Configs() ([]Document, error) {
	if _, err := s.Documents(); s.original().docsErr != nil {
		return nil, err
	}
	return s.original().docs, nil
}

// Patches returns the objects in the file as [Source.Documents] does, but takes the keys of mappings for strings, as kustomize
// does when it merges: a field 80 is the resource's field "80". It warns about each.
func (s *Source) Patches() ([]Document, error) {
	docs, err := s.Documents()
	if from := s.original(); from.badKey {
		docs, err = from.readDocuments(true)
	}
	if err != nil {
		return nil, s.renamed(err)
	}
	return docs, nil
}

// Value returns the file as one value, as kustomize reads its own configuration: words such as yes and on are booleans
// (YAML 1.1), only the first document counts. It parses at the first call. The error is an [*diag.Error] with the line.
func (s *Source) Value() (Value, error) {
	if s.same != nil {
		v, err := s.same.Value()
		return v, s.renamed(err)
	}
	s.valueOnce.Do(func() { s.value, s.valueErr = s.readValue() })
	return s.value, s.valueErr
}

// Repeated returns an error about the first key that occurs twice in a mapping of [Source.Value], of which the last value
// counts; nil if there is none.
func (s *Source) Repeated() error {
	if _, err := s.Value(); err != nil || s.original().repeated == nil {
		return nil
	}
	return s.renamed(s.original().repeated)
}

// Warnings returns what earlier calls of [Source.Documents] and [Source.Value] found that is accepted, but probably not
// what the user means.
func (s *Source) Warnings() []*diag.Error {
	s = s.original()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.warnings
}

// Losses returns the [Source.Warnings] about text that is ignored. The others are about values that leave in another form than
// they are written, which does not concern a function: it gets its configuration as it is written.
func (s *Source) Losses() []*diag.Error {
	s = s.original()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.warnings), func(w *diag.Error) bool { return s.forms[w] })
}

// maxWarnings is how many warnings a file can have: who sees them all?
const maxWarnings = 100

func (s *Source) warn(code diag.Code, line int, field, format string, args ...any) {
	s.add(diag.Errorf(diag.Pos{File: s.File, Line: line}, field, format, args...).With(code), false)
}

// warnForm warns about a value that leaves in another form than it is written.
func (s *Source) warnForm(line int, format string, args ...any) {
	s.add(diag.Errorf(diag.Pos{File: s.File, Line: line}, "", format, args...).With(diag.OddValue), true)
}

func (s *Source) add(w *diag.Error, form bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.warnings) == maxWarnings {
		return
	}
	for _, old := range s.warnings {
		if old.Pos == w.Pos && old.Msg == w.Msg {
			return // read as documents and as a value
		}
	}
	if hint := adviceFor(w.Msg); hint != "" && len(w.Hints) == 0 {
		w.Hint("%s", hint)
	}
	s.warnings = append(s.warnings, w)
	if form {
		if s.forms == nil {
			s.forms = map[*diag.Error]bool{}
		}
		s.forms[w] = true
	}
}
