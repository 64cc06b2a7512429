package lock

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Parse parses a lock file. It reports all mistakes, as [*diag.Error] values joined into one
// error. It is strict because a lock decides which content is accepted: an unknown field, a
// duplicate name or a malformed value is an error, never ignored.
func Parse(src *yaml.Source) (*File, error) {
	f := &File{Path: src.File}
	if line := conflict(src.Data); line > 0 {
		return nil, diag.Errorf(diag.Pos{File: src.File, Line: line}, "", "found a merge conflict marker").With(diag.ConflictMarks).
			Hint("keep the entries of both sides, each once, and remove the markers; krmflow lock sorts them")
	}
	doc, err := src.Strict()
	switch {
	case err != nil:
		return nil, err
	case !doc.Value.Exists():
		return nil, diag.Errorf(diag.Pos{File: src.File}, "",
			"the lock file is empty").With(diag.BadLock).Hint("remove it; krmflow lock writes a new one")
	}
	top := yaml.NewCursor(doc.Value, doc.Locate)
	if !top.Known("apiVersion", "kind", "entries") {
		return nil, top.Err()
	}
	if kind := top.Field("kind"); kind.Text() != KindOfFile {
		kind.Errorf("not a lock file: found kind %q", kind.Text()).With(diag.BadLock)
	} else if v := top.Field("apiVersion"); v.Text() != Version {
		v.Errorf("%q is not %s", v.Text(), Version).With(diag.BadLock).Hint("the file was written by a different version of krmflow")
	}
	for _, item := range top.Field("entries").Items() {
		if item.Known("name", "kind", "commit", "digest", "serial") {
			f.add(item)
		}
	}
	if err := top.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// conflict returns the line of git's first merge conflict marker, 0 if there is none.
func conflict(data []byte) (line int) {
	for text := range bytes.Lines(data) {
		line++
		for _, mark := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
			if bytes.HasPrefix(text, []byte(mark)) {
				return line
			}
		}
	}
	return 0
}

func (f *File) add(item yaml.Cursor) {
	e := Entry{Name: item.Field("name").Line(), Pos: item.Pos()}
	e.Kind = kindOf(item.Field("kind"))
	commit, digest := item.Field("commit"), item.Field("digest")
	switch {
	case commit.Exists() && digest.Exists():
		digest.Errorf("must not be set together with commit").With(diag.BadLock)
	case commit.Exists():
		if e.Commit = commit.Text(); !isCommit(e.Commit) {
			commit.Errorf("%q is not a commit: expected 40 or 64 lower-case hexadecimal digits", e.Commit).With(diag.BadLock)
		}
	case e.Kind == Git:
		item.Errorf("the commit is missing").With(diag.BadLock)
	case !digest.Exists():
		item.Errorf("a commit or a digest is required").With(diag.BadLock)
	default:
		e.Digest = digestOf(digest)
	}
	if serial := item.Field("serial"); serial.Exists() {
		n, err := strconv.ParseUint(serial.Value().Text(), 10, 64)
		if err != nil || n == 0 || serial.Value().Type() != yaml.Int {
			serial.Errorf("must be an integer greater than 0").With(diag.BadLock)
		}
		e.Serial = n
	}
	if before, ok := f.Get(e.Name); ok {
		item.Errorf("%q is already the name of the entry on line %d", e.Name, before.Pos.Line).With(diag.BadLock)
		return
	}
	f.Set(e)
}

func kindOf(c yaml.Cursor) Kind {
	text := c.Required()
	for _, k := range kinds {
		if text == string(k) {
			return k
		}
	}
	if text != "" {
		c.Errorf("unknown kind of entry %q", text).With(diag.BadLock).Hint("the file was written by a different version of krmflow")
	}
	return ""
}

func digestOf(c yaml.Cursor) krm.Digest {
	text := c.Text()
	d, err := krm.ParseDigest(text)
	if err != nil || d.String() != text {
		c.Errorf("%q is not a digest: expected sha256: and 64 lower-case hexadecimal digits", text).With(diag.BadLock)
	}
	return d
}

// isCommit reports whether text is a full commit id.
func isCommit(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}
