package argocd

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/argocd/internal/discovery"
	"github.com/krmflow/krmflow/krm/yaml"
)

// checkKustomize warns about fields that krmflow ignores.
func (s *appSource) checkKustomize() {
	if s.Kustomize == nil {
		return
	}
	if s.Kustomize.Version != "" {
		s.Warn(discovery.ErrorAt(s.field("kustomize", "version"), "the version %q of kustomize is not used", s.Kustomize.Version).
			Hint("krmflow renders as kustomize 5.8 does"))
	}
}

// field returns the place of a field of the source.
func (s *appSource) field(path ...any) yaml.Place { return s.at.Below(path...) }

// An edited is a kustomization file with changes, and the places of the changes.
type edited struct {
	value  yaml.Value
	places []yaml.Place
}

// set sets a top-level field. at is the place of the value.
func (e *edited) set(key string, v yaml.Value, at yaml.Place) {
	e.value = e.value.With(key, v)
	e.place(at, key)
}

// place records the place of the value at path.
func (e *edited) place(at yaml.Place, path ...any) {
	at.Path = path
	e.places = append(e.places, at)
}

// An entry is an item of a list, and its place.
type entry struct {
	value yaml.Value
	at    yaml.Place
}

// entries returns the items of a list in the file, with their places in old.
func (e *edited) entries(old *yaml.Source, key string) []entry {
	var list []entry
	for i, v := range e.value.Get(key).Items() {
		list = append(list, entry{v, yaml.Place{Source: old, At: []any{key, i}}})
	}
	return list
}

// setEntries sets a list, unless the list is empty.
func (e *edited) setEntries(key string, list []entry) {
	if len(list) == 0 {
		return
	}
	items := make([]yaml.Value, len(list))
	for i, x := range list {
		items[i] = x.value
		e.place(x.at, key, i)
	}
	e.value = e.value.With(key, yaml.SeqOf(items...))
}

// editKustomization returns the kustomization file with the changes of the field kustomize. For
// most changes, Argo CD runs `kustomize edit` in this order. For patches, it edits the file.
func (s *appSource) editKustomization(dir gitops.Dir, old *yaml.Source) (*yaml.Source, error) {
	if old == nil {
		return nil, discovery.ErrorAt(s.field("path"), "no kustomization file in the directory").With(diag.NoKustomization)
	}
	v, err := old.Value()
	if err != nil {
		return nil, err
	}
	if s.Kustomize == nil || v.Type() != yaml.Map {
		return yaml.Assemble(old.File, v, yaml.Place{Source: old}), nil
	}
	e := &edited{v, []yaml.Place{{Source: old}}}
	k := *s.Kustomize
	for _, f := range []struct{ name, text string }{{"namePrefix", k.NamePrefix}, {"nameSuffix", k.NameSuffix}} {
		if f.text != "" {
			e.set(f.name, yaml.Str(f.text), s.field("kustomize", f.name))
		}
	}
	for _, step := range []func(*edited, *yaml.Source) error{s.editImages, s.editReplicas, s.editLabels, s.editAnnotations} {
		if err := step(e, old); err != nil {
			return nil, err
		}
	}
	if k.Namespace != "" {
		e.set("namespace", yaml.Str(k.Namespace), s.field("kustomize", "namespace"))
	}
	if err := s.editPatches(e, old); err != nil {
		return nil, err
	}
	if err := s.editComponents(e, old, dir); err != nil {
		return nil, err
	}
	s.editCharts(e)
	if s.err != nil {
		return nil, s.err
	}
	return yaml.Assemble(old.File, e.value, e.places...), nil
}

// nameOf returns the field name of an entry.
func nameOf(v yaml.Value) string { return v.Get("name").Text() }

