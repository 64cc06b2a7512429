package flux

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An editor writes the kustomization file that kustomize-controller builds. It follows
// Generator.WriteFile of github.com/fluxcd/pkg/kustomize.
type editor struct {
	f    *finder
	o    *gitops.Object
	k    *kustomization
	tree tree
}

// A file is a kustomization file during its edits, with the places of its values.
type file struct {
	v      yaml.Value
	places []yaml.Place
	o      *gitops.Object
}

func (e *editor) edit(dir gitops.Dir, old *yaml.Source) (*yaml.Source, error) {
	f := &file{o: e.o, places: []yaml.Place{e.o.Place("spec")}}
	name := path.Join(e.tree.sub, "kustomization.yaml")
	if old != nil {
		v, err := old.Value()
		if err != nil {
			return nil, diag.AsError(err)
		}
		if !v.IsNull() && v.Type() != yaml.Map {
			return yaml.Assemble(old.File, v, yaml.Place{Source: old}), nil // the planner reports the error
		}
		f.v, f.places[0], name = v, yaml.Place{Source: old}, old.File
	}
	if !f.v.Exists() || f.v.IsNull() {
		f.v = yaml.MapOf()
	}
	f.fill("apiVersion", "kustomize.config.k8s.io/v1beta1")
	f.fill("kind", "Kustomization")
	switch {
	case old == nil:
		list, err := e.resources(dir)
		if err != nil {
			return nil, e.at("path", err)
		}
		if len(list) == 0 {
			// Kustomize refuses an empty file, so Flux writes the namespace _placeholder, which is
			// not a valid name. It matters only if components have resources.
			name := "_placeholder"
			if len(e.k.Spec.Components) == 0 {
				name = "placeholder"
			}
			f.set("namespace", yaml.Str(name), e.o.Place("spec", "path"))
		} else {
			f.set("resources", yaml.SeqOf(list...), e.o.Place("spec"))
		}
	case f.get("resources").Len() == 0:
		f.set("buildMetadata", yaml.SeqOf(yaml.Str("originAnnotations")), e.o.Place("spec"))
	}
	s := &e.k.Spec
	f.setText("namespace", s.TargetNamespace, "targetNamespace")
	f.setText("namePrefix", s.NamePrefix, "namePrefix")
	f.setText("nameSuffix", s.NameSuffix, "nameSuffix")
	if err := e.components(f); err != nil {
		return nil, err
	}
	f.render(s.postRenderer, "spec")
	if len(s.BuildMetadata) > 0 {
		f.set("buildMetadata", textList(s.BuildMetadata), e.o.Place("spec", "buildMetadata"))
	}
	if s.Decryption != nil && s.Decryption.Provider == "sops" {
		if err := e.decrypt(f, dir); err != nil {
			return nil, err
		}
	}
	return yaml.Assemble(name, f.v, f.places...), nil
}

// at adds the position of a field of spec to err, unless err has a position.
func (e *editor) at(field string, err error) *diag.Error {
	d := diag.AsError(err)
	if d.Pos.File != "" {
		return d
	}
	return e.o.Errorf([]any{"spec", field}, "%w", err)
}

// components adds the components of the object.
func (e *editor) components(f *file) error {
	s := &e.k.Spec
	var files fs.FS
	for i, c := range s.Components {
		at := []any{"spec", "components", i}
		if !isLocal(c) {
			return e.o.Errorf(at, "component path %q must be local and relative", c).With(diag.BadValue)
		}
		if s.IgnoreMissingComponents {
			if files == nil {
				files = e.tree.files(e.f.env)
			}
			if files != nil && !exists(files, path.Join(e.tree.sub, c)) {
				continue
			}
		}
		f.add("components", yaml.Str(c), e.o.Place(at...))
	}
	return nil
}

func exists(files fs.FS, name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	_, err := fs.Stat(files, name)
	return err == nil
}

// isLocal reports whether Flux accepts the path of a component as local and relative.
func isLocal(p string) bool {
	lower := strings.ToLower(p)
	for _, prefix := range []string{"git::", "gh:", "ssh://", "https://", "http://", "git@", "github.com:", "github.com/"} {
		if len(prefix) < len(p) && strings.HasPrefix(lower, prefix) {
			return false
		}
	}
	return !filepath.IsAbs(p) && !filepath.IsAbs(strings.TrimPrefix(lower, "file://"))
}

// render adds the patches and images of a post renderer. at is its path in the object.
func (f *file) render(p postRenderer, at ...any) {
	place := func(path ...any) yaml.Place { return f.o.Place(slices.Concat(at, path)...) }
	for i, p := range p.Patches {
		fields := []yaml.Field{}
		if p.Patch != "" {
			fields = append(fields, yaml.Field{Key: "patch", Value: yaml.Str(p.Patch)})
		}
		f.add("patches", withTarget(fields, p.Target), place("patches", i))
	}
	for i, p := range p.PatchesStrategicMerge {
		f.add("patchesStrategicMerge", yaml.Str(string(yaml.AppendJSON(nil, p))), place("patchesStrategicMerge", i))
	}
	for i, p := range p.PatchesJSON6902 {
		target := p.Target
		if target == nil {
			target = &selector{}
		}
		fields := []yaml.Field{{Key: "patch", Value: yaml.Str(string(yaml.AppendJSON(nil, operations(p.Patch))))}}
		f.add("patchesJson6902", withTarget(fields, target), place("patchesJson6902", i))
	}
	for i, img := range p.Images {
		f.image(img, place("images", i))
	}
}

