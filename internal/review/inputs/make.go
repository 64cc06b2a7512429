package inputs

import (
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// stem returns what % stands for in the target of a root: its directory, or the name of that if a path such as .. does not say it.
func stem(dir string) string {
	dir = filepath.Clean(dir)
	if base := filepath.Base(dir); base == "." || base == ".." {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = filepath.Base(abs)
		}
	}
	return filepath.ToSlash(dir)
}

// WriteMake writes a rule for GNU make for each root: its target depends on all files that are read, and on those that were looked for once they
// are there. In target, % stands for the directory of the root, see [stem]. A rule without a recipe for each file, as compilers write them, keeps make
// from failing when one is gone.
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

// makeVariables stand for what has a meaning wherever it is written, and for the end of a name, where & has one.
const makeVariables = "krmflow.equals := =\nkrmflow.end :=\n"

// plain are names that have a meaning nowhere in a makefile.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./+,@-]+$`)

// isMember reports whether a name is that of a part of an archive for make, as lib.a(file.o) is.
func isMember(name string) bool {
	i := strings.IndexByte(name, '(')
	return i > 0 && i < len(name)-2 && strings.HasSuffix(name, ")")
}

// makeName returns a name as GNU make reads it in a rule. It has no way to write some.
func makeName(name string) (string, error) {
	if strings.ContainsAny(name, ";\\\n\r") || strings.HasPrefix(name, "~") || strings.TrimRight(name, " \t") != name || isMember(name) {
		return "", diag.BadValue.Errorf("%q: a makefile cannot name a file like this", name)
	}
	if plain.MatchString(name) {
		return name, nil
	}
	var b strings.Builder
	for i := range len(name) { // bytes: for make and the file system a name need not be UTF-8
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
