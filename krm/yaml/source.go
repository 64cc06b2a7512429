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

// MaxFile is the maximum size in bytes of a [Source].
const MaxFile = 64 << 20

// A Source is one input file. It is read, hashed and parsed at most once, however many references
// it has. Its methods are safe for concurrent use. A Source must not be copied.
type Source struct {
	// File is the path for messages. Folder is the directory that relative paths in the content
	// start at, "" for that of File.
	File, Folder string
	// Data is the content. It must not be changed.
	Data []byte
	// answer is true for the output of a function: messages must not show any of it, and its
	// memory is limited. rare is the number of marks in its documents that needed the slow path.
	answer bool
	rare   int

	same   *Source     // the file of which this is an alias, or nil: see Source.As
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
	unnamed  error // a resource without a name, which is an error except in configurations
	badKey   bool  // docsErr is about a key that is not a string, which a patch may have

	valueOnce sync.Once
	value     Value
	valueErr  error
	repeated  *diag.Error // about the first duplicate key in value

	mu       sync.Mutex
	warnings []*diag.Error
	forms    map[*diag.Error]bool // the warnings of warnForm

	piecesOnce sync.Once
	cut        []piece // kept when single documents are requested
	cutErr     error

	located  atomic.Int32 // calls of Locate
	treeMu   sync.Mutex
	tree     *yaml.Node // of treePart, made after many calls of Locate
	treePart int

	// subs are the places of this part in other files: see Source.Sub.
	subs []sub
	// places are the places of an assembled Source: see Assemble.
	places []Place

	encodedOnce sync.Once
	encoded     string
}

// NewAnswer returns a Source for the output of a program. Messages show only its name, and its
// memory is limited.
func NewAnswer(name string, data []byte) *Source {
	return &Source{File: name, Data: data, answer: true}
}

// As returns s under a different name. A file with several names is read and parsed once.
func (s *Source) As(name string) *Source {
	return &Source{File: name, Data: s.Data, same: s.original()}
}

func (s *Source) original() *Source {
	if s.same != nil {
		return s.same
	}
	return s
}

// renamed returns an error of the original file as an error of s.
func (s *Source) renamed(err error) error {
	at, ok := err.(*diag.Error)
	if s.same == nil || !ok || at.Pos.File != s.same.File {
		return err
	}
	e := *at
	e.Pos.File = s.File
	return &e
}

// Text returns Data as a string without copying it.
func (s *Source) Text() string { return unsafe.String(unsafe.SliceData(s.Data), len(s.Data)) }

// Encoded returns the result of encode for the text. The result is cached: encode is called once
// per file, so all callers should pass the same function.
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
	// Line is the line where the document starts. For an item of a List it is the line of the
	// List.
	Line int
	// Size is the size of its text in bytes, with aliases counted as copies.
	Size  int
	piece int   // index of the file's piece that contains it
	path  []any // its path in the piece, if that is a List
}

// Documents returns the objects in the file: its documents in order, with Lists replaced by their
// items, and without empty documents. The first call parses the file. The result must not be
// changed. The error is an [*diag.Error] with the line.
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

// Configs is [Source.Documents] for configurations, which need no metadata.name: a function may be
// identified by the group, version and kind of its configuration alone.
func (s *Source) Configs() ([]Document, error) {
	if _, err := s.Documents(); s.original().docsErr != nil {
		return nil, err
	}
	return s.original().docs, nil
}

// Patches is [Source.Documents] for patches. It takes mapping keys as strings, as kustomize does
// in a merge: the key 80 is the resource's field "80". It warns about each such key.
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

// Value returns the file as one value, as kustomize reads its own configuration: words such as yes
// and on are booleans (YAML 1.1), and only the first document is used. The first call parses the
// file. The error is an [*diag.Error] with the line.
func (s *Source) Value() (Value, error) {
	if s.same != nil {
		v, err := s.same.Value()
		return v, s.renamed(err)
	}
	s.valueOnce.Do(func() { s.value, s.valueErr = s.readValue() })
	return s.value, s.valueErr
}

// Repeated returns an error about the first duplicate key in a mapping of [Source.Value], nil if
// there is none. Value itself uses the last value of such a key.
func (s *Source) Repeated() error {
	if _, err := s.Value(); err != nil || s.original().repeated == nil {
		return nil
	}
	return s.renamed(s.original().repeated)
}

// Warnings returns the warnings of earlier calls of [Source.Documents] and [Source.Value]. They
// are about input that is accepted but is probably a mistake.
func (s *Source) Warnings() []*diag.Error {
	s = s.original()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.warnings
}

// Losses returns the [Source.Warnings] about ignored text. The others are about values whose form
// changes in the output. Those do not matter for a function, because it receives the source text
// of its configuration.
func (s *Source) Losses() []*diag.Error {
	s = s.original()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.warnings), func(w *diag.Error) bool { return s.forms[w] })
}

// maxWarnings limits the number of warnings per file. More would not be read.
const maxWarnings = 100

func (s *Source) warn(code diag.Code, line int, field, format string, args ...any) {
	s.add(diag.Errorf(diag.Pos{File: s.File, Line: line}, field, format, args...).With(code), false)
}

// warnForm warns about a value whose form changes in the output.
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
			return // read both as documents and as a value
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
