package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/krm"
)

// Value returns the catalog in the spelling that is written today, with everything that was read: what a user gets to see,
// and what becomes of a catalog in an old spelling.
func (c *Catalog) Value() krm.Value {
	functions := []krm.Value{}
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
	doc.add("spec", krm.MapOf(krm.Field{Key: "krmFunctions", Value: krm.SeqOf(functions...)}))
	return doc.value()
}

// object builds a mapping; what is empty is left out.
type object []krm.Field

func (o object) value() krm.Value {
	if len(o) == 0 {
		return krm.Value{}
	}
	return krm.MapOf(o...)
}

func (o *object) add(key string, v krm.Value) {
	if v.Exists() {
		*o = append(*o, krm.Field{Key: key, Value: v})
	}
}

func (o *object) text(key, s string) {
	if s != "" {
		o.add(key, krm.Str(s))
	}
}

func (o *object) list(key string, list []string) {
	items := make([]krm.Value, len(list))
	for i, s := range list {
		items[i] = krm.Str(s)
	}
	if len(items) > 0 {
		o.add(key, krm.SeqOf(items...))
	}
}

func (o *object) texts(key string, m map[string]string) {
	var inner object
	for _, k := range slices.Sorted(maps.Keys(m)) {
		inner.add(k, krm.Str(m[k]))
	}
	o.add(key, inner.value())
}

func (o *object) flag(key string, b bool) {
	if b {
		o.add(key, krm.BoolValue(true))
	}
}

func (o *object) pin(p Pin) {
	switch {
	case !p.Digest.IsZero():
		o.text("sha256", strings.TrimPrefix(p.Digest.String(), "sha256:"))
	case p.Given:
		o.add("sha256", krm.Str(p.Text))
	}
}

// functionValue returns the item of a function with its versions.
func functionValue(entries []*Entry) krm.Value {
	e := entries[0]
	var o object
	o.add("group", krm.Str(e.Group))
	o.add("names", krm.MapOf(krm.Field{Key: "kind", Value: krm.Str(e.Kind)}))
	o.text("description", e.Description)
	o.text("publisher", e.Publisher)
	o.text("home", e.Home)
	o.text("definition", e.Definition)
	o.list("tags", e.Tags)
	o.flag("allowRemoteConfig", e.AllowRemoteConfig)
	o.flag("allowArgs", e.AllowArgs)
	var versions []krm.Value
	for _, e := range entries {
		versions = append(versions, e.versionValue())
	}
	o.add("versions", krm.SeqOf(versions...))
	return o.value()
}

func (e *Entry) versionValue() krm.Value {
	var o, runtime object
	o.text("name", e.Version)
	if e.Schema.Exists() {
		o.add("schema", krm.MapOf(krm.Field{Key: "openAPIV3Schema", Value: e.Schema}))
	}
	o.flag("idempotent", e.Idempotent)
	o.text("usage", e.Usage)
	o.list("examples", e.Examples)
	o.text("license", e.License)
	o.list("maintainers", e.Maintainers)
	if e.Container != nil {
		runtime.add("container", e.Container.value())
	}
	if len(e.Exec) > 0 {
		runtime.add(string(cmp.Or(e.ExecRuntime, krm.RuntimeExec)), execValue(e.Exec))
	}
	runtime.text("starlark", e.Starlark)
	o.add("runtime", runtime.value())
	return o.value()
}

func (c *Container) value() krm.Value {
	var o object
	o.text("image", c.Text)
	o.pin(c.Pin)
	o.flag("requireNetwork", c.Network)
	o.flag("requireStorageMount", c.Storage)
	o.flag("requireWritableStorageMount", c.WritableStorage)
	return o.value()
}

// execValue writes platforms, or the short form where one does not say for which platform it is.
func execValue(list []Platform) krm.Value {
	full := true
	items := make([]krm.Value, len(list))
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
	case !full && len(items) == 1:
		return items[0]
	case !full:
		return krm.SeqOf(items...)
	}
	return krm.MapOf(krm.Field{Key: "platforms", Value: krm.SeqOf(items...)})
}