// editImages has the effect of `kustomize edit set image`.
func (s *appSource) editImages(e *edited, old *yaml.Source) error {
	if len(s.Kustomize.Images) == 0 {
		return nil
	}
	set := map[string]entry{}
	for i, text := range s.Kustomize.Images {
		at := s.field("kustomize", "images", i)
		v, ok := parseImage(s.expand(text, at))
		if !ok {
			return discovery.ErrorAt(at, "image %q has neither a new name nor a tag nor a digest", text).With(diag.BadValue).
				Hint("the forms are NAME=NEWNAME, NAME=NEWNAME:TAG, NAME=NEWNAME@DIGEST, NAME:TAG and NAME@DIGEST")
		}
		set[nameOf(v)] = entry{v, at}
	}
	var list []entry
	seen := map[string]bool{}
	for _, x := range append(e.entries(old, "images"), e.entries(old, "imageTags")...) {
		name := nameOf(x.value)
		if n, ok := set[name]; ok {
			// The placeholder * keeps a part of the first entry with this name.
			n.value = keepParts(n.value, x.value)
			set[name] = n
			x = n
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		list = append(list, x)
	}
	for i, x := range list {
		if n, ok := set[nameOf(x.value)]; ok {
			list[i] = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !seen[name] {
			n := set[name]
			n.value = keepParts(n.value, yaml.MapOf())
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(nameOf(a.value), nameOf(b.value)) })
	e.value = e.value.Without("imageTags")
	e.setEntries("images", list)
	return nil
}

// imageParts are the fields of an entry of images that may contain the placeholder *.
var imageParts = []string{"newName", "newTag", "digest"}

// keepParts replaces each placeholder * in an entry of images with the field of old. Without such a
// field, it removes the placeholder.
func keepParts(image, old yaml.Value) yaml.Value {
	for _, part := range imageParts {
		if image.Get(part).Text() != "*" {
			continue
		}
		if kept := old.Get(part); kept.Text() != "" {
			image = image.With(part, kept)
		} else {
			image = image.Without(part)
		}
	}
	return image
}

// parseImage parses an argument of `kustomize edit set image` into an entry of images.
func parseImage(arg string) (v yaml.Value, ok bool) {
	name, rest, found := strings.Cut(arg, "=")
	if !found {
		name, rest = "", arg
	}
	newName, tag, digest := rest, "", ""
	// A colon before the first slash belongs to a port.
	slash := max(strings.Index(rest, "/"), 0)
	at, colon := strings.Index(rest[slash:], "@"), strings.Index(rest[slash:], ":")
	switch {
	case at < 0 && colon < 0:
		if !found {
			return v, false
		}
	case colon < 0 || at >= 0 && at < colon:
		newName, digest = rest[:slash+at], rest[slash+at+1:]
	case at >= 0:
		newName, tag, digest = rest[:slash+colon], rest[slash+colon+1:slash+at], rest[slash+at+1:]
	default:
		newName, tag = rest[:slash+colon], rest[slash+colon+1:]
	}
	if name == "" {
		name, newName = newName, ""
	}
	fields := []yaml.Field{{Key: "name", Value: yaml.Str(name)}}
	for i, text := range []string{newName, tag, digest} {
		if text != "" {
			fields = append(fields, yaml.Field{Key: imageParts[i], Value: yaml.Str(text)})
		}
	}
	return yaml.MapOf(fields...), true
}

// editReplicas has the effect of `kustomize edit set replicas`.
func (s *appSource) editReplicas(e *edited, old *yaml.Source) error {
	if len(s.Kustomize.Replicas) == 0 {
		return nil
	}
	set := map[string]entry{}
	for i, r := range s.Kustomize.Replicas {
		at := s.field("kustomize", "replicas", i)
		count, ok := r.Count.AsInt()
		if r.Count.Type() == yaml.String {
			n, err := strconv.Atoi(r.Count.Text())
			count, ok = int64(n), err == nil
		}
		if !ok {
			return discovery.ErrorAt(at.Below("count"), "must be an integer").With(diag.WrongType)
		}
		set[r.Name] = entry{yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str(r.Name)},
			yaml.Field{Key: "count", Value: yaml.Number(yaml.Int, strconv.FormatInt(count, 10))}), at}
	}
	var list []entry
	seen := map[string]bool{}
	for _, x := range e.entries(old, "replicas") {
		name := nameOf(x.value)
		if seen[name] {
			continue
		}
		seen[name] = true
		if n, ok := set[name]; ok {
			x = n
		}
		list = append(list, x)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !seen[name] {
			list = append(list, set[name])
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(nameOf(a.value), nameOf(b.value)) })
	e.setEntries("replicas", list)
	return nil
}

// A pair is an argument KEY:VALUE of `kustomize edit add`.
type pair struct {
	key, value string
	at         yaml.Place
}

// pairs returns the arguments for a mapping in lexical order. Argo CD passes them in random order,
// without an effect on the result.
func (s *appSource) pairs(field string, m map[string]string, expand bool) ([]pair, error) {
	var list []pair
	for _, key := range slices.Sorted(maps.Keys(m)) {
		at := s.field("kustomize", field, key)
		value := m[key]
		if expand {
			value = s.expand(value, at)
		}
		if key == "" {
			return nil, discovery.ErrorAt(at, "the key is empty").With(diag.BadValue)
		}
		// kustomize splits the argument again, and removes quotes around a value.
		name, rest, _ := strings.Cut(key+":"+value, ":")
		if len(rest) >= 2 && rest[0] == '"' && rest[len(rest)-1] == '"' {
			rest = rest[1 : len(rest)-1]
		}
		list = append(list, pair{name, rest, at})
	}
	return list, nil
}

