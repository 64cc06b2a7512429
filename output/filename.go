package output

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
	fileExt = ".yaml"
	// maxFileName is what common file systems allow in one path component.
	maxFileName = 255
	// maxStem is how much is kept of a name that is longer.
	maxStem = 200
)

// FileNames returns the file name of each resource of l, in order: the name that kustomize gives it wherever that is one
// valid path component and unique in the folder, also where upper and lower case are the same. Other names are escaped
// (%2F), shortened, or told apart by eight digits of the hash of the identity. A name never contains a slash and never
// starts with a dot. The error names two resources that would still share a file.
func FileNames(l *krm.List) ([]string, error) {
	names := make([]string, l.Len())
	folder := make(map[string]int, l.Len()) // folded name -> how many resources want it
	prefix := spansNamespaces(l)
	for i, r := range l.All() {
		names[i] = escapeFileName(kustomizeFileName(r.ID(), prefix))
		folder[foldCase(names[i])]++
	}
	seen := map[krm.ID]int{}
	for i, r := range l.All() {
		if folder[foldCase(names[i])] > 1 || len(names[i]) > maxFileName || reservedOnWindows(names[i]) {
			key := r.ID().Key()
			names[i] = hashedFileName(names[i], identityHash(key, seen[key]))
			seen[key]++
		}
	}
	if len(seen) == 0 {
		return names, nil
	}
	owner := make(map[string]int, len(names))
	for i, name := range names {
		if j, ok := owner[foldCase(name)]; ok {
			return nil, fmt.Errorf("%s and %s would both be written to %s", l.At(j).ID(), l.At(i).ID(), showPath(name))
		}
		owner[foldCase(name)] = i
	}
	return names, nil
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

// kustomizeFileName returns the name that `kustomize build -o dir` uses.
func kustomizeFileName(id krm.ID, prefix bool) string {
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
	b.WriteString(fileExt)
	return strings.ToLower(b.String())
}

// escapeFileName replaces what cannot be in a path component by %XX.
func escapeFileName(name string) string {
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

// hashedFileName adds hash to the stem of name, which is shortened if it is long. A reserved word ends at the first dot,
// so there the hash must come before that.
func hashedFileName(name, hash string) string {
	stem := strings.TrimSuffix(name, fileExt)
	if len(stem) > maxStem {
		n := maxStem
		for !utf8.RuneStart(stem[n]) {
			n--
		}
		stem = stem[:n]
	}
	if reservedOnWindows(name) {
		word, rest, _ := strings.Cut(stem+".", ".")
		return strings.TrimSuffix(word+"-"+hash+"."+rest, ".") + fileExt
	}
	return stem + "-" + hash + fileExt
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

// foldCase maps names that differ only in case to one string.
func foldCase(s string) string {
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

// showPath returns name as messages show it: quoted if it has characters that could be mistaken for something else.
func showPath(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}
