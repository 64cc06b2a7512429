package catalog

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Entry is one version of one function: what runs for a configuration of its GVK.
type Entry struct {
	Catalog *Catalog
	// Index counts the functions of the catalog from 0; the versions of one function share it.
	Index int
	krm.GVK

	// Container, Exec and Starlark are the runtimes that the entry offers.
	Container *Container
	Exec      []Platform
	Starlark  string
	// ExecRuntime is the runtime that Exec is for, if it is that of a third party.
	ExecRuntime function.Runtime

	// AllowRemoteConfig lets configurations from fetched trees use an entry with capabilities or local programs.
	AllowRemoteConfig bool
	// AllowArgs lets a configuration give arguments to the program.
	AllowArgs bool
	// Idempotent is true if the catalog declares it.
	Idempotent bool
	// SchemaURI is the address of the schema in a catalog that does not include it. It is never
	// fetched.
	SchemaURI string
	// Schema is the OpenAPI v3 schema of the configuration, None if there is none.
	Schema yaml.Value

	Description, Publisher, Home, Definition, Usage, License string
	Maintainers, Tags, Examples                              []string

	path []any
}

// A Container is a container image and what it may do.
type Container struct {
	// Text is the image as it is written and Image the same taken apart.
	Text  string
	Image function.Image
	// wrong says what is wrong with a digest in Text, which then is not in Image.
	wrong error
	// Pin is the digest beside the image.
	Pin Pin
	// Network, Storage and WritableStorage say what the function requires and is therefore granted.
	Network, Storage, WritableStorage bool
}

// A Platform is a program for one operating system and architecture; empty means any.
type Platform struct {
	URI, Bin, OS, Arch string
	Pin                Pin
}

// A Pin is a sha256 in a catalog. It is kept as it is written: one that is not valid does not make the rest of the
// catalog useless, but whatever it stands beside is never run.
type Pin struct {
	Text string
	// Given is true if there is a sha256 at all, even an empty one.
	Given  bool
	Digest krm.Digest // zero unless the text is valid
}

// Err returns what is wrong with a pin that is given, nil if nothing is.
func (p Pin) Err() error {
	if !p.Given || !p.Digest.IsZero() {
		return nil
	}
	_, err := krm.ParseDigest(p.Text)
	return err
}

// Pos returns where the entry is. It may read the catalog again, so it is meant for messages.
func (e *Entry) Pos() diag.Pos { return e.Catalog.doc.Locate(e.path...) }

// String returns the form that messages show: the catalog and the number of the entry, which counts from 1.
func (e *Entry) String() string { return fmt.Sprintf("catalog %s, entry %d", e.Catalog.Ref, e.Index+1) }

// Digest returns the digest that the catalog demands of the image, zero if there is none. That the two places for it
// disagree is an error, and so is one that is no digest.
func (c *Container) Digest() (krm.Digest, error) {
	if err := cmp.Or(c.wrong, c.Pin.Err()); err != nil {
		return krm.Digest{}, err
	}
	switch a, b := c.Image.Digest, c.Pin.Digest; {
	case a.IsZero():
		return b, nil
	case b.IsZero() || a == b:
		return a, nil
	default:
		return krm.Digest{}, fmt.Errorf("the image says %s and sha256 beside it says %s", a, b)
	}
}

// function reads an item of krmFunctions: one entry for each of its versions.
func (r *reader) function(c yaml.Cursor, index int) {
	if !c.Known("group", "names", "kind", "description", "publisher", "home", "maintainers", "tags", "versions", "runtime",
		"provider", "definition", "allowRemoteConfig", "allowArgs") {
		return
	}
	shared := r.shared(c, index)
	group := c.Field("group")
	if !group.Value().Exists() {
		group.Errorf("is missing").Hint("the core group is \"\"")
	}
	shared.Group, shared.Kind = group.Text(), r.kind(c)
	if strings.Contains(shared.Group, "/") {
		group.Errorf("%q is not a group: the version is given below versions", shared.Group)
	}
	r.describe(c, "description", "publisher")
	r.runtime(c.Either("runtime", "provider"), &shared)
	versions := c.Field("versions")
	if !versions.Exists() {
		versions.Errorf("is missing")
		return
	}
	items := versions.Items()
	if len(items) == 0 && versions.Value().Type() == yaml.Seq {
		versions.Errorf("must list at least one version")
	}
	for _, v := range items {
		r.version(v, shared)
	}
}

// kind reads the kind in its two spellings.
func (r *reader) kind(c yaml.Cursor) string {
	names := c.Field("names")
	if names.Exists() && !names.Known("kind") {
		return ""
	}
	long, short := names.Field("kind"), c.Field("kind")
	switch {
	case !short.Exists():
		return long.Required()
	case !long.Exists():
		return short.Required()
	}
	if long.Required() != short.Required() {
		short.Errorf("is %q, but names.kind is %q", short.Text(), long.Text())
	}
	return long.Text()
}

