package names

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// A Layout says which files a root has, relative to its folder. The zero Layout is that of `kustomize build -o DIR`: a file per resource.
type Layout struct {
	text       string
	template   []piece // nil for the zero Layout
	namespaces int     // > 0: in each name, < 0: in none, 0: if the root has several
	noHash     bool
}

// A piece of a template is text, or the name of a value.
type piece struct {
	text  string
	value string
}

// Stream is the file of layouts that have one per root. Argo CD's hydrator calls it so.
const Stream = "manifest.yaml"

// values are what a template may name.
var values = []string{"namespace", "kind", "name", "group", "version"}

// options are the words of [ParseLayout].
var options = []string{"namespace", "no-namespace", "no-hash"}

// ParseLayout returns the Layout that text names: files, single, hydrator, or a template such as {namespace}/{kind}-{name}.yaml.
// Each word changes the names of layouts with a file per resource: namespace or no-namespace (whether they begin with it), no-hash
// (without the content hash of generated objects).
func ParseLayout(text string, words []string) (Layout, error) {
	y := Layout{text: text}
	for _, word := range words {
		switch word {
		case "namespace":
			y.namespaces = 1
		case "no-namespace":
			y.namespaces = -1
		case "no-hash":
			y.noHash = true
		default:
			e := diag.Errorf(diag.Pos{}, "", "--names: %q is none of %s", word, strings.Join(options, ", ")).With(diag.FlagValue)
			e.Hints = diag.DidYouMean(word, options)
			return Layout{}, e
		}
	}
	if slices.Contains(words, "namespace") && slices.Contains(words, "no-namespace") {
		return Layout{}, errors.New("--names: namespace and no-namespace exclude each other")
	}
	var err error
	switch {
	case text == "" || text == "files":
		return y, nil
	case text == "single", text == "hydrator":
		y.template = []piece{{text: Stream}}
	case !strings.Contains(text, "{"):
		e := diag.Errorf(diag.Pos{}, "", "--layout: %q is neither files, single, hydrator nor a template such as {namespace}/{kind}-{name}.yaml", text).With(diag.FlagValue)
		e.Hints = diag.DidYouMean(text, []string{"files", "single", "hydrator"})
		return Layout{}, e
	default:
		y.template, err = parseTemplate(text)
	}
	switch {
	case err != nil:
		return Layout{}, fmt.Errorf("--layout: %w", err)
	case y.namespaces != 0:
		return Layout{}, errors.New("--names: the layout decides about the namespace; namespace and no-namespace are for the layout files")
	case y.noHash && !y.names("name"):
		return Layout{}, errors.New("--names: no-hash needs a layout with the names of the resources")
	}
	return y, nil
}

// Hydrator reports whether others may have written the files that [Companions] lists.
func (y Layout) Hydrator() bool { return y.text == "hydrator" }

// Companions are what Argo CD's hydrator writes beside a [Stream].
var Companions = []string{"README.md", "hydrator.metadata", ".gitattributes"}

// names reports whether the template has a value.
func (y Layout) names(value string) bool {
	return slices.ContainsFunc(y.template, func(p piece) bool { return p.value == value })
}

// Shared reports whether several resources may have one file.
func (y Layout) Shared() bool { return y.template != nil && !y.names("name") }

func parseTemplate(text string) ([]piece, error) {
	var pieces []piece
	plain := ""
	for rest := text; rest != ""; {
		before, after, open := strings.Cut(rest, "{")
		plain += before
		if before != "" {
			pieces = append(pieces, piece{text: before})
		}
		if !open {
			break
		}
		name, more, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf("%q has no } for each {", text)
		}
		if !slices.Contains(values, name) {
			e := diag.Errorf(diag.Pos{}, "", "{%s} is none of {%s}", name, strings.Join(values, "}, {")).With(diag.FlagValue)
			e.Hints = diag.DidYouMean(name, values)
			return nil, e
		}
		pieces = append(pieces, piece{value: name})
		plain += "x"
		rest = more
	}
	if err := check(plain); err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return pieces, nil
}

