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

// A Layout determines the files of a root, relative to its folder. The zero Layout is that of
// `kustomize build -o DIR`: one file per resource.
type Layout struct {
	text       string
	template   []piece // nil for the zero Layout
	namespaces int     // prefix names with the namespace: > 0 always, < 0 never, 0 if a root has several
	noHash     bool
}

// A piece of a template is literal text or a placeholder for a value.
type piece struct {
	text  string
	value string
}

// Stream is the file name in layouts with one file per root. Argo CD's hydrator uses the same
// name.
const Stream = "manifest.yaml"

// values are the valid placeholders of a template.
var values = []string{"namespace", "kind", "name", "group", "version"}

// options are the valid words for [ParseLayout].
var options = []string{"namespace", "no-namespace", "no-hash"}

// ParseLayout returns the Layout for text: files, single, hydrator, or a template such as
// {namespace}/{kind}-{name}.yaml. words change the file names: namespace and no-namespace turn
// the namespace prefix on or off in the layout files, and no-hash omits the content hash of
// generated objects in layouts with one file per resource.
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
			e := diag.Errorf(diag.Pos{}, "", "--names: %q is not one of %s", word, strings.Join(options, ", ")).With(diag.FlagValue)
			e.Hints = diag.DidYouMean(word, options)
			return Layout{}, e
		}
	}
	if slices.Contains(words, "namespace") && slices.Contains(words, "no-namespace") {
		return Layout{}, errors.New("--names: namespace and no-namespace cannot be combined")
	}
	var err error
	switch {
	case text == "" || text == "files":
		return y, nil
	case text == "single", text == "hydrator":
		y.template = []piece{{text: Stream}}
	case !strings.Contains(text, "{"):
		e := diag.Errorf(diag.Pos{}, "", "--layout: %q is not files, single, hydrator or a template such as {namespace}/{kind}-{name}.yaml",
			text).With(diag.FlagValue)
		e.Hints = diag.DidYouMean(text, []string{"files", "single", "hydrator"})
		return Layout{}, e
	default:
		y.template, err = parseTemplate(text)
	}
	switch {
	case err != nil:
		return Layout{}, fmt.Errorf("--layout: %w", err)
	case y.namespaces != 0:
		return Layout{}, errors.New("--names: namespace and no-namespace can be used only with the layout files")
	case y.noHash && !y.names("name"):
		return Layout{}, errors.New("--names: no-hash needs a layout with the names of the resources")
	}
	return y, nil
}

// Hydrator reports whether the files in [Companions] may exist next to the output.
func (y Layout) Hydrator() bool { return y.text == "hydrator" }

// Companions are the files that Argo CD's hydrator writes next to a [Stream].
var Companions = []string{"README.md", "hydrator.metadata", ".gitattributes"}

// names reports whether the template contains a placeholder.
func (y Layout) names(value string) bool {
	return slices.ContainsFunc(y.template, func(p piece) bool { return p.value == value })
}

// Shared reports whether several resources may share a file.
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
			return nil, fmt.Errorf("%q has a { without a }", text)
		}
		if !slices.Contains(values, name) {
			e := diag.Errorf(diag.Pos{}, "", "{%s} is not one of {%s}", name, strings.Join(values, "}, {")).With(diag.FlagValue)
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

// Files returns the slash-separated path of the file of each resource in l, in order. The paths
// are unique unless the Layout is [Layout.Shared]. The error names a resource without a valid
// path, or two resources with the same path.
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

// sameCase returns an error if two names differ only in case, because they are the same file on
// some systems.
func sameCase(names []string) error {
	seen := map[string]string{}
	for _, name := range names {
		if first, ok := seen[FoldCase(name)]; ok && first != name {
			return fmt.Errorf("%s and %s are the same file on some systems", Show(first), Show(name))
		}
		seen[FoldCase(name)] = name
	}
	return nil
}

// fill returns the template with the values of id, in lower case like kustomize's names.
func (y Layout) fill(id krm.ID) (string, error) {
	var b strings.Builder
	for _, p := range y.template {
		text := p.text
		if p.value != "" {
			text = valueOf(id, p.value)
			if strings.ContainsAny(text, "/\\\x00") {
				return "", fmt.Errorf("%s %q cannot be part of a file name", p.value, text)
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

// valueOf returns the value of a placeholder. For a cluster-scoped object, the namespace is a
// name that no namespace can have.
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

// check returns an error if file is not a valid path in a Layout.
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

// Valid reports whether file is a valid path in a [Layout].
func Valid(file string) bool { return file != "" && check(file) == nil }

// prefixed reports whether the file names of l start with the namespace.
func (y Layout) prefixed(l *krm.List) bool {
	return y.namespaces > 0 || y.namespaces == 0 && spansNamespaces(l)
}

// id returns the identity used for the file name of r.
func (y Layout) id(r *krm.Resource) krm.ID {
	id := r.ID()
	if !y.noHash || !r.NeedsHash {
		return id
	}
	const hash = 10 // length of kustomize's hash
	if n := len(id.Name) - hash - 1; n > 0 && id.Name[n] == '-' &&
		slices.ContainsFunc(r.Prev, func(p krm.ID) bool { return p.Name == id.Name[:n] }) {
		id.Name = id.Name[:n]
	}
	return id
}