// shared reads what an entry says for all its versions.
func (r *reader) shared(c yaml.Cursor, index int) Entry {
	e := Entry{Catalog: r.c, Index: index, path: c.Path()}
	e.Description = c.Field("description").Text()
	e.Publisher = c.Field("publisher").Text()
	e.Home = c.Field("home").Text()
	e.Definition = c.Field("definition").Text()
	e.Maintainers = c.Field("maintainers").Strings()
	e.Tags = c.Field("tags").Strings()
	e.AllowRemoteConfig = isTrue(c.Field("allowRemoteConfig").Bool())
	e.AllowArgs = isTrue(c.Field("allowArgs").Bool())
	return e
}

func isTrue(b *bool) bool { return b != nil && *b }

// describe is about fields that only help people: that they are missing stops nobody.
func (r *reader) describe(c yaml.Cursor, keys ...string) {
	for _, key := range keys {
		if f := c.Field(key); !f.Exists() {
			r.lint(f, "is missing")
		}
	}
}

func (r *reader) version(c yaml.Cursor, shared Entry) {
	if !c.Known("name", "schema", "idempotent", "usage", "examples", "license", "maintainers", "runtime", "provider") {
		return
	}
	e := shared
	e.path = c.Path()
	e.Version = c.Field("name").Required()
	if strings.Contains(e.Version, "/") {
		c.Field("name").Errorf("%q is not a version: it has a slash", e.Version)
	}
	r.reserved(c.Field("name"), e)
	e.Idempotent = isTrue(c.Field("idempotent").Bool())
	e.Usage = c.Field("usage").Text()
	e.Examples = c.Field("examples").Strings()
	e.License = c.Field("license").Text()
	if own := c.Field("maintainers"); own.Exists() {
		e.Maintainers = own.Strings()
	}
	r.describe(c, "schema", "idempotent", "usage", "examples", "license")
	if e.License != "" && e.License != "Apache 2.0" && e.License != "Apache-2.0" {
		r.lint(c.Field("license"), "%q is not Apache 2.0", e.License)
	}
	r.schema(c.Field("schema"), &e)
	if own := c.Either("runtime", "provider"); own.Exists() {
		e.Container, e.Exec, e.Starlark, e.ExecRuntime = nil, nil, "", ""
		r.runtime(own, &e)
	}
	r.add(c, e)
}

func (r *reader) schema(c yaml.Cursor, e *Entry) {
	if c.Value().Type() == yaml.String {
		e.SchemaURI = c.Text()
		r.lint(c, "is an address, which is not fetched: write the schema into the catalog, below openAPIV3Schema")
		return
	}
	if !c.Exists() || !c.Known("openAPIV3Schema") {
		return
	}
	schema := c.Field("openAPIV3Schema")
	if !schema.Exists() {
		return
	}
	e.Schema = schema.Value()
	for _, w := range CheckSchema(e.Schema) {
		at := append(append([]any(nil), schema.Path()...), w.Path...)
		r.c.lint = append(r.c.lint, finding{path: at, msg: w.Msg})
	}
}

// module reads an item of modules, the older form: it has one version.
func (r *reader) module(c yaml.Cursor, index int) {
	if !c.Known("apiVersion", "kind", "description", "definition", "provider", "runtime", "publisher", "home", "maintainers",
		"tags", "allowRemoteConfig", "allowArgs") {
		return
	}
	e := r.shared(c, index)
	e.GVK = krm.ParseGVK(c.Field("apiVersion").Required(), c.Field("kind").Required())
	if text := c.Field("apiVersion").Text(); text != "" && (e.Version == "" || strings.Contains(e.Version, "/")) {
		c.Field("apiVersion").Errorf("%q is not group/version", text)
	}
	r.reserved(c.Field("apiVersion"), e)
	r.runtime(c.Either("runtime", "provider"), &e)
	r.add(c, e)
}

func (r *reader) add(c yaml.Cursor, e Entry) {
	if e.Container == nil && e.Exec == nil && e.Starlark == "" {
		r.lint(c, "at least one of container and exec must be set")
	}
	r.c.Entries = append(r.c.Entries, &e)
}

// reserved refuses what stands for kustomize's own kinds: no catalog may define what a built-in does.
func (r *reader) reserved(c yaml.Cursor, e Entry) {
	if e.Kind != "" && Reserved(e.GVK) {
		c.Errorf("entry %d defines %s, and a catalog may not define kinds of kustomize itself", e.Index+1, e.GVK)
	}
}

// Reserved reports whether gvk belongs to kustomize itself: it is never looked up in a catalog.
func Reserved(gvk krm.GVK) bool {
	return gvk.Group == "builtin" || gvk.Group == "kustomize.config.k8s.io" || gvk.Group == "" && gvk.Version == "builtin"
}