// Files returns the file of each resource of l, in order: a slash-separated path. If the Layout is not [Layout.Shared], no two have the
// same. The error says which resource has no file, or which two would share one.
func (y Layout) Files(l *krm.List) ([]string, error) {
	if y.template == nil {
		return y.flat(l)
	}
	names := make([]string, l.Len())
	for i, r := range l.All() {
		name, err := y.fill(y.id(r))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.ID(), err)
		}
		names[i] = name
	}
	if y.Shared() {
		return names, sameCase(names)
	}
	return names, unique(l, names)
}

// sameCase returns an error if two names differ in case alone: they are one file on some systems.
func sameCase(names []string) error {
	seen := map[string]string{}
	for _, name := range names {
		if first, ok := seen[FoldCase(name)]; ok && first != name {
			return fmt.Errorf("%s and %s are one file on some systems", Show(first), Show(name))
		}
		seen[FoldCase(name)] = name
	}
	return nil
}

// fill returns the template with the values of id, in lower case as kustomize's names are.
func (y Layout) fill(id krm.ID) (string, error) {
	var b strings.Builder
	for _, p := range y.template {
		text := p.text
		if p.value != "" {
			text = valueOf(id, p.value)
			if strings.ContainsAny(text, "/\\\x00") {
				return "", fmt.Errorf("%s %q cannot be part of the name of a file", p.value, text)
			}
			text = strings.ToLower(text)
		}
		b.WriteString(text)
	}
	name := b.String()
	dir, file := path.Split(name)
	if len(file) > maxName || reservedOnWindows(file) {
		name = dir + hashed(file, identityHash(id.Key(), 0))
	}
	return name, check(name)
}

// valueOf returns a value of a template. What is in no namespace has a name there that no namespace has.
func valueOf(id krm.ID, value string) string {
	switch value {
	case "kind":
		return id.Kind
	case "name":
		return id.Name
	case "group":
		return cmp.Or(id.Group, "core")
	case "version":
		return id.Version
	}
	if ns := id.EffectiveNamespace(); ns != krm.ClusterScope {
		return ns
	}
	return "_cluster"
}

// check returns an error if file is no path of a file that a Layout may have.
func check(file string) error {
	switch {
	case len(file) > maxPath:
		return fmt.Errorf("the path is longer than %d bytes", maxPath)
	case path.IsAbs(file), path.Clean(file) != file, !filepath.IsLocal(filepath.FromSlash(file)), strings.ContainsRune(file, 0):
		return fmt.Errorf("%s is not a file inside the folder", Show(file))
	case path.Ext(file) != ext && path.Ext(file) != ".yml":
		return fmt.Errorf("%s does not end in .yaml or .yml", Show(file))
	}
	for part := range strings.SplitSeq(file, "/") {
		switch {
		case part[0] == '.':
			return fmt.Errorf("%s begins with a dot", Show(part))
		case len(part) > maxName:
			return fmt.Errorf("%s... is longer than %d bytes", Show(part[:40]), maxName)
		}
	}
	switch strings.ToLower(path.Base(file)) {
	case "kustomization.yaml", "kustomization.yml":
		return fmt.Errorf("%s would make the folder a Kustomization", Show(file))
	}
	return nil
}

// Valid reports whether a [Layout] may have a file of that name.
func Valid(file string) bool { return file != "" && check(file) == nil }

// prefixed reports whether the names of l begin with the namespace.
func (y Layout) prefixed(l *krm.List) bool {
	return y.namespaces > 0 || y.namespaces == 0 && spansNamespaces(l)
}

// id returns the identity that names the file of r.
func (y Layout) id(r *krm.Resource) krm.ID {
	id := r.ID()
	if !y.noHash || !r.NeedsHash {
		return id
	}
	const hash = 10 // the length of kustomize's
	if n := len(id.Name) - hash - 1; n > 0 && id.Name[n] == '-' && slices.ContainsFunc(r.Prev, func(p krm.ID) bool { return p.Name == id.Name[:n] }) {
		id.Name = id.Name[:n]
	}
	return id
}
