package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Subjects reports the service accounts in the subjects of a role binding that the namespace
// transformer treated unexpectedly. before is the binding in its old namespace, and list has the
// binding r in its new one.
func Subjects(before yaml.Value, r *krm.Resource, namespace string, list *krm.List, warn diag.Warn) {
	after := r.Value().Get("subjects").Items()
	home := before.At("metadata", "namespace").Text()
	for i, old := range before.Get("subjects").Items() {
		ns, name := old.Get("namespace").Text(), old.Get("name").Text()
		if i >= len(after) || old.Get("kind").Text() != "ServiceAccount" || ns == "" || ns == namespace || ns == home && name == "default" {
			continue
		}
		path := []any{"subjects", i, "namespace"}
		switch {
		case after[i].Get("namespace").Text() != ns && name == "default":
			at(r, warn, diag.SubjectMoved, path,
				fmt.Sprintf("the service account default of namespace %s becomes default of namespace %s", ns, namespace),
				"the field namespace moves every subject named default; to keep it, set the namespace by a NamespaceTransformer "+
					"under transformers, with setRoleBindingSubjects: none")
		case after[i].Get("namespace").Text() == ns && !provides(list, name, ns):
			at(r, warn, diag.SubjectsStay, path,
				fmt.Sprintf("the service account %s stays in namespace %s", name, ns),
				"the field namespace moves only subjects named default, and service accounts of the same root; to move all, "+
					"use a NamespaceTransformer under transformers, with setRoleBindingSubjects: allServiceAccounts")
		}
	}
}

// provides reports whether list has the service account that had a name in a namespace.
func provides(list *krm.List, name, namespace string) bool {
	for _, i := range list.Named(name) {
		r := list.At(i)
		if r.ID().Kind != "ServiceAccount" {
			continue
		}
		if ns := r.OrigID().Namespace; ns == namespace || ns == "" || ns == krm.DefaultNamespace {
			return true
		}
		if slices.ContainsFunc(r.Prev, func(p krm.ID) bool { return p.Namespace == namespace }) {
			return true
		}
	}
	return false
}

// ChartNamespace reports the objects of charts that a namespace is not given to: since kustomize
// 5.8 the namespace transformer leaves the objects of charts alone. objects are the objects
// without a namespace.
func ChartNamespace(namespace string, objects []*krm.Resource, warn diag.Warn) {
	slices.SortStableFunc(objects, func(a, b *krm.Resource) int { return strings.Compare(a.Pos.String(), b.Pos.String()) })
	for len(objects) > 0 {
		pos, n := objects[0].Pos, 1
		for n < len(objects) && objects[n].Pos == pos {
			n++
		}
		var names []string
		for _, r := range objects[:n] {
			names = append(names, r.ID().Kind+" "+r.ID().Name)
		}
		objects = objects[n:]
		e := diag.Errorf(pos, "", "the namespace %s is not given to %s of this chart: %s", namespace,
			diag.Plural(n, "object"), diag.Some(names))
		e.Hint("kustomize 5.8 leaves objects of charts alone: set the chart's own field namespace, which templates use")
		e.Hint("for a template that ignores it, add a patch that sets metadata.namespace")
		warn(diag.ChartNamespace, "%w", e)
	}
}

// KeptSelectors reports the selectors of objects of custom kinds that did not get labels, although
// the labels are for selectors. A selector that matches pods of the list without the labels already
// works, and is not reported.
func KeptSelectors(list *krm.List, labels []string, warn diag.Warn) {
	pods, services := labelled{list: list, labels: podLabels}, labelled{list: list, labels: serviceLabels}
	for _, r := range list.All() {
		if g := r.ID().Group; !strings.Contains(g, ".") || strings.HasSuffix(g, ".k8s.io") {
			continue
		}
		all := &pods
		if selections[r.ID().Kind].what == "Service" {
			all = &services
		}
		keptSelector(r, labels, all, warn)
	}
}

