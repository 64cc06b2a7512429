package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Of returns a catalog with the given entries, sorted by group, kind and version. It modifies
// the slice and the entries: versions of the same function get the same index, unless their
// shared properties differ.
func Of(entries []*Entry) *Catalog {
	slices.SortFunc(entries, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	for i, e := range entries {
		if i > 0 {
			e.Index = entries[i-1].Index
			if !e.sameFunction(entries[i-1]) {
				e.Index++
			}
		}
	}
	return &Catalog{Entries: entries}
}

// sameFunction reports whether e and o can be versions of one function: all properties that a
// catalog gives once per function are equal.
func (e *Entry) sameFunction(o *Entry) bool {
	return e.Group == o.Group && e.Kind == o.Kind && e.AllowArgs == o.AllowArgs && e.AllowRemoteConfig == o.AllowRemoteConfig &&
		e.Description == o.Description &&
		e.Publisher == o.Publisher && e.Home == o.Home && e.Definition == o.Definition && slices.Equal(e.Tags, o.Tags)
}

// Value returns the whole catalog in the current spelling. It is used to show a catalog, and to
// convert one from an old spelling.
func (c *Catalog) Value() yaml.Value {
	functions := []yaml.Value{}
	for i := 0; i < len(c.Entries); {
		n := i + 1
		for n < len(c.Entries) && c.Entries[n].Index == c.Entries[i].Index {
			n++
		}
		functions = append(functions, functionValue(c.Entries[i:n]))
		i = n
	}
	var doc, meta object
	doc.text("apiVersion", APIVersion)
	doc.text("kind", Kind)
	meta.text("name", c.Name)
	meta.texts("labels", c.Labels)
	meta.texts("annotations", c.Annotations)
	doc.add("metadata", meta.value())
	doc.add("spec", yaml.MapOf(yaml.Field{Key: "krmFunctions", Value: yaml.SeqOf(functions...)}))
	return doc.value()
}

// object builds a mapping. It omits empty values.
type object []yaml.Field

func (o object) value() yaml.Value {
	if len(o) == 0 {
		return yaml.Value{}
	}
	return yaml.MapOf(o...)
}

func (o *object) add(key string, v yaml.Value) {
	if v.Exists() {
		*o = append(*o, yaml.Field{Key: key, Value: v})
	}
}

func (o *object) text(key, s string) {
	if s != "" {
		o.add(key, yaml.Str(s))
	}
}

func (o *object) list(key string, list []string) {
	items := make([]yaml.Value, len(list))
	for i, s := range list {
		items[i] = yaml.Str(s)
	}
	if len(items) > 0 {
		o.add(key, yaml.SeqOf(items...))
	}
}

func (o *object) texts(key string, m map[string]string) {
	var inner object
	for _, k := range slices.Sorted(maps.Keys(m)) {
		inner.add(k, yaml.Str(m[k]))
	}
	o.add(key, inner.value())
}

func (o *object) flag(key string, b bool) {
	if b {
		o.add(key, yaml.BoolValue(true))
	}
}

func (o *object) pin(p Pin) {
	switch {
	case !p.Digest.IsZero():
		o.text("sha256", strings.TrimPrefix(p.Digest.String(), "sha256:"))
	case p.Given:
		o.add("sha256", yaml.Str(p.Text))
	}
}

// functionValue returns the item of krmFunctions for a function with these versions.
func functionValue(entries []*Entry) yaml.Value {
	e := entries[0]
	var o object
	o.add("group", yaml.Str(e.Group))
	o.add("names", yaml.MapOf(yaml.Field{Key: "kind", Value: yaml.Str(e.Kind)}))
	o.text("description", e.Description)
	o.text("publisher", e.Publisher)
	o.text("home", e.Home)
	o.text("definition", e.Definition)
	o.list("tags", e.Tags)
	o.flag("allowRemoteConfig", e.AllowRemoteConfig)
	o.flag("allowArgs", e.AllowArgs)
	var versions []yaml.Value
	for _, e := range entries {
		versions = append(versions, e.versionValue())
	}
	o.add("versions", yaml.SeqOf(versions...))
	return o.value()
}

func (e *Entry) versionValue() yaml.Value {
	var o, runtime object
	o.text("name", e.Version)
	o.text("schema", e.SchemaURI)
	if e.Schema.Exists() {
		o.add("schema", yaml.MapOf(yaml.Field{Key: "openAPIV3Schema", Value: e.Schema}))
	}
	o.flag("idempotent", e.Idempotent)
	o.text("usage", e.Usage)
	o.list("examples", e.Examples)
	o.text("license", e.License)
	o.list("maintainers", e.Maintainers)
	o.add("requires", e.Requires.value())
	if e.Container != nil {
		runtime.add("container", e.Container.value())
	}
	if len(e.Exec) > 0 {
		runtime.add(string(cmp.Or(e.ExecRuntime, function.RuntimeExec)), e.execValue())
	}
	runtime.text("starlark", e.Starlark)
	o.add("runtime", runtime.value())
	return o.value()
}

func (c *Container) value() yaml.Value {
	var o object
	o.text("image", c.Text)
	o.pin(c.Pin)
	var images []string
	for _, image := range c.Images {
		images = append(images, image.String())
	}
	o.list("images", images)
	o.flag("requireNetwork", c.Network)
	o.flag("requireStorageMount", c.Storage)
	o.flag("requireWritableStorageMount", c.WritableStorage)
	return o.value()
}

// execValue writes the list of platforms, or the short form if an item does not name its
// platform.
func (e *Entry) execValue() yaml.Value {
	list, full := e.Exec, true
	items := make([]yaml.Value, len(list))
	for i, p := range list {
		full = full && p.Bin != "" && p.OS != "" && p.Arch != ""
		var o object
		o.text("bin", p.Bin)
		o.text("os", p.OS)
		o.text("arch", p.Arch)
		o.text("uri", p.URI)
		o.pin(p.Pin)
		items[i] = o.value()
	}
	switch {
	case !full && len(items) == 1 && len(e.Programs) == 0:
		return items[0]
	case !full && len(e.Programs) == 0:
		return yaml.SeqOf(items...)
	}
	var o object
	o.list("programs", e.Programs)
	o.add("platforms", yaml.SeqOf(items...))
	return o.value()
}
