// Package names assigns the resources of a root to files of an output folder.
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/krmflow/krmflow/krm"
)

const (
	ext = ".yaml"
	// maxName is the limit of common file systems for a path component, in bytes.
	maxName = 255
	// maxStem is the length to which longer names are cut.
	maxStem = 200
	maxPath = 4096 // common limit of systems
)

// Of returns the file name of each resource of l, in order. It uses kustomize's name if that is a
// valid path component and unique in the folder, ignoring case. Other names are escaped (%2F),
// shortened, or disambiguated by eight digits of a hash of the resource's identity. A name never
// contains a slash and never starts with a dot. The error names two resources that would still
// share a file.
func Of(l *krm.List) ([]string, error) { return Layout{}.flat(l) }

// flat returns the names in a folder with one file per resource.
func (y Layout) flat(l *krm.List) ([]string, error) {
	names := make([]string, l.Len())
	folder := make(map[string]int, l.Len()) // folded name -> number of resources
	prefix := y.prefixed(l)
	for i, r := range l.All() {
		names[i] = escape(kustomizeName(y.id(r), prefix))
		folder[FoldCase(names[i])]++
	}
	seen := map[krm.ID]int{}
	for i, r := range l.All() {
		if folder[FoldCase(names[i])] > 1 || len(names[i]) > maxName || reservedOnWindows(names[i]) {
			key := r.ID().Key()
			names[i] = hashed(names[i], identityHash(key, seen[key]))
			seen[key]++
		}
	}
	if len(seen) == 0 {
		return names, nil
	}
	return names, unique(l, names)
}

// unique returns an error that names two resources with the same file name.
func unique(l *krm.List, names []string) error {
	owner := make(map[string]int, len(names))
	for i, name := range names {
		if j, ok := owner[FoldCase(name)]; ok {
			return fmt.Errorf("%s and %s would both be written to %s", l.At(j).ID(), l.At(i).ID(), Show(name))
		}
		owner[FoldCase(name)] = i
	}
	return nil
}

// spansNamespaces reports whether the namespaced objects are in more than one namespace.
func spansNamespaces(l *krm.List) bool {
	first := ""
	for _, r := range l.All() {
		switch ns := r.ID().EffectiveNamespace(); {
		case ns == krm.ClusterScope || ns == first:
		case first == "":
			first = ns
		default:
			return true
		}
	}
	return false
}

// kustomizeName returns the file name that `kustomize build -o dir` uses.
func kustomizeName(id krm.ID, prefix bool) string {
	var b strings.Builder
	if ns := id.EffectiveNamespace(); prefix && ns != krm.ClusterScope {
		b.WriteString(ns)
		b.WriteByte('_')
	}
	sep := ""
	for _, s := range [...]string{id.Group, id.Version, id.Kind} {
		if s != "" {
			b.WriteString(sep)
			b.WriteString(s)
			sep = "_"
		}
	}
	b.WriteByte('_')
	b.WriteString(id.Name)
	b.WriteString(ext)
	return strings.ToLower(b.String())
}

// escape replaces bytes that are invalid in a path component with %XX.
func escape(name string) string {
	var escaped []byte // nil until the first replacement
	for i := range len(name) {
		switch c := name[i]; {
		case c == '/', c == 0, c == '.' && i == 0, runtime.GOOS == "windows" && (c < ' ' || strings.IndexByte(`<>:"\|?*`, c) >= 0):
			if escaped == nil {
				escaped = []byte(name[:i])
			}
			escaped = fmt.Appendf(escaped, "%%%02X", c)
		case escaped != nil:
			escaped = append(escaped, c)
		}
	}
	if escaped == nil {
		return name
	}
	return string(escaped)
}

// hashed adds a hash to the stem of name and shortens a long stem. A reserved name ends at the
// first dot, so for such a name the hash goes before the dot.
func hashed(name, hash string) string {
	stem := strings.TrimSuffix(name, ext)
	if len(stem) > maxStem {
		n := maxStem
		for !utf8.RuneStart(stem[n]) {
			n--
		}
		stem = stem[:n]
	}
	if reservedOnWindows(name) {
		word, rest, _ := strings.Cut(stem+".", ".")
		return strings.TrimSuffix(word+"-"+hash+"."+rest, ".") + ext
	}
	return stem + "-" + hash + ext
}

// identityHash returns eight digits that depend only on the identity. nth distinguishes resources
// with the same identity, which a valid list does not have.
func identityHash(id krm.ID, nth int) string {
	text := strings.Join([]string{id.Group, id.Version, id.Kind, id.Namespace, id.Name, strconv.Itoa(nth)}, "\x00")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// reservedOnWindows reports whether the part of name before the first dot is a device name on
// Windows, where no file can have such a name. It applies on all systems, because output is often
// committed to a repository that is checked out elsewhere.
func reservedOnWindows(name string) bool {
	word, _, _ := strings.Cut(name, ".")
	word = strings.ToLower(strings.TrimRight(word, " "))
	switch word {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	if digit, ok := strings.CutPrefix(word, "com"); ok || strings.HasPrefix(word, "lpt") {
		digit = strings.TrimPrefix(digit, "lpt")
		r, n := utf8.DecodeRuneInString(digit)
		return n == len(digit) && strings.ContainsRune("123456789¹²³", r)
	}
	return false
}

// FoldCase maps names that differ only in case to the same string.
func FoldCase(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return strings.Map(smallestFold, s)
		}
	}
	return s
}

func smallestFold(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	// The smallest rune of an orbit is the capital letter. Lower case is the canonical form, as
	// in the fast path of FoldCase.
	if 'A' <= least && least <= 'Z' {
		return least + ('a' - 'A')
	}
	return least
}

// Show returns name for use in messages: quoted if it contains special characters.
func Show(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}