func keptSelector(r *krm.Resource, labels []string, all *labelled, warn diag.Warn) {
	for _, path := range [][]string{{"spec", "selector", "matchLabels"}, {"spec", "podSelector", "matchLabels"}, {"spec", "selector"}} {
		selector := r.Value().At(path...)
		if selector.Type() != yaml.Map || selector.Len() == 0 || selector.Fields()[0].Value.Type() != yaml.String {
			continue
		}
		for _, label := range labels {
			if selector.Get(label).Exists() {
				continue
			}
			if all.result().match(selector) {
				return
			}
			fields := []any{path[0], path[1]}
			if len(path) == 3 {
				fields = append(fields, path[2])
			}
			entry := []string{"fields:", "- kind: " + r.ID().Kind, "  path: " + strings.Join(path, "/")}
			if template := r.Value().At("spec", "template", "metadata", "labels"); template.Exists() && !template.Get(label).Exists() {
				entry = append(entry, "- kind: "+r.ID().Kind, "  path: spec/template/metadata/labels")
			}
			at(r, warn, diag.SelectorKept, fields, fmt.Sprintf("the label %s is not added to this selector, because %s is a custom kind",
				label, r.ID().Kind),
				append([]string{"kustomize knows the selectors of built-in kinds only; to add it, list the field under labels, fields:"},
					entry...)...)
			return
		}
		return
	}
}

// QuotedValue reports the value of a line of an env file whose quotes become a part of the value.
func QuotedValue(value string, pos diag.Pos, warn func(*diag.Error)) {
	value = strings.TrimSpace(value)
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return
	}
	if end := strings.IndexByte(value[1:], value[0]); end >= 0 && end != len(value)-2 {
		return // text after the quotes
	}
	warn(diag.Errorf(pos, "", "the quotes are part of the value").With(diag.QuotedValue).
		Hint("remove them, or use literals: kustomize removes one pair of quotes around the value of a literal"))
}

// UnreadableText reports a file whose text cannot be a block in the output because of blanks at
// the end of a line or of carriage returns.
func UnreadableText(src *yaml.Source, warn func(*diag.Error)) {
	text := src.Text()
	i := strings.Index(text, " \n")
	what, hint := "a blank at the end of this line makes", "remove the blanks at the ends of lines"
	if j := strings.IndexByte(text, '\r'); j >= 0 && (i < 0 || j < i) {
		i, what, hint = j, "the carriage return at the end of this line makes", "save the file with line feeds only"
	}
	if i < 0 || strings.Count(text, "\n") < 3 || strings.IndexByte(text, 0) >= 0 {
		return
	}
	pos := diag.Pos{File: src.File, Line: 1 + strings.Count(text[:i], "\n")}
	warn(diag.Errorf(pos, "", "%s the whole file one quoted line in the output", what).With(diag.UnreadableText).Hint("%s", hint))
}

// FileReplaced reports entries of a generated object r that replace a text of old as a whole
// although they look like a change of some of its lines: a generator with behavior merge merges
// objects, not files.
func FileReplaced(old, r *krm.Resource, warn diag.Warn) {
	if r.Behavior != "merge" || r.ID().Kind != "ConfigMap" {
		return
	}
	data := old.Value().Get("data")
	for _, f := range r.Value().Get("data").Fields() {
		was := data.Get(f.Key)
		if was.Type() != yaml.String || was.Text() == f.Value.Text() {
			continue
		}
		lost := lostSettings(was.Text(), f.Value.Text())
		if lost == nil {
			continue
		}
		warn(diag.FileReplaced, "%s of ConfigMap %s is replaced as a whole, without %s%s", f.Key, old.OrigID().Name, diag.Some(lost),
			diag.Next(func() []string {
				return []string{"behavior: merge merges the keys of the ConfigMap, not the lines of a file: repeat the other lines, or use literals"}
			}))
	}
}

// lostSettings returns the names that the settings in old have and those in text do not, if all
// names in text are in old. It returns nil if one of the texts has other lines than settings.
func lostSettings(old, text string) (lost []string) {
	before, now := settings(old), settings(text)
	if len(now) == 0 || len(now) >= len(before) {
		return nil
	}
	for _, name := range now {
		if !slices.Contains(before, name) {
			return nil
		}
	}
	for _, name := range before {
		if !slices.Contains(now, name) {
			lost = append(lost, name)
		}
	}
	return lost
}

// settings returns the names in a text with lines of the form name=value or name: value. Indented
// lines belong to the line before.
func settings(text string) (names []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || strings.ContainsRune("#!;", rune(line[0])) {
			continue
		}
		if line[0] == ' ' || line[0] == '\t' || line[0] == '-' {
			continue
		}
		i := strings.IndexAny(line, "=:")
		if i <= 0 || strings.ContainsAny(strings.TrimSpace(line[:i]), " \t\"'{}[]") {
			return nil
		}
		names = append(names, strings.TrimSpace(line[:i]))
	}
	return names
}
