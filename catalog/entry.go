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

// An Entry is one version of a function. It defines the runtime for configurations with its GVK.
type Entry struct {
	Catalog *Catalog
	// Index is the index of the function in the catalog, from 0. All versions of a function share
	// it.
	Index int
	krm.GVK

	// Container, Exec and Starlark are the available runtimes.
	Container *Container
	Exec      []Platform
	Starlark  string
	// Programs are further names by which configurations refer to the program, as in exec: {path:
	// ksops}.
	Programs []string
	// ExecRuntime is the runtime of Exec if a third party provides it, and empty otherwise.
	ExecRuntime function.Runtime

	// Requires lists the variables, files and network that the user can grant to the function.
	Requires Requires

	// AllowRemoteConfig allows configurations from fetched trees to use an entry with capabilities
	// or local programs.
	AllowRemoteConfig bool
	// AllowArgs allows a configuration to pass arguments to the program.
	AllowArgs bool
	// Idempotent is true if the catalog declares the function idempotent.
	Idempotent bool
	// SchemaURI is the address of the schema if the catalog does not include it. It is never
	// fetched.
	SchemaURI string
	// Schema is the OpenAPI v3 schema of the configuration. Its type is None if there is no schema.
	Schema yaml.Value

	Description, Publisher, Home, Definition, Usage, License string
	Maintainers, Tags, Examples                              []string

	path []any
}

// A Container is a container image with its capabilities.
type Container struct {
	// Text is the image reference as written; Image is its parsed form.
	Text  string
	Image function.Image
	// Images are further references by which configurations name the function.
	Images []function.Image
	// wrong is the error for an invalid digest in Text. Image does not contain that digest.
	wrong error
	// Pin is the sha256 field next to the image.
	Pin Pin
	// Network, Storage and WritableStorage are the capabilities that the function requires. They
	// are granted if it runs.
	Network, Storage, WritableStorage bool
}

// A Platform is a program for one operating system and architecture. An empty OS or Arch matches
// any.
type Platform struct {
	URI, Bin, OS, Arch string
	Pin                Pin
}

// A Pin is the value of a sha256 field, kept as written. An invalid pin does not invalidate the
// rest of the catalog, but its program or image never runs.
type Pin struct {
	Text string
	// Given is true if the field is present, even if it is empty.
	Given  bool
	Digest krm.Digest // zero if Text is invalid
}

// Err returns the reason why a given pin is invalid. It returns nil for a valid or absent pin.
func (p Pin) Err() error {
	if !p.Given || !p.Digest.IsZero() {
		return nil
	}
	_, err := krm.ParseDigest(p.Text)
	return err
}

// Pos returns the position of the entry. It may parse the catalog again, so use it only for
// messages.
func (e *Entry) Pos() diag.Pos { return e.Catalog.doc.Locate(e.path...) }

// String returns the form used in messages: the catalog and the number of the entry, from 1.
func (e *Entry) String() string { return fmt.Sprintf("catalog %s, entry %d", e.Catalog.Ref, e.Index+1) }

// Digest returns the digest that the image must have, or zero if the catalog gives none. It
// returns an error if the digest is invalid, or if the image and the sha256 field have different
// digests.
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
		return krm.Digest{}, fmt.Errorf("the image has the digest %s, but sha256 has %s", a, b)
	}
}

// function reads an item of krmFunctions and adds one entry per version.
func (r *reader) function(c yaml.Cursor, index int) {
	if !c.Known("group", "names", "kind", "description", "publisher", "home", "maintainers", "tags", "versions", "runtime",
		"provider", "definition", "allowRemoteConfig", "allowArgs", "requires") {
		return
	}
	shared := r.shared(c, index)
	group := c.Field("group")
	if !group.Value().Exists() {
		group.Errorf("is missing").Hint("for the core group, write \"\"")
	}
	shared.Group, shared.Kind = group.Text(), r.kind(c)
	if strings.Contains(shared.Group, "/") {
		group.Errorf("%q is not a group: list the version under versions", shared.Group)
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

// kind reads the kind in either spelling.
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

// shared reads the properties that all versions of a function share.
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
	r.requires(c.Field("requires"), &e)
	return e
}

func isTrue(b *bool) bool { return b != nil && *b }

// describe reports missing descriptive fields. They are optional, so this is only a lint
// finding.
func (r *reader) describe(c yaml.Cursor, keys ...string) {
	for _, key := range keys {
		if f := c.Field(key); !f.Exists() {
			r.lint(f, "is missing")
		}
	}
}

func (r *reader) version(c yaml.Cursor, shared Entry) {
	if !c.Known("name", "schema", "idempotent", "usage", "examples", "license", "maintainers", "runtime", "provider", "requires") {
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
	r.requires(c.Field("requires"), &e)
	if own := c.Either("runtime", "provider"); own.Exists() {
		e.Container, e.Exec, e.Programs, e.Starlark, e.ExecRuntime = nil, nil, nil, "", ""
		r.runtime(own, &e)
	}
	r.add(c, e)
}

func (r *reader) schema(c yaml.Cursor, e *Entry) {
	if c.Value().Type() == yaml.String {
		e.SchemaURI = c.Text()
		r.lint(c, "is a URL, which is not fetched: write the schema into the catalog, under openAPIV3Schema")
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

// module reads an item of modules. This older form has one version per item.
func (r *reader) module(c yaml.Cursor, index int) {
	if !c.Known("apiVersion", "kind", "description", "definition", "provider", "runtime", "publisher", "home", "maintainers",
		"tags", "allowRemoteConfig", "allowArgs", "requires") {
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

// reserved rejects an entry that defines a kind of kustomize itself: a catalog must not replace
// a built-in.
func (r *reader) reserved(c yaml.Cursor, e Entry) {
	if e.Kind != "" && Reserved(e.GVK) {
		c.Errorf("entry %d defines %s, but a catalog must not define kinds of kustomize itself", e.Index+1, e.GVK)
	}
}

// Reserved reports whether gvk belongs to kustomize itself. Such kinds are never looked up in
// catalogs.
func Reserved(gvk krm.GVK) bool {
	return gvk.Group == "builtin" || gvk.Group == "kustomize.config.k8s.io" || gvk.Group == "" && gvk.Version == "builtin"
}
