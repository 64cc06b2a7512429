// Follows api/filters/replacement/replacement.go.

package builtins

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Transform applies the replacements in order. It warns about targets that select nothing and
// about changes that kustomize loses.
func (t *ReplacementTransformer) Transform(list *krm.List, warn Warn) error {
	slots := t.before.take(list)
	for i := range t.compiled {
		if err := t.compiled[i].apply(list, t.place, slots, warn); err != nil {
			return t.compiled[i].placed(err)
		}
	}
	t.after.put(slots)
	return nil
}

func (r *replacement) apply(list *krm.List, place func(part ...any) diag.Pos, slots *fieldSlots, warn Warn) error {
	c, from := copier{value: r.value, slots: slots}, -1
	if r.source != nil {
		var err error
		if from, err = r.source.find(list); err != nil {
			return diag.In(err, "source")
		}
		if c.value, err = r.read(list.At(from)); err != nil {
			return err
		}
		if r.field.text == defaultFieldPath && place != nil {
			id := list.At(from).ID()
			c.name = &krm.NameCopy{Kind: id.Kind, Name: id.Name, Place: func() diag.Pos { return r.position(place) }}
		}
		c.taken = takenFrom(list.At(from), r.field.parts, c.value.Value)
	}
	for i := range r.targets {
		t := &r.targets[i]
		found := 0
		if err := t.checkSelectors(list); err != nil {
			return inField(err, "targets", i)
		}
		for pos := range t.candidates(list) {
			ok, err := t.selects(list.At(pos))
			if err != nil {
				return inField(err, "targets", i)
			}
			if !ok {
				continue
			}
			found++
			if err := r.write(list, pos, pos == from, i, &c, warn); err != nil {
				if hint := t.rejectHint(list, pos, &c); hint != "" {
					err = diag.Errorf(diag.Pos{}, "", "%w", err).Hint("%s", hint)
				}
				return inField(err, "targets", i)
			}
			if err := list.CheckSize(); err != nil {
				return err
			}
		}
		if found == 0 {
			r.warn(warn, []any{"targets", i, "select"}, "targets[%d] selects nothing: %s%s", i, t.sel, t.sel.near(list))
		}
	}
	return nil
}

// position returns the position of the replacement, where place is the place of the configuration.
func (r *replacement) position(place func(part ...any) diag.Pos) diag.Pos {
	if r.src != nil {
		return r.src.Locate(0, r.at...)
	}
	return place(r.at...)
}

// rejectHint returns a hint to leave out the selected resources that lack a field. It returns "" if
// the resource at pos lacks none, if all selected resources lack one, or if the target names a
// single resource: the path is then probably wrong.
func (t *replacementTarget) rejectHint(list *krm.List, pos int, c *copier) string {
	if t.sel.name.literal != "" || !t.lacks(list.At(pos), c) {
		return ""
	}
	var rejects []string
	selected := 0
	for i := range t.candidates(list) {
		r := list.At(i)
		if ok, err := t.selects(r); err != nil || !ok {
			continue
		}
		selected++
		if t.lacks(r, c) {
			id := r.ID()
			reject := fmt.Sprintf("{kind: %s, name: %s", id.Kind, id.Name)
			if id.Namespace != "" {
				reject += ", namespace: " + id.Namespace
			}
			rejects = append(rejects, reject+"}")
		}
	}
	if len(rejects) == selected {
		return ""
	}
	what := "it"
	if len(rejects) > 1 {
		what = "those without the field"
	}
	return fmt.Sprintf("to leave %s out, add reject: [%s] to the target", what, diag.Some(rejects))
}

// lacks reports whether a field path of t leads nowhere in r.
func (t *replacementTarget) lacks(r *krm.Resource, c *copier) bool {
	return slices.ContainsFunc(t.fields, func(path *fieldPath) bool {
		probe := copier{value: c.value, opts: t.opts, owner: r, probe: true}
		_, _, err := probe.apply(r.Value(), path)
		return diag.CodeOf(err) == diag.ReplacementTargetField
	})
}

// warn warns about the part of the replacement at path.
func (r *replacement) warn(warn Warn, path []any, format string, args ...any) {
	warn(diag.ReplacementTargetNothing, "%w", r.placed(diag.In(diag.Errorf(diag.Pos{}, "", format, args...), path...)))
}

// write copies the value into the fields of one resource that the target with the given index
// lists.
func (r *replacement) write(list *krm.List, pos int, isSource bool, target int, c *copier, warn Warn) (err error) {
	t := &r.targets[target]
	c.known = c.slots.of(list, pos)
	list.Change(pos, func(res *krm.Resource) {
		c.opts, c.owner = t.opts, res
		res.Taken = append(res.Taken, c.taken...)
		id := res.ID()
		for i, path := range t.fields {
			var lost bool
			if lost, err = r.writeField(res, isSource, path, c); err != nil {
				err = diag.In(fmt.Errorf("%s: %w", id, err), "fieldPaths", i)
				return
			}
			if lost {
				r.warn(warn, []any{"targets", target, "fieldPaths", i},
					"%s: what is written to %q is lost: it leads into a null, or through a pattern or * into a text", id, path.text)
			}
			if res.Room() < 0 {
				err = resourceError(res, errTooLarge())
				return
			}
		}
	})
	return err
}