// addPairs adds pairs to v, the mapping at a path of the file. An existing key is an error with a
// hint, unless force is set.
func (e *edited) addPairs(v yaml.Value, pairs []pair, force bool, hint string, path ...any) (yaml.Value, error) {
	if v.Type() != yaml.Map {
		v = yaml.MapOf()
	}
	for _, p := range pairs {
		if v.Get(p.key).Exists() && !force {
			return v, discovery.ErrorAt(p.at, "the kustomization file already has %s", p.key).With(diag.ExistsAlready).Hint("%s", hint)
		}
		v = v.With(p.key, yaml.Str(p.value))
		e.place(p.at, append(slices.Clone(path), p.key)...)
	}
	return v, nil
}

// editLabels has the effect of `kustomize edit add label`.
func (s *appSource) editLabels(e *edited, old *yaml.Source) error {
	k := s.Kustomize
	if len(k.CommonLabels) == 0 {
		return nil
	}
	if k.LabelIncludeTemplates && !k.LabelWithoutSelector {
		return discovery.ErrorAt(s.field("kustomize", "labelIncludeTemplates"), "requires labelWithoutSelector").With(diag.Exclusive)
	}
	pairs, err := s.pairs("commonLabels", k.CommonLabels, true)
	if err != nil {
		return err
	}
	const hint = "set forceCommonLabels to replace its value"
	if !k.LabelWithoutSelector {
		v, err := e.addPairs(e.value.Get("commonLabels"), pairs, k.ForceCommonLabels, hint, "commonLabels")
		e.value = e.value.With("commonLabels", v)
		return err
	}
	entries := slices.Clone(e.value.Get("labels").Items())
	isTrue := func(v yaml.Value) bool { return v.Equal(yaml.BoolValue(true)) }
	i := slices.IndexFunc(entries, func(x yaml.Value) bool {
		return !isTrue(x.Get("includeSelectors")) && isTrue(x.Get("includeTemplates")) == k.LabelIncludeTemplates
	})
	if i < 0 {
		i = len(entries)
		x := yaml.MapOf()
		if k.LabelIncludeTemplates {
			x = x.With("includeTemplates", yaml.BoolValue(true))
		}
		entries = append(entries, x)
		e.place(s.field("kustomize", "commonLabels"), "labels", i)
	}
	v, err := e.addPairs(entries[i].Get("pairs"), pairs, k.ForceCommonLabels, hint, "labels", i, "pairs")
	entries[i] = entries[i].With("pairs", v)
	e.value = e.value.With("labels", yaml.SeqOf(entries...))
	return err
}

// editAnnotations has the effect of `kustomize edit add annotation`.
func (s *appSource) editAnnotations(e *edited, _ *yaml.Source) error {
	k := s.Kustomize
	if len(k.CommonAnnotations) == 0 {
		return nil
	}
	pairs, err := s.pairs("commonAnnotations", k.CommonAnnotations, k.CommonAnnotationsEnvsubst)
	if err != nil {
		return err
	}
	v, err := e.addPairs(e.value.Get("commonAnnotations"), pairs, k.ForceCommonAnnotations,
		"set forceCommonAnnotations to replace its value", "commonAnnotations")
	e.value = e.value.With("commonAnnotations", v)
	return err
}

// editPatches appends the patches.
func (s *appSource) editPatches(e *edited, old *yaml.Source) error {
	if len(s.Kustomize.Patches) == 0 {
		return nil
	}
	there := e.value.Get("patches")
	if there.Exists() && there.Type() != yaml.Seq {
		return diag.Errorf(old.Locate(0, "patches"), "patches", "must be a list").With(diag.WrongType)
	}
	list := e.entries(old, "patches")
	for i, p := range s.Kustomize.Patches {
		list = append(list, entry{p.value(), s.field("kustomize", "patches", i)})
	}
	e.setEntries("patches", list)
	return nil
}

