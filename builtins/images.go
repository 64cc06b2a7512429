// Follows api/internal/builtins/ImageTagTransformer.go, api/filters/imagetag/imagetag.go,
// api/filters/imagetag/legacy.go, api/filters/imagetag/updater.go.

package builtins

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Image is an entry of `images:`. It selects images and describes the change.
type Image struct {
	// Name is a regular expression for the name without tag and digest.
	Name    string `json:"name,omitempty"`
	NewName string `json:"newName,omitempty"`
	// TagSuffix is appended to the existing tag.
	TagSuffix string `json:"tagSuffix,omitempty"`
	NewTag    string `json:"newTag,omitempty"`
	Digest    string `json:"digest,omitempty"`
}

// ImageTagTransformer changes the name, tag or digest of container images.
type ImageTagTransformer struct {
	ImageTag   Image       `json:"imageTag,omitempty"`
	FieldSpecs *FieldSpecs `json:"fieldSpecs,omitempty"`
	pattern    imagePattern
	// before and after connect the transformer with its neighbors. See [ChainImages].
	before, after *imageMail
}

// Configure never fails. An invalid regular expression as the name matches nothing, as in
// kustomize.
func (t *ImageTagTransformer) Configure(Env) error {
	t.pattern = compileImage(t.ImageTag.Name)
	return nil
}

// Transform changes the images of all containers and initContainers at any depth, and then the
// images at FieldSpecs. An image found both ways therefore gets a tag suffix twice.
// CustomResourceDefinitions are not changed. Transform warns if no image matches the name.
func (t *ImageTagTransformer) Transform(list *krm.List, warn Warn) error {
	notes := t.before.take(list)
	matched, err := t.update(list, notes)
	if err != nil {
		return err
	}
	if !matched && warn != nil {
		names := notes.names()
		warnIn(warn, []any{"name"}, diag.NoSuchImage, "no image named %q%s", t.ImageTag.Name, diag.Next(func() []string {
			if hints := t.unlisted(list); hints != nil {
				return hints
			}
			return t.otherNames(names)
		}))
	}
	t.after.put(notes)
	return nil
}

// update changes the images of list and updates notes. It reports whether an image matched.
func (t *ImageTagTransformer) update(list *krm.List, notes *imageNotes) (bool, error) {
	if found, ok := notes.find(&t.pattern); ok {
		u := t.begin()
		err := u.applyToSome(list, notes, found)
		return u.matched, err
	}
	var matched, noted atomic.Bool
	err := list.Parts(func(part *krm.List) error {
		u := t.begin()
		err := u.applyTo(part, notes.notes[part.From():])
		if u.matched {
			matched.Store(true)
		}
		if u.noted {
			noted.Store(true)
		}
		return err
	})
	if noted.Load() {
		notes.known = nil
	}
	return matched.Load(), err
}

func (t *ImageTagTransformer) begin() *imageUpdate {
	return &imageUpdate{image: t.ImageTag, pattern: t.pattern, fields: t.FieldSpecs}
}

// UseFields implements [FieldLister].
func (t *ImageTagTransformer) UseFields(c *Config) { t.FieldSpecs = c.Images }

// Sets implements [Setter]. Lists of containers are searched in any object, regardless of
// FieldSpecs.
func (t *ImageTagTransformer) Sets(q FieldQuery) (s Setting, ok bool) {
	s.Where = "it applies to images named " + diag.OneLine(t.ImageTag.Name)
	s.Missed = t.isNearly(q.Value.Text())
	return s, q.ends("containers", "image") || q.ends("initContainers", "image") || q.among(t.FieldSpecs)
}

