// Package names decides which file of an output folder each resource goes to.
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
	// maxName is what common file systems allow in one path component.
	maxName = 255
	// maxStem is how much is kept of a name that is longer.
	maxStem = 200
	maxPath = 4096 // what systems take
)

// Of returns the file name of each resource of l, in order: the name that kustomize gives it wherever that is one
// valid path component and unique in the folder, also where upper and lower case are the same. Other names are escaped
// (%2F), shortened, or told apart by eight digits of the hash of the identity. A name never contains a slash and never
// starts with a dot. The error names two resources that would still share a file.
func Of(l *krm.List) ([]string, error) { return Layout{}.flat(l) }

// flat returns the names of a folder that has one file per resource.
func (y Layout) flat(l *krm.List) ([]string, error) {
	names := make([]string, l.Len())
	folder := make(map[string]int, l.Len()) // folded name -> how many resources want it
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

// unique returns an error that names two resources of one name.
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

// spansNamespaces reports whether the objects that have a namespace are in more than one.
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

// kustomizeName returns the name that `kustomize build -o dir` uses.
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

// escape replaces what cannot be in a path component by %XX.
func escape(name string) string {
	var escaped []byte // nil while there is nothing to replace
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

// hashed adds hash to the stem of name, which is shortened if it is long. A reserved word ends at the first dot,
// so there the hash must come before that.
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

// identityHash returns eight digits that depend on the identity alone; nth counts resources of one identity, which a
// valid list does not have.
func identityHash(id krm.ID, nth int) string {
	text := strings.Join([]string{id.Group, id.Version, id.Kind, id.Namespace, id.Name, strconv.Itoa(nth)}, "\x00")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// reservedOnWindows reports whether the part of name before its first dot is the name of a device there, which no file
// can have; output is often committed to a repository that is checked out on several systems.
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

// FoldCase maps names that differ only in case to one string.
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
	// The orbit of a letter starts with its capital; plain lower case stays as it is in the fast path above.
	if 'A' <= least && least <= 'Z' {
		return least + ('a' - 'A')
	}
	return least
}

// Show returns name as messages show it: quoted if it has characters that could be mistaken for something else.
func Show(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}