// value returns the patch with the fields that are set.
func (p patch) value() yaml.Value {
	text := func(list ...[2]string) yaml.Value {
		v := yaml.MapOf()
		for _, f := range list {
			if f[1] != "" {
				v = v.With(f[0], yaml.Str(f[1]))
			}
		}
		return v
	}
	v := text([2]string{"path", p.Path}, [2]string{"patch", p.Patch})
	if t := p.Target; t != nil {
		v = v.With("target", text([2]string{"group", t.Group}, [2]string{"version", t.Version}, [2]string{"kind", t.Kind},
			[2]string{"name", t.Name}, [2]string{"namespace", t.Namespace}, [2]string{"annotationSelector", t.AnnotationSelector},
			[2]string{"labelSelector", t.LabelSelector}))
	}
	if len(p.Options) > 0 {
		options := yaml.MapOf()
		for _, key := range slices.Sorted(maps.Keys(p.Options)) {
			options = options.With(key, yaml.BoolValue(p.Options[key]))
		}
		v = v.With("options", options)
	}
	return v
}

// editComponents has the effect of `kustomize edit add component`.
func (s *appSource) editComponents(e *edited, old *yaml.Source, _ gitops.Dir) error {
	list := e.entries(old, "components")
	seen := map[string]bool{}
	for _, x := range list {
		seen[x.value.Text()] = true
	}
	added := false
	for i, c := range s.Kustomize.Components {
		at := s.field("kustomize", "components", i)
		if s.Kustomize.IgnoreMissingComponents {
			if s.repo.Tree == nil {
				return discovery.Refused(at, "ignoreMissingComponents is not supported for a repository that is fetched")
			}
			p := path.Join(s.path, c)
			if !fs.ValidPath(p) {
				continue
			}
			if _, err := fs.Stat(s.repo.Tree.FS, p); err != nil {
				continue
			}
		}
		found, err := s.glob(at, c)
		if err != nil {
			return err
		}
		for _, p := range found {
			if !seen[p] {
				seen[p], added = true, true
				list = append(list, entry{yaml.Str(p), at})
			}
		}
	}
	if added {
		e.setEntries("components", list)
	}
	return nil
}

// glob returns the paths that match a pattern, relative to the directory of the source. A path
// without special characters is returned even if it does not exist.
func (s *appSource) glob(at yaml.Place, pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return []string{pattern}, nil
	}
	if s.repo.Tree == nil {
		return nil, discovery.Refused(at, "patterns are not supported for a repository that is fetched")
	}
	p, ok := discovery.Inside(s.path, pattern)
	if !ok {
		return nil, discovery.ErrorAt(at, "%q is outside of the repository", pattern).With(diag.OutsideDirectory)
	}
	found, err := fs.Glob(s.repo.Tree.FS, p)
	switch {
	case err != nil:
		return nil, discovery.ErrorAt(at, "%q is not a valid pattern", pattern).With(diag.BadValue)
	case len(found) == 0:
		return nil, discovery.ErrorAt(at, "nothing matches %q", pattern).With(diag.NoSuchFile)
	}
	// Keep the leading elements of the pattern, such as ../..
	up := 0
	for rest := path.Clean(pattern); strings.HasPrefix(rest, "../"); rest = rest[3:] {
		up++
	}
	base := s.path
	for range up {
		base = path.Dir(base)
	}
	for i, f := range found {
		found[i] = strings.Repeat("../", up) + strings.TrimPrefix(strings.TrimPrefix(f, base), "/")
		if base == "." {
			found[i] = strings.Repeat("../", up) + f
		}
	}
	return found, nil
}

// editCharts sets kubeVersion and apiVersions of charts without these fields. Argo CD passes them
// to kustomize as flags.
func (s *appSource) editCharts(e *edited) {
	k := s.Kustomize
	charts := e.value.Get("helmCharts")
	for i, c := range charts.Items() {
		if k.KubeVersion != "" && c.Get("kubeVersion").IsNull() {
			c = c.With("kubeVersion", yaml.Str(k.KubeVersion))
			e.place(s.field("kustomize", "kubeVersion"), "helmCharts", i, "kubeVersion")
		}
		if len(k.APIVersions) > 0 && c.Get("apiVersions").IsNull() {
			c = c.With("apiVersions", texts(k.APIVersions))
			e.place(s.field("kustomize", "apiVersions"), "helmCharts", i, "apiVersions")
		}
		charts = charts.WithItem(i, c)
	}
	if charts.Len() > 0 {
		e.value = e.value.With("helmCharts", charts)
	}
}

// texts returns a list of strings.
func texts(list []string) yaml.Value {
	items := make([]yaml.Value, len(list))
	for i, s := range list {
		items[i] = yaml.Str(s)
	}
	return yaml.SeqOf(items...)
}
