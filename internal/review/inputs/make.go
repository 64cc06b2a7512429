package inputs

import (
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// stem returns the replacement for % in the target of a root: its directory, or the base name of
// the absolute directory if dir ends in "." or "..".
func stem(dir string) string {
	dir = filepath.Clean(dir)
	if base := filepath.Base(dir); base == "." || base == ".." {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = filepath.Base(abs)
		}
	}
	return filepath.ToSlash(dir)
}

// WriteMake writes a GNU make rule for each root. The target depends on all input files, and on
// absent inputs once they exist. target is the name of the target, in which % is replaced by
// [stem] of the root's directory.
//
// Like the dependency files of compilers, the output has an empty rule for each file, so make
// does not fail when a file was deleted. WriteMake returns an error for a file name that a
// makefile cannot express.
func WriteMake(w io.Writer, roots []Root, n Naming, target string) error {
	var b strings.Builder
	once := map[string]bool{}
	var all []string
	for _, r := range roots {
		name, err := makeName(strings.ReplaceAll(target, "%", stem(r.Dir)))
		if err != nil {
			return err
		}
		b.WriteString(strings.ReplaceAll(name, "%", `\%`) + ":")
		for _, path := range files(r) {
			name, err := makeName(filepath.ToSlash(n.Name(path)))
			if err != nil {
				return err
			}
			b.WriteString(" \\\n  " + name)
			if !once[name] {
				once[name] = true
				all = append(all, name)
			}
		}
		for _, in := range r.Inputs {
			if name := filepath.ToSlash(n.Name(in.Path)); in.Kind == Absent && plain.MatchString(name) {
				b.WriteString(" \\\n  $(wildcard " + name + ")")
			}
		}
		b.WriteString("\n")
		for _, remote := range r.Remote {
			b.WriteString("# remote: " + diag.OneLine(remote.Reference) + " " + diag.OneLine(remote.Version) + "\n")
		}
	}
	slices.Sort(all)
	for _, name := range all {
		b.WriteString("\n" + strings.ReplaceAll(name, "%", `\%`) + ":\n")
	}
	text := b.String()
	for _, v := range []string{"$(krmflow.equals)", "$(krmflow.end)"} {
		if strings.Contains(text, v) {
			text = makeVariables + text
			break
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// makeVariables defines variables for characters that cannot be escaped: "=", and an empty value
// that separates a trailing "&" from the colon of the rule.
const makeVariables = "krmflow.equals := =\nkrmflow.end :=\n"

// plain matches names without special characters for make.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./+,@-]+$`)

// isMember reports whether make would read a name as an archive member, such as lib.a(file.o).
func isMember(name string) bool {
	i := strings.IndexByte(name, '(')
	return i > 0 && i < len(name)-2 && strings.HasSuffix(name, ")")
}

// makeName returns a name with the quoting of GNU make rules, or an error if make has no way to
// quote it.
func makeName(name string) (string, error) {
	if strings.ContainsAny(name, ";\\\n\r") || strings.HasPrefix(name, "~") || strings.TrimRight(name, " \t") != name || isMember(name) {
		return "", diag.BadValue.Errorf("%q: a makefile cannot name a file like this", name)
	}
	if plain.MatchString(name) {
		return name, nil
	}
	var b strings.Builder
	for i := range len(name) { // bytes, because file names need not be UTF-8
		switch c := name[i]; {
		case strings.IndexByte(" \t#:*?[|", c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '$':
			b.WriteString("$$")
		case c == '=':
			b.WriteString("$(krmflow.equals)")
		default:
			b.WriteByte(c)
		}
	}
	if strings.HasSuffix(name, "&") {
		b.WriteString("$(krmflow.end)")
	}
	return b.String(), nil
}