// isNearly reports whether image almost matches the name: its registry or path differs, or the
// name is misspelled.
func (t *ImageTagTransformer) isNearly(image string) bool {
	if image == "" {
		return false
	}
	name, _, _ := strings.Cut(image, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	want := t.ImageTag.Name
	return want != name && (path.Base(want) == path.Base(name) || diag.Nearest(want, []string{name}) != "")
}

// Causes implements [Causer].
func (t *ImageTagTransformer) Causes(e Edit) Likelihood {
	return likelyIf(e.Field == "image" && strings.Contains(e.New.Text(), cmp.Or(t.ImageTag.NewName, t.ImageTag.Name)))
}

// StandsFor implements [FieldForm].
func (t *ImageTagTransformer) StandsFor() []KustomizationField {
	return []KustomizationField{
		{Name: "images", Each: true, Key: "imageTag"},
		{Name: "imageTags", Each: true, Key: "imageTag", Instead: "images"},
	}
}

// otherNames returns hints at the existing name that the user may have meant.
func (t *ImageTagTransformer) otherNames(names []string) []string {
	name := t.ImageTag.Name
	if i := strings.IndexAny(name, ":@"); i > 0 && slices.Contains(names, name[:i]) {
		return []string{fmt.Sprintf("write %q: give image names without tag and digest", name[:i])}
	}
	if near := diag.DidYouMean(name, names); near != nil {
		return near
	}
	if len(names) == 0 {
		return []string{"no images were found here: check that the entry is in the layer that has the resources"}
	}
	return []string{"the images are: " + diag.Some(slices.Sorted(slices.Values(names)))}
}

// An imageUpdate is the state of one transformation of a list or a part of it.
type imageUpdate struct {
	image   Image
	pattern imagePattern
	fields  *FieldSpecs
	matched bool
	noted   bool     // notes have been added
	images  []string // the storage for all of these notes
	seen    []string // the images of the current resource
	added   growth   // the growth of the current resource
}

// applyTo changes the images of a list. It notes the images of resources that do not change.
func (u *imageUpdate) applyTo(list *krm.List, notes []imageNote) error {
	for i := range list.All() {
		if _, err := u.applyAt(list, i, &notes[i]); err != nil {
			return err
		}
	}
	return nil
}

// applyToSome is applyTo for the resources at the positions found.
func (u *imageUpdate) applyToSome(list *krm.List, notes *imageNotes, found []int) error {
	for _, i := range found {
		if list.CheckSize() != nil {
			return nil // as [krm.List.All]
		}
		u.noted = false
		changed, err := u.applyAt(list, i, &notes.notes[i])
		switch {
		case err != nil:
			return err
		case changed:
			notes.stale = append(notes.stale, i)
		case u.noted:
			notes.add(i)
			notes.known = nil
		}
	}
	return nil
}

// applyAt changes the images of resource i, or updates its note.
func (u *imageUpdate) applyAt(list *krm.List, i int, note *imageNote) (changed bool, err error) {
	r := list.At(i)
	if note.holds(r) && u.skip(note.images) {
		return false, nil
	}
	u.seen, u.added = u.seen[:0], 0
	v, err := u.apply(r)
	if err != nil {
		return false, resourceError(r, err)
	}
	if v.Same(r.Value()) {
		*note = u.note(v)
		return false, nil
	}
	list.Change(i, func(r *krm.Resource) { r.SetValue(v) })
	return true, nil
}

// note returns a note for a resource with the value v and the images in u.seen.
func (u *imageUpdate) note(v yaml.Value) imageNote {
	slices.Sort(u.seen)
	start := len(u.images)
	u.images = append(u.images, slices.Compact(u.seen)...)
	u.noted = true
	return imageNote{v, u.images[start:len(u.images):len(u.images)]}
}

func (u *imageUpdate) apply(r *krm.Resource) (yaml.Value, error) {
	id := r.ID()
	if id.Kind == "CustomResourceDefinition" {
		return r.Value(), nil
	}
	v, err := u.containers(r.Value())
	if err != nil {
		return v, err
	}
	return u.fields.edit(v, id.GVK, yaml.None, u.set)
}

// containers changes the images in all lists called containers or initContainers, at any depth.
func (u *imageUpdate) containers(v yaml.Value) (yaml.Value, error) {
	changed := v
	fields := v.Fields()
	for i := range fields {
		f := &fields[i]
		if f.Value.Len() == 0 {
			continue
		}
		w, err := u.containers(f.Value)
		if err == nil && w.Type() == yaml.Seq && (f.Key == "containers" || f.Key == "initContainers") {
			w, err = w.EditItems(u.container)
		}
		if err != nil {
			return v, err
		}
		if !w.Same(f.Value) {
			changed = withField(v, changed, i, w)
		}
	}
	if v.Type() == yaml.Seq {
		return v.EditItems(u.containers)
	}
	return changed, nil
}

// withField returns changed with field i set to x. It copies changed first if it is still v.
func withField(v, changed yaml.Value, i int, x yaml.Value) yaml.Value {
	if changed.Same(v) {
		changed = v.WithFields(append([]yaml.Field(nil), v.Fields()...)...)
	}
	changed.Fields()[i].Value = x
	return changed
}

func (u *imageUpdate) container(v yaml.Value) (yaml.Value, error) {
	if v.IsNull() {
		return v, nil
	}
	if v.Type() != yaml.Map {
		return v, diag.UnfitField.Errorf("a container must be a mapping, found %s", v.Type().Article())
	}
	old := v.Get("image")
	if !old.Exists() {
		return v, nil
	}
	image, err := u.set(old)
	if err != nil || image.Same(old) {
		return v, err
	}
	return v.With("image", image), nil
}

// set returns the replacement of the image v.
func (u *imageUpdate) set(v yaml.Value) (yaml.Value, error) {
	text := v.SourceText() // kustomize matches the source text
	if !v.IsNull() && !v.IsScalar() {
		return v, diag.UnfitField.Errorf("image: %w", errNotScalar(v))
	}
	u.seen = append(u.seen, text)
	if !u.pattern.match(text) {
		return v, nil
	}
	u.matched = true
	image := u.image.update(text)
	if image == text {
		return v, nil
	}
	w := sameStyle(v, image)
	return w, u.added.add(v, w)
}

// skip reports whether a resource with these images does not change.
func (u *imageUpdate) skip(images []string) bool {
	return !slices.ContainsFunc(images, u.pattern.match)
}

// update applies img to an image whose name matches. A new tag or digest replaces both the tag
// and the digest.
func (img *Image) update(image string) string {
	name, tag, digest := SplitImage(image)
	if img.NewName != "" {
		name = img.NewName
	}
	switch {
	case img.NewTag != "" || img.Digest != "":
		tag, digest = img.NewTag, img.Digest
	case img.TagSuffix != "":
		tag, digest = tag+img.TagSuffix, ""
	}
	if tag != "" {
		name += ":" + tag
	}
	if digest != "" {
		name += "@" + digest
	}
	return name
}

// Summary describes the change of an image for plans, without credentials.
func (img Image) Summary() string {
	to := diag.Redact(img.NewName)
	if img.NewTag != "" {
		to += ":" + img.NewTag
	}
	if img.TagSuffix != "" {
		to += " +" + img.TagSuffix
	}
	if img.Digest != "" {
		to += "@" + img.Digest
	}
	return diag.Redact(img.Name) + " -> " + to
}
