package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Generator is a type of generator in kustomization files.
type Generator struct {
	// Field is the field that holds the generator's entries.
	Field string
	// Kind is the kind of the generated objects.
	Kind string
}

// The generators of kustomization files.
var (
	ConfigMaps = Generator{"configMapGenerator", "ConfigMap"}
	Secrets    = Generator{"secretGenerator", "Secret"}
)

// Sources holds the generator flags of `edit add` and `edit set`.
type Sources struct {
	Literals              []string // KEY=VALUE
	Files                 []string // PATTERN or KEY=PATTERN
	EnvFile               string
	Behavior              string
	Type                  string // of a Secret
	Namespace             string
	NewNamespace          string
	DisableNameSuffixHash bool
}

// Add returns an edit that adds sources to the entry with the given name and namespace. It
// creates the entry if necessary.
func (g Generator) Add(args []string, s Sources) (Edit, error) {
	name, err := g.name(args)
	switch {
	case err != nil:
		return nil, err
	case s.EnvFile == "" && len(s.Files) == 0 && len(s.Literals) == 0:
		return nil, errors.New("--from-literal, --from-file or --from-env-file is required")
	case s.EnvFile != "" && len(s.Literals) > 0:
		return nil, errors.New("--from-env-file and --from-literal are mutually exclusive")
	case s.Behavior != "" && !slices.Contains([]string{"create", "merge", "replace"}, s.Behavior):
		return nil, fmt.Errorf("--behavior must be create, merge or replace, not %q", s.Behavior)
	}
	return func(k *Kustomization) error {
		files, err := k.expand(s.Files)
		if err != nil {
			return err
		}
		switch {
		case s.EnvFile == "" && len(files) == 0 && len(s.Literals) == 0:
			return errors.New("no file matches --from-file")
		case s.EnvFile != "" && len(files) > 0:
			return errors.New("--from-env-file and --from-file are mutually exclusive")
		}
		entries := slices.Clone(k.items(g.Field))
		i := find(entries, name, s.Namespace)
		if i < 0 {
			i = len(entries)
			entries = append(entries, g.entry(name, s))
		}
		entries[i] = withSources(k.withoutPatterns(entries[i], "files", s.Files), s, files)
		k.setItems(g.Field, entries)
		return k.check(g, i, entries[i])
	}, nil
}

// Set returns an edit that changes values of existing literals of an entry, or its namespace.
func (g Generator) Set(args []string, s Sources) (Edit, error) {
	name, err := g.name(args)
	if err != nil {
		return nil, err
	}
	if len(s.Literals) == 0 && s.NewNamespace == "" {
		return nil, errors.New("--from-literal or --new-namespace is required")
	}
	return func(k *Kustomization) error {
		entries := slices.Clone(k.items(g.Field))
		i := find(entries, name, s.Namespace)
		if i < 0 {
			return g.missing(name, entries)
		}
		if len(s.Literals) > 0 {
			literals, err := withLiterals(texts(get(entries[i], "literals")), s.Literals)
			if err != nil {
				return err
			}
			entries[i] = put(entries[i], "literals", seq(literals))
		}
		if s.NewNamespace != "" {
			entries[i] = put(entries[i], "namespace", yaml.Str(s.NewNamespace))
		}
		k.setItems(g.Field, entries)
		return k.check(g, i, entries[i])
	}, nil
}

// Remove returns an edit that removes the entries with the given names in a namespace. The
// single argument is a comma-separated list of names. The edit fails if none of them exists.
func (g Generator) Remove(args []string, namespace string) (Edit, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("one argument is needed: names of %ss, separated by commas", g.Kind)
	}
	names := strings.Split(args[0], ",")
	return func(k *Kustomization) error {
		entries := k.items(g.Field)
		left := slices.DeleteFunc(slices.Clone(entries), func(e yaml.Value) bool {
			return slices.Contains(names, nameOf(e)) && sameNamespace(e, namespace)
		})
		if len(left) == len(entries) {
			return g.missing(args[0], entries)
		}
		for _, name := range names {
			if find(entries, name, namespace) < 0 {
				k.Warn("%s has no entry %s", g.Field, name)
			}
		}
		k.setItems(g.Field, left)
		return nil
	}, nil
}

func (g Generator) name(args []string) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("one argument is needed: the name of the %s", g.Kind)
	}
	return args[0], nil
}

func (g Generator) missing(name string, entries []yaml.Value) error {
	var names []string
	for _, e := range entries {
		names = append(names, nameOf(e))
	}
	err := mistake(g.Field, "has no entry %s in this namespace", name)
	err.Hints = diag.DidYouMean(name, names)
	return err
}

// check reports an error if the object cannot be generated, in the cases that kustomize rejects:
// missing files and duplicate keys.
func (k *Kustomization) check(g Generator, i int, entry yaml.Value) error {
	if err := k.Check(g.Kind, entry); err != nil {
		return mistake(fmt.Sprintf("%s[%d]", g.Field, i), "%w", err)
	}
	return nil
}