// writeField copies the value into one field. lost is true if kustomize loses the change.
func (r *replacement) writeField(res *krm.Resource, isSource bool, path *fieldPath, c *copier) (lost bool, err error) {
	if !isSource && c.inPlace(res, path) {
		return false, nil
	}
	before := res.Value()
	if (replacesState(path) || strings.HasPrefix(path.text, "metadata.annotations.")) && hasState(res) {
		before = withAnnotations(before)
	}
	if isSource {
		r.readMade(res, before, path, c)
	}
	v, lost, err := c.apply(before, path)
	if err != nil || v.Same(before) || isSource && replacesState(path) && path.text == r.field.text {
		// Copying a field to itself keeps the state.
		return lost, err
	}
	if replacesState(path) {
		forget(res)
	}
	res.SetValue(v)
	c.noteName(res, path)
	if isSource && (r.source.Options == nil || r.source.Options.Delimiter == "") {
		// Later fields get the new value of the source.
		if x, err := r.read(res); err == nil {
			c.value = x
		}
	}
	return lost, nil
}

// noteName records in res that the copier has written the name of an object to path.
func (c *copier) noteName(res *krm.Resource, path *fieldPath) {
	if c.name == nil {
		return
	}
	named := *c.name
	named.Field = path.text
	named.Text = func(object yaml.Value) string { v, _ := path.lookup(object); return v.Text() }
	res.NameCopies = append(res.NameCopies, named)
}

// readMade rereads a list or mapping after the missing fields at path have been created in v, the
// object of old. If they are within the source, the copy includes them.
func (r *replacement) readMade(old *krm.Resource, v yaml.Value, path *fieldPath, c *copier) {
	if c.create() != yaml.Map && c.create() != yaml.Seq {
		return
	}
	probe := copier{value: c.value, opts: c.opts, probe: true}
	made, _, err := probe.apply(v, path)
	if err != nil || made.Same(v) {
		return
	}
	res := old.Copy()
	res.SetValue(made)
	if x, err := r.read(res); err == nil {
		c.value = x
	}
}

// replacesState reports whether path leads to all annotations or to all metadata. Kustomize keeps
// its state of a resource in annotations, and loses it when they are replaced.
func replacesState(path *fieldPath) bool {
	return path.text == "metadata" || path.text == "metadata.annotations"
}

// read returns the value of the source's field.
func (r *replacement) read(res *krm.Resource) (sourceValue, error) {
	v, err := r.field.lookup(res.Value())
	if err != nil {
		return sourceValue{}, r.inSource(diag.ReplacementSourceField.Errorf("source %s: field %q: %w", res.ID(), r.field.text, err))
	}
	if v.IsEmpty() {
		err := diag.Errorf(diag.Pos{}, "", "source %s: field %q is missing or empty",
			res.ID(), r.field.text).With(diag.ReplacementSourceField)
		err.Hints = r.field.advice(res.Value())
		return sourceValue{}, r.inSource(err)
	}
	x, err := (sourceValue{Value: v}).part(r.source.Options)
	if err != nil {
		return x, diag.In(fmt.Errorf("source %s: field %q: %w", res.ID(), r.field.text, err), "source", "options", "index")
	}
	return x, nil
}

// inSource returns err as an error about the path of the source's field.
func (r *replacement) inSource(err error) error { return diag.In(err, "source", "fieldPath") }

// find returns the position of the resource that s selects. It fails unless there is exactly one.
func (s *ReplacementSource) find(list *krm.List) (int, error) {
	at := -1
	for pos := range candidates(list, s.Name) {
		if !s.selects(list.At(pos)) {
			continue
		}
		if at >= 0 {
			return 0, diag.Errorf(diag.Pos{}, "source", "%s selects more than one resource", s).With(diag.SeveralReplacementSources).
				Hint("%s", describe(list.At(at))).Hint("%s",
				describe(list.At(pos))).Hint("add the kind, name or namespace of the intended one")
		}
		at = pos
	}
	if at < 0 {
		err := diag.Errorf(diag.Pos{}, "source", "%s selects nothing", s).With(diag.NoReplacementSource)
		pattern := strings.ContainsAny(s.Name+s.Kind, "*?[(|")
		if names := s.otherNames(list); pattern {
			err.Hint("a source is one resource: its fields are texts, not patterns")
		} else if names != nil {
			err.Hints = diag.DidYouMean(s.Name, names)
		} else {
			err.Hints = diag.DidYouMean(s.Kind, kindsOf(list))
		}
		if pattern || err.Hints == nil {
			err.Hints = append(err.Hints, s.candidates(list)...)
		}
		return 0, err
	}
	return at, nil
}