func withTarget(fields []yaml.Field, s *selector) yaml.Value {
	if s != nil {
		fields = append(fields, yaml.Field{Key: "target", Value: textFields("group", s.Group, "version", s.Version, "kind", s.Kind,
			"name", s.Name, "namespace", s.Namespace, "annotationSelector", s.AnnotationSelector, "labelSelector", s.LabelSelector)})
	}
	return yaml.MapOf(fields...)
}

// operations returns the operations of a JSON patch.
func operations(list []jsonOperation) yaml.Value {
	items := make([]yaml.Value, len(list))
	for i, op := range list {
		items[i] = yaml.MapOf(yaml.Field{Key: "op", Value: yaml.Str(op.Op)}, yaml.Field{Key: "path", Value: yaml.Str(op.Path)})
		if op.From != "" {
			items[i] = items[i].With("from", yaml.Str(op.From))
		}
		if !op.Value.IsNull() {
			items[i] = items[i].With("value", op.Value)
		}
	}
	return yaml.SeqOf(items...)
}

// image adds an entry to images, or changes the first entry with the same name. A new tag or digest
// replaces both the tag and the digest of that entry.
func (f *file) image(img image, at yaml.Place) {
	for i, x := range f.get("images").Items() {
		if x.Type() != yaml.Map || field(x, "name").Text() != img.Name {
			continue
		}
		set := func(key, text string) {
			if text == "" {
				x = x.Without(keyIn(x, key))
				return
			}
			key = keyIn(x, key)
			x = x.With(key, yaml.Str(text))
			p := at.Below(key)
			p.Path = []any{f.key("images"), i, key}
			f.places = append(f.places, p)
		}
		if img.NewName != "" {
			set("newName", img.NewName)
		}
		if img.NewTag != "" || img.Digest != "" {
			set("newTag", img.NewTag)
			set("digest", img.Digest)
		}
		f.v = f.v.With(f.key("images"), f.get("images").WithItem(i, x))
		return
	}
	f.add("images", textFields("name", img.Name, "newName", img.NewName, "newTag", img.NewTag, "digest", img.Digest), at)
}

// textFields returns a mapping of the pairs with non-empty values.
func textFields(pairs ...string) yaml.Value {
	var fields []yaml.Field
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fields = append(fields, yaml.Field{Key: pairs[i], Value: yaml.Str(pairs[i+1])})
		}
	}
	return yaml.MapOf(fields...)
}

func textList(texts []string) yaml.Value {
	items := make([]yaml.Value, len(texts))
	for i, s := range texts {
		items[i] = yaml.Str(s)
	}
	return yaml.SeqOf(items...)
}

// keyIn returns the spelling of key in a mapping. Like kustomize, it ignores case.
func keyIn(v yaml.Value, key string) string {
	if v.Get(key).Exists() {
		return key
	}
	for _, f := range v.Fields() {
		if strings.EqualFold(f.Key, key) {
			return f.Key
		}
	}
	return key
}

func field(v yaml.Value, key string) yaml.Value { return v.Get(keyIn(v, key)) }

func (f *file) key(key string) string     { return keyIn(f.v, key) }
func (f *file) get(key string) yaml.Value { return f.v.Get(f.key(key)) }

// set sets a field to v. at is the place of v.
func (f *file) set(key string, v yaml.Value, at yaml.Place) {
	key = f.key(key)
	f.v = f.v.With(key, v)
	f.places = slices.DeleteFunc(f.places, func(p yaml.Place) bool { return len(p.Path) > 0 && p.Path[0] == key })
	at.Path = []any{key}
	f.places = append(f.places, at)
}

// fill sets a field that is missing or null.
func (f *file) fill(key, text string) {
	if f.get(key).IsNull() {
		f.v = f.v.With(f.key(key), yaml.Str(text))
	}
}

// setText sets a field to text, the value of a field of spec. It ignores an empty text.
func (f *file) setText(key, text, field string) {
	if text != "" {
		f.set(key, yaml.Str(text), f.o.Place("spec", field))
	}
}

// add appends an item to a list. at is the place of the item.
func (f *file) add(key string, item yaml.Value, at yaml.Place) {
	key = f.key(key)
	list := f.v.Get(key)
	at.Path = []any{key, list.Len()}
	f.v = f.v.With(key, list.WithItems(append(slices.Clone(list.Items()), item)...))
	f.places = append(f.places, at)
}
