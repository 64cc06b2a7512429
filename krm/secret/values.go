package secret

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret/words"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The minimum lengths of texts that a [Set] hides, in bytes. Shorter texts are too common: hiding
// them makes the output useless, and the places where something is missing reveal them.
const (
	// MinWhole is for a Secret's value that is a whole scalar, MinPart for one that is part of a
	// longer text.
	MinWhole = 4
	MinPart  = 6
	// MinTaken is for a text taken by a step that is part of a longer text. As a whole scalar, such
	// a text is always hidden.
	MinTaken = 4
	// minLine is for a single line of a longer value: a different text may indent the lines.
	minLine = 16
	// minNumber is for the digits of a number: a shorter one may be a port.
	minNumber = 6
)

// A Set is a set of texts that must not be shown: the values of Secrets, and texts that steps took
// from them. It hides them everywhere, also outside of Secrets. It has the values in base64,
// decoded, and escaped as in JSON.
//
// A value of a Secret is hidden as a whole scalar ([MinWhole]) or as a part of one ([MinPart]).
// Booleans, numbers with few digits, usual names ([words.Usual]), and words in the name or
// namespace of a resource or in a key of a Secret ([Set.Public]) are not hidden, because they are
// printed elsewhere. Texts that steps copy are always hidden.
//
// The zero value and a nil Set hide nothing. A Set made by [NewSet] is safe for concurrent use. Any
// other Set must not be changed while it is used.
type Set struct {
	fill func(*Set)
	once sync.Once
	// names has only the texts taken by steps, for names of resources; nil if there are none.
	names *Set

	whole  map[string]bool         // scalars; true for texts taken by steps
	parts  map[string][]string     // texts by their first maxKey bytes, the longest first
	keys   map[[minKey]byte]uint64 // the lengths of keys in parts by their first bytes: a bit for each
	first  [256]bool               // the first bytes of all keys
	taken  map[string]bool         // keys and their longer texts that steps took
	public map[string]bool
	done   map[yaml.Value]bool
}

const (
	minKey = 3
	maxKey = 64
)

// NewSet returns a set that calls fill on its first use, once.
func NewSet(fill func(*Set)) *Set { return &Set{fill: fill} }

// Fill calls the function given to [NewSet] the first time. Until then, the function keeps its data
// in memory, for example the list of a root.
func (s *Set) Fill() {
	s.once.Do(func() {
		if s.fill != nil {
			s.fill(s)
			s.fill = nil
		}
	})
}

func (s *Set) filled() bool {
	if s == nil {
		return false
	}
	s.Fill()
	return len(s.whole) > 0
}

// Add adds the values of the Secrets in v. The keys of v itself, if it is a Secret, are public:
// references to the Secret name them.
func (s *Set) Add(v yaml.Value) {
	if Is(v) {
		for _, field := range []string{"data", "stringData"} {
			for _, f := range v.Get(field).Fields() {
				s.Public(f.Key)
			}
		}
		if values := v.Get("data"); s.done[values] && !v.Get("stringData").Exists() {
			return // most steps change the metadata alone
		} else if values.Exists() {
			s.mark(values)
		}
	}
	for x := range Values(v) {
		if !s.done[x] {
			s.mark(x)
			s.AddValue(x.Text())
		}
	}
}

func (s *Set) mark(v yaml.Value) {
	if s.done == nil {
		s.done = map[yaml.Value]bool{}
	}
	s.done[v] = true
}

// AddValue adds a value of a Secret, in base64 or decoded.
func (s *Set) AddValue(text string) {
	s.add(text, false)
	s.add(base64.StdEncoding.EncodeToString([]byte(text)), false)
	if decoded, ok := decode(text); ok {
		s.add(decoded, false)
	}
}

// AddTaken adds a text that a step took from a value of a Secret.
func (s *Set) AddTaken(text string) {
	if s.whole[strings.TrimSpace(text)] {
		return
	}
	if s.names == nil {
		s.names = &Set{}
	}
	s.names.add(text, true)
	s.add(text, true)
	if len(text) < MinTaken {
		return
	}
	s.add(base64.StdEncoding.EncodeToString([]byte(text)), true)
	if decoded, ok := decode(text); ok {
		s.add(decoded, false)
	}
}

// decode decodes a text in base64. ok is false if text is not the base64 form of a text.
func decode(text string) (decoded string, ok bool) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	return string(b), err == nil && len(b) > 0 && utf8.Valid(b)
}

// Public adds the name or namespace of a resource, or a key of a Secret. It and the words in it are
// printed.
func (s *Set) Public(name string) {
	if s.public[name] {
		return
	}
	if s.public == nil {
		s.public = map[string]bool{}
	}
	s.public[name] = true
	const most = 12
	ends := []int{0}
	for i := range len(name) {
		if strings.IndexByte("-./:_", name[i]) >= 0 && len(ends) < most {
			ends = append(ends, i+1)
		}
	}
	ends = append(ends, len(name)+1)
	for i, from := range ends {
		for _, to := range ends[i+1:] {
			s.public[name[from:to-1]] = true
		}
	}
}

func (s *Set) add(text string, taken bool) {
	text = strings.TrimSpace(text)
	if text == "" || !taken && trivial(text) {
		return
	}
	if old, known := s.whole[text]; known && (old || !taken) {
		return
	}
	if s.whole == nil {
		s.whole, s.parts, s.taken = map[string]bool{}, map[string][]string{}, map[string]bool{}
		s.keys = map[[minKey]byte]uint64{}
	}
	s.whole[text] = taken
	least := MinPart
	if taken {
		least = MinTaken
	}
	if len(text) < least {
		s.addPart(`"`+text+`"`, taken) // as messages quote it
		return
	}
	s.addPart(text, taken)
	if escaped := escape(text); escaped != text {
		s.addPart(escaped, taken)
	}
	if !strings.Contains(text, "\n") {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); len(line) >= minLine {
			s.addPart(line, taken)
		}
	}
}