// find returns the index of the first entry with the given name and namespace, or -1.
func find(entries []yaml.Value, name, namespace string) int {
	return slices.IndexFunc(entries, func(e yaml.Value) bool { return nameOf(e) == name && sameNamespace(e, namespace) })
}

// sameNamespace reports whether an entry has the given namespace. An empty namespace is equal to
// default.
func sameNamespace(e yaml.Value, namespace string) bool {
	or := func(s string) string {
		if s == "" {
			return "default"
		}
		return s
	}
	return or(get(e, "namespace").Text()) == or(namespace)
}

// entry returns a new entry.
func (g Generator) entry(name string, s Sources) yaml.Value {
	fields := []yaml.Field{{Key: "name", Value: yaml.Str(name)}}
	if s.Namespace != "" {
		fields = append(fields, yaml.Field{Key: "namespace", Value: yaml.Str(s.Namespace)})
	}
	if s.Type != "" {
		fields = append(fields, yaml.Field{Key: "type", Value: yaml.Str(s.Type)})
	}
	return yaml.MapOf(fields...)
}

// withSources returns an entry with additional sources.
func withSources(entry yaml.Value, s Sources, files []string) yaml.Value {
	if s.Behavior != "" && get(entry, "behavior").Text() != s.Behavior {
		entry = put(entry, "behavior", yaml.Str(s.Behavior))
	}
	entry = withMore(entry, "literals", s.Literals)
	entry = withMore(entry, "files", files)
	if s.EnvFile != "" {
		entry = withMore(withEnvs(entry), "envs", []string{s.EnvFile})
	}
	if s.DisableNameSuffixHash { // kustomize drops the other options as well
		options := yaml.MapOf(yaml.Field{Key: "disableNameSuffixHash", Value: yaml.BoolValue(true)})
		if !get(entry, "options").Equal(options) {
			entry = put(entry, "options", options)
		}
	}
	return entry
}

// withoutPatterns returns an entry without the items of one of its lists that are among patterns
// and name no file: an edit with the same pattern replaces them by files.
func (k *Kustomization) withoutPatterns(entry yaml.Value, key string, patterns []string) yaml.Value {
	items := get(entry, key).Items()
	left := slices.DeleteFunc(slices.Clone(items), func(item yaml.Value) bool { return k.isPattern(item.Text(), patterns) })
	if len(left) == len(items) {
		return entry
	}
	return put(entry, key, yaml.SeqOf(left...))
}

// isPattern reports whether the text of an entry is one of patterns and names no file.
func (k *Kustomization) isPattern(text string, patterns []string) bool {
	return strings.ContainsAny(text, "*?[") && slices.Contains(patterns, text) && !k.Exists(text)
}

// withMore returns an entry with items appended to one of its lists.
func withMore(entry yaml.Value, key string, more []string) yaml.Value {
	if len(more) == 0 {
		return entry
	}
	return put(entry, key, yaml.SeqOf(slices.Concat(get(entry, key).Items(), seq(more).Items())...))
}

// withEnvs returns an entry with the deprecated env replaced by envs.
func withEnvs(entry yaml.Value) yaml.Value {
	env := get(entry, "env")
	if !env.Exists() {
		return entry
	}
	entry = put(entry, "env", yaml.Value{})
	if env.Text() == "" {
		return entry
	}
	return withMore(entry, "envs", []string{env.Text()})
}

// withLiterals returns literals with the values of set. It returns an error if set contains a
// key that there lacks.
func withLiterals(there, set []string) ([]string, error) {
	var list, keys []string
	for _, literal := range slices.Concat(there, set) {
		if key, value, ok := strings.Cut(literal, "="); !ok || strings.Contains(value, "=") {
			return nil, fmt.Errorf("literal %s must have the form KEY=VALUE with one equals sign", key)
		}
	}
	for _, literal := range there {
		key, _, _ := strings.Cut(literal, "=")
		if i := slices.Index(keys, key); i >= 0 {
			list[i] = literal
			continue
		}
		list, keys = append(list, literal), append(keys, key)
	}
	for _, literal := range set {
		key, _, _ := strings.Cut(literal, "=")
		i := slices.Index(keys, key)
		if i < 0 {
			err := diag.Errorf(diag.Pos{}, "", "no literal has the key %s", key)
			err.Hints = diag.DidYouMean(key, keys)
			return nil, err
		}
		list[i] = literal
	}
	return list, nil
}

// expand replaces the patterns in PATTERN and KEY=PATTERN with the matching files. A pattern
// with a key must match exactly one file.
func (k *Kustomization) expand(sources []string) ([]string, error) {
	var list []string
	for _, source := range sources {
		parts := strings.Split(source, "=")
		key, pattern := "", parts[0]
		if len(parts) == 2 {
			key, pattern = parts[0], parts[1]
		}
		paths, err := k.globs([]string{pattern})
		if err != nil {
			return nil, err
		}
		if key == "" {
			list = append(list, paths...)
			continue
		}
		if len(paths) != 1 {
			return nil, fmt.Errorf("%s must name one file, not %d", source, len(paths))
		}
		list = append(list, key+"="+paths[0])
	}
	return list, nil
}