// candidates returns a hint that lists possible sources: the names of matching resources or, if
// there are none, all kinds.
func (s *ReplacementSource) candidates(list *krm.List) []string {
	if list.Len() == 0 {
		return []string{"no resources exist at this step"}
	}
	if names := s.otherNames(list); names != nil {
		return []string{"possible sources are: " + diag.Some(names)}
	}
	kinds := slices.Sorted(slices.Values(kindsOf(list)))
	return []string{"the kinds are: " + diag.Some(slices.Compact(kinds))}
}

// otherNames returns the names of the resources that s would select without its name.
func (s *ReplacementSource) otherNames(list *krm.List) []string {
	any := *s
	any.Name = ""
	var names []string
	for _, r := range list.All() {
		if any.selects(r) {
			names = append(names, r.ID().Name)
		}
	}
	return names
}

func kindsOf(list *krm.List) []string {
	var kinds []string
	for _, r := range list.All() {
		kinds = append(kinds, r.ID().Kind)
	}
	return kinds
}

func describe(r *krm.Resource) string {
	if r.Pos.File == "" {
		return r.ID().String()
	}
	return fmt.Sprintf("%s (%s)", r.ID(), r.Pos)
}

func (s *ReplacementSource) selects(r *krm.Resource) bool {
	return anyID(r, func(id krm.ID) bool {
		return (s.Name == "" || s.Name == id.Name) &&
			(s.Namespace == "" || namedNamespace(s.Namespace) == namedNamespace(id.Namespace)) &&
			krm.GVK{Group: s.Group, Version: s.Version, Kind: s.Kind}.Selects(id.GVK)
	})
}

func namedNamespace(ns string) string {
	if ns == "" {
		return krm.DefaultNamespace
	}
	return ns
}

// anyID reports whether the current or a previous identity of r meets a condition. A current
// namespace is literal, "" if there is none, whereas previous namespaces are never empty.
func anyID(r *krm.Resource, meets func(krm.ID) bool) bool {
	if meets(r.ID()) {
		return true
	}
	for i := range r.Prev {
		if meets(r.PrevID(i)) {
			return true
		}
	}
	return false
}

// candidates returns the positions of the resources with the given current or previous name, or
// of all resources if name is empty.
func candidates(list *krm.List, name string) iter.Seq[int] {
	if name != "" {
		return slices.Values(list.Named(name))
	}
	return func(yield func(int) bool) {
		for i := range list.Len() {
			if !yield(i) {
				return
			}
		}
	}
}

func (t *replacementTarget) candidates(list *krm.List) iter.Seq[int] {
	return candidates(list, t.sel.name.literal)
}

// checkSelectors returns the error of an invalid label or annotation selector if kustomize
// evaluates the selector for any resource. Kustomize does so before it compares names.
func (t *replacementTarget) checkSelectors(list *krm.List) error {
	wrong := func(s *Selector) bool { return s.labelErr != nil || s.annotationErr != nil }
	if !wrong(t.sel) && !slices.ContainsFunc(t.reject, wrong) {
		return nil
	}
	for _, r := range list.All() {
		if ok, err := t.sel.matchesLabels(r); err != nil || !ok {
			if err != nil {
				return err
			}
			continue
		}
		for _, s := range t.reject {
			if s.AnnotationSelector == "" && s.LabelSelector == "" {
				continue
			}
			if rejected, err := s.matchesLabels(r); rejected || err != nil {
				if err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// selects reports whether r is a target: its labels, its annotations and one of its identities
// are selected, and none of them is rejected. A reject entry with conditions on both identity and
// labels rejects a resource that meets either.
func (t *replacementTarget) selects(r *krm.Resource) (bool, error) {
	if !t.sel.matchesAnyID(r) {
		return false, nil
	}
	if ok, err := t.sel.matchesLabels(r); !ok || err != nil {
		return false, err
	}
	for _, s := range t.reject {
		if s.AnnotationSelector != "" || s.LabelSelector != "" {
			if rejected, err := s.matchesLabels(r); rejected || err != nil {
				return false, err
			}
		}
		named := s.Group != "" || s.Version != "" || s.Kind != "" || s.Name != "" || s.Namespace != ""
		if named && s.matchesAnyID(r) {
			return false, nil
		}
	}
	return true, nil
}

func (s *Selector) matchesAnyID(r *krm.Resource) bool {
	return anyID(r, func(id krm.ID) bool {
		return s.kind.match(id.Kind) && s.name.match(id.Name) && s.namespace.match(id.Namespace) &&
			s.group.match(id.Group) && s.version.match(id.Version)
	})
}

func (s *Selector) matchesLabels(r *krm.Resource) (bool, error) {
	if s.annotationErr != nil {
		return false, s.annotationErr
	}
	if s.labelErr != nil {
		return false, s.labelErr
	}
	if len(s.annotations) > 0 && !s.annotations.match(r.Annotations()) {
		return false, nil
	}
	return len(s.labels) == 0 || s.labels.match(r.Labels()), nil
}