// trivial reports whether a value of a Secret is too short or common to be hidden.
func trivial(text string) bool {
	switch yaml.Plain(text).Type() {
	case yaml.Bool, yaml.Null:
		return true
	case yaml.Int, yaml.Float:
		return len(text) < minNumber
	}
	return len(text) < MinWhole || words.Usual(text)
}

// escape returns a text escaped as in a JSON string.
func escape(text string) string {
	quoted := yaml.AppendJSON(nil, yaml.Str(text))
	return string(quoted[1 : len(quoted)-1])
}

func (s *Set) addPart(text string, taken bool) {
	key := text[:min(len(text), maxKey)]
	list := s.parts[key]
	at, known := slices.BinarySearchFunc(list, text, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	if !known {
		s.parts[key] = slices.Insert(list, at, text)
	}
	if taken {
		s.taken[text] = true
	}
	s.keys[[minKey]byte([]byte(key[:minKey]))] |= 1 << (len(key) - 1)
	s.first[key[0]] = true
}

// Hide returns a text with each text of the set replaced by [Hidden].
func (s *Set) Hide(text string) string { return s.replace(text, Hidden) }

func (s *Set) replace(text, by string) string {
	if !s.filled() {
		return text
	}
	if s.isWhole(text) {
		return by
	}
	var b strings.Builder
	shown := 0
	for i := 0; i+minKey <= len(text); {
		n := 0
		if s.first[text[i]] {
			n = s.part(text[i:])
		}
		if n == 0 {
			i++
			continue
		}
		b.WriteString(text[shown:i])
		b.WriteString(by)
		i += n
		shown = i
	}
	if shown == 0 {
		return text
	}
	b.WriteString(text[shown:])
	return b.String()
}

// isWhole reports whether a scalar is a text of the set.
func (s *Set) isWhole(text string) bool {
	text = strings.TrimSpace(text)
	taken, ok := s.whole[text]
	return ok && (taken || !s.public[text])
}

// part returns the length of the longest text of the set that is a prefix of text, 0 for none.
func (s *Set) part(text string) int {
	lengths := s.keys[[minKey]byte([]byte(text[:minKey]))]
	for n := min(len(text), maxKey); n >= minKey; n-- {
		if lengths&(1<<(n-1)) == 0 {
			continue
		}
		for _, candidate := range s.parts[text[:n]] {
			if strings.HasPrefix(text, candidate) && (s.taken[candidate] || !s.public[strings.Trim(candidate, `"`)]) {
				return len(candidate)
			}
		}
	}
	return 0
}

// HideValue returns v with each text of the set replaced by [Hidden]. Keys are shown, and names of
// resources as by [Set.Name].
func (s *Set) HideValue(v yaml.Value) yaml.Value { return s.ReplaceIn(v, Hidden) }

// ReplaceIn is [Set.HideValue] with a custom replacement.
func (s *Set) ReplaceIn(v yaml.Value, by string) yaml.Value {
	if !s.filled() {
		return v
	}
	switch v.Type() {
	case yaml.None, yaml.Null:
	case yaml.String:
		if text := s.replace(v.Text(), by); text != v.Text() {
			return yaml.Str(text)
		}
	case yaml.Seq:
		v, _ = v.EditItems(func(x yaml.Value) (yaml.Value, error) { return s.ReplaceIn(x, by), nil })
	case yaml.Map:
		return v.EditFields(func(f yaml.Field) yaml.Value {
			if f.Key == "metadata" && f.Value.Type() == yaml.Map {
				return s.inMetadata(f.Value, by)
			}
			return s.ReplaceIn(f.Value, by)
		})
	default:
		if s.isWhole(v.Text()) {
			return yaml.Str(by)
		}
	}
	return v
}

func (s *Set) inMetadata(v yaml.Value, by string) yaml.Value {
	return v.EditFields(func(f yaml.Field) yaml.Value {
		if f.Key == "name" || f.Key == "namespace" {
			return s.names.ReplaceIn(f.Value, by)
		}
		return s.ReplaceIn(f.Value, by)
	})
}

// Show returns v without hidden texts: see [Hide] and [Set.HideValue].
func (s *Set) Show(v yaml.Value) yaml.Value { return Hide(s.HideValue(v)) }

// Name returns the name of a resource. Only texts taken by steps are hidden in it.
func (s *Set) Name(name string) string {
	if !s.filled() {
		return name
	}
	return s.names.Hide(name)
}

// Error returns e with the texts of the set hidden, or e itself if it has none.
func (s *Set) Error(e *diag.Error) *diag.Error {
	msg, field := s.Hide(e.Msg), s.Hide(e.Field)
	var hints []string
	for _, h := range e.Hints {
		hints = append(hints, s.Hide(h))
	}
	if msg == e.Msg && field == e.Field && slices.Equal(hints, e.Hints) {
		return e
	}
	shown := *e
	shown.Msg, shown.Field, shown.Hints, shown.Err = msg, field, hints, e
	return &shown
}

// Err returns err itself if it has no text of the set, else an error that wraps err and hides them.
func (s *Set) Err(err error) error {
	if err == nil || !s.filled() || s.Hide(err.Error()) == err.Error() {
		return err
	}
	var errs []error
	for one := range diag.Each(err) {
		errs = append(errs, s.Error(diag.AsError(one)))
	}
	return errors.Join(errs...)
}
