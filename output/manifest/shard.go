package manifest

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/krm"
)

// A Shard describes the part of an output that a partial folder has. It is in the manifest of the
// folder itself.
type Shard struct {
	// Index is the number of the shard, from 1 to Count.
	Index, Count int
	// All identifies the list of the roots of all shards: see [RootsDigest].
	All krm.Digest
	// Version is the version of krmflow, and Flags are the flags that affect the output.
	Version, Flags string
	// From is the slash-separated path of the directory that contains the roots, relative to the
	// working directory of the run, or "" if unknown.
	From string
	// Roots are the folders of the rendered roots of the shard, sorted. They include roots without
	// files. Failed are the folders of the roots that could not be rendered.
	Roots, Failed []string
}

// RootsDigest returns a digest of a list of root folders in any order.
func RootsDigest(roots []string) krm.Digest {
	var b []byte
	for _, root := range slices.Sorted(slices.Values(roots)) {
		b = append(strconv.AppendQuote(b, root), '\n')
	}
	return krm.DigestOf(b)
}

// String returns the number of the shard in the form of --shard.
func (s *Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Equal reports whether two shards are equal or both nil.
func (s *Shard) Equal(o *Shard) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.String() == o.String() && s.All == o.All && s.Version == o.Version && s.Flags == o.Flags && s.From == o.From &&
		slices.Equal(s.Roots, o.Roots) && slices.Equal(s.Failed, o.Failed)
}

// append appends the lines for the manifest of the folder.
func (s *Shard) append(b []byte) []byte {
	b = fmt.Appendf(b, "shard %d/%d %s\n", s.Index, s.Count, hex.EncodeToString(s.All[:]))
	for _, field := range [][2]string{{"version", s.Version}, {"flags", s.Flags}, {"from", s.From}} {
		b = append(strconv.AppendQuote(append(b, "shard-"+field[0]+" "...), field[1]), '\n')
	}
	for _, root := range s.Roots {
		b = append(strconv.AppendQuote(append(b, "shard-root "...), root), '\n')
	}
	for _, root := range s.Failed {
		b = append(strconv.AppendQuote(append(b, "shard-failed "...), root), '\n')
	}
	return b
}

// shard reads one of these lines.
func (r *reader) shard(word, rest string) error {
	if r.dir != "." {
		return errors.New("a shard in the folder of a root")
	}
	if word == "shard" {
		return r.readShard(rest)
	}
	s := r.m.Shard
	text, err := strconv.Unquote(rest)
	if s == nil || err != nil {
		return errors.New("bad shard")
	}
	switch word {
	case "shard-version":
		s.Version = text
	case "shard-flags":
		s.Flags = text
	case "shard-from":
		s.From = text
	case "shard-root":
		if ValidRoot(text) != nil || len(s.Roots) > 0 && text <= s.Roots[len(s.Roots)-1] {
			return errors.New("bad folder")
		}
		s.Roots = append(s.Roots, text)
	case "shard-failed":
		if ValidRoot(text) != nil {
			return errors.New("bad folder")
		}
		s.Failed = append(s.Failed, text)
	default:
		return errors.New("bad shard")
	}
	return nil
}

// readShard reads the number of the shard and the digest of all roots.
func (r *reader) readShard(text string) error {
	numbers, sum, _ := strings.Cut(text, " ")
	index, count, ok := strings.Cut(numbers, "/")
	i, errIndex := strconv.Atoi(index)
	n, errCount := strconv.Atoi(count)
	s := &Shard{Index: i, Count: n}
	if !ok || cmp.Or(errIndex, errCount) != nil || i < 1 || i > n || len(sum) != hex.EncodedLen(len(s.All)) || r.m.Shard != nil {
		return errors.New("bad shard")
	}
	if _, err := hex.Decode(s.All[:], []byte(sum)); err != nil {
		return errors.New("bad digest")
	}
	r.m.Shard = s
	return nil
}
