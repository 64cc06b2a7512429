package manifest

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/output/names"
)

// Read adds the content of the manifest in a folder. Because listed files are replaced and
// removed, it rejects names outside of the folder and names that krmflow would not write.
//
// A manifest with merged versions, including one with conflict markers, has the files of all
// versions: krmflow wrote each of them. A file in the output still counts as written by krmflow
// only if its content has one of the recorded digests.
func (m *Manifest) Read(dir, text string) error {
	r := reader{m: m, dir: dir, place: place{root: dir}}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		r.n++
		if err := r.line(strings.TrimSuffix(line, "\r")); err != nil {
			return fmt.Errorf("line %d: %w", r.n, err)
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	if !strings.HasSuffix(text, "\n") {
		return errors.New("it is incomplete")
	}
	m.texts[dir] = text
	return nil
}

// IsTop reports whether text is the top manifest of an output folder.
func IsTop(text string) bool {
	first, rest, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(first, "\r") == oldHeader || strings.TrimSuffix(first, "\r") == header && strings.HasPrefix(rest, "base ")
}

// IsOld reports whether text is a manifest for a whole output folder in the format of an earlier
// version of krmflow.
func IsOld(text string) bool { return strings.HasPrefix(text, oldHeader) }

// Is reports whether text starts like a manifest.
func Is(text string) bool {
	return strings.HasPrefix(text, header) || strings.HasPrefix(text, oldHeader) || strings.HasPrefix(text, marks[0])
}

// marks are git's conflict markers at the start of a line.
var marks = [...]string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"}

// mark returns the index in marks of the marker on a line, or -1.
func mark(line string) int {
	for i, mark := range marks {
		if line == mark || strings.HasPrefix(line, mark+" ") {
			return i
		}
	}
	return -1
}

// versions returns the two versions of data with git conflict markers, and whether there are
// markers.
func versions(data []byte) (ours, theirs []byte, ok bool) {
	if !bytes.Contains(data, []byte(marks[0])) || !bytes.Contains(data, []byte(marks[3])) {
		return nil, nil, false
	}
	in := -1 // the previous marker
	for line := range bytes.Lines(data) {
		if at := mark(strings.TrimRight(string(line), "\r\n")); at >= 0 {
			in, ok = at, true
			continue
		}
		if in != 1 && in != 2 {
			ours = append(ours, line...)
		}
		if in != 0 && in != 1 {
			theirs = append(theirs, line...)
		}
	}
	return ours, theirs, ok
}

// A place is the position that the next line belongs to.
type place struct {
	root, file string
	digests    int // number of digests of file
}

// A reader parses the lines of a manifest.
type reader struct {
	m    *Manifest
	dir  string
	n    int
	head string // first line without a marker

	place
	ours  place // start of the first version in a conflict
	files int   // number of files in an old manifest
	last  int   // number of files according to the last line of an old manifest, plus one
}

func (r *reader) line(line string) error {
	if at := mark(line); at >= 0 {
		r.m.Torn[r.dir] = true
		switch at {
		case 0:
			r.ours = r.place
		case 1, 2:
			r.place = r.ours
		}
		return nil
	}
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case r.head == "":
		if line != header && (line != oldHeader || r.dir != ".") {
			return errors.New("it does not start with " + header)
		}
		r.head = line
	case line == header, line == oldHeader:
		r.m.Torn[r.dir] = true
	case word == "base":
		return r.base(rest)
	case word == "shard", strings.HasPrefix(word, "shard-"):
		return r.shard(word, rest)
	case word == "root" && r.dir == ".":
		return r.readRoot(rest)
	case word == "files" && r.head == oldHeader:
		n, err := strconv.Atoi(rest)
		r.last = n + 1
		return err
	case r.last > 0 && !r.m.Torn[r.dir]:
		return errors.New("text after the last line")
	case word == "":
		return r.digest(rest)
	case line[0] == '"':
		return r.name(line)
	default:
		return r.old(line)
	}
	return nil
}

func (r *reader) base(quoted string) error {
	base, err := strconv.Unquote(quoted)
	if err != nil || r.dir != "." || base == "" || len(base) > maxPath || path.Clean(base) != base {
		return errors.New("bad base")
	}
	if r.m.Base != "" {
		r.m.Torn[r.dir] = true
		return nil
	}
	r.m.Base = base
	return nil
}

func (r *reader) readRoot(quoted string) error {
	root, err := strconv.Unquote(quoted)
	if err != nil || ValidRoot(root) != nil {
		return errors.New("bad folder")
	}
	r.place = place{root: root}
	return nil
}

func (r *reader) name(quoted string) error {
	file, err := strconv.Unquote(quoted)
	if err != nil || !names.Valid(file) {
		return errors.New("bad file name")
	}
	if file <= r.file || r.file != "" && r.digests != 1 {
		r.m.Torn[r.dir] = true
	}
	r.file, r.digests = file, 0
	return nil
}

func (r *reader) digest(text string) error {
	if r.file == "" {
		return errors.New("a digest without a file")
	}
	if r.digests++; r.digests > 1 {
		r.m.Torn[r.dir] = true
	}
	text, secret := strings.CutPrefix(text, "secret ")
	return r.add(r.file, text, secret)
}

// old parses the line of a file in an old manifest.
func (r *reader) old(line string) error {
	line, secret := strings.CutPrefix(line, "secret ")
	sum, quoted, _ := strings.Cut(line, " ")
	if len(sum) != hex.EncodedLen(len(Record{}.Sum)) {
		return errors.New("bad digest")
	}
	file, err := strconv.Unquote(quoted)
	if err != nil || !names.Valid(file) || strings.Contains(file, "/") || r.head != oldHeader {
		return errors.New("bad file name")
	}
	r.files++
	return r.add(file, sum, secret)
}

func (r *reader) add(file, sum string, secret bool) error {
	rec := Record{Secret: secret}
	if len(sum) != hex.EncodedLen(len(rec.Sum)) {
		return errors.New("bad digest")
	}
	if _, err := hex.Decode(rec.Sum[:], []byte(sum)); err != nil {
		return errors.New("bad digest")
	}
	if len(r.root)+len(file) > maxPath {
		return errors.New("bad file name")
	}
	return r.m.add(r.root, file, rec)
}

func (r *reader) end() error {
	if r.head == "" {
		return errors.New("it does not start with " + header)
	}
	if r.head == oldHeader && r.last != r.files+1 && !r.m.Torn[r.dir] {
		return errors.New("it is incomplete")
	}
	if r.file != "" && r.digests != 1 {
		r.m.Torn[r.dir] = true
	}
	return nil
}

// ValidRoot returns an error if root is not a folder in or equal to the output folder.
func ValidRoot(root string) error {
	if root == "." {
		return nil
	}
	if len(root) > maxPath {
		return fmt.Errorf("%q... is longer than %d bytes", root[:40], maxPath)
	}
	if strings.HasPrefix(root, "/") || path.Clean(root) != root || strings.ContainsRune(root, 0) ||
		!filepath.IsLocal(filepath.FromSlash(root)) {
		return fmt.Errorf("%q is not a folder inside the output folder", root)
	}
	for dir := range strings.SplitSeq(root, "/") {
		if strings.HasPrefix(names.FoldCase(dir), Reserved) {
			return fmt.Errorf("%q: names that start with %s are krmflow's own", root, Reserved)
		}
	}
	return nil
}
