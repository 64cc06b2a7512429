// Package catalog reads catalogs: documents that list functions with their runtimes and
// capabilities. Reading a catalog grants nothing; package trust decides whether a catalog is
// used.
//
// A catalog is a single byte string, hashed once and parsed once, in strict mode. The plan and
// the run therefore use the same parse result and cannot disagree. The package performs no I/O.
// Parsed values are immutable and safe for concurrent use.
package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// MaxSize is the maximum size of a catalog in bytes.
const MaxSize = 16 << 20

// The current apiVersion and kind of a catalog. [Parse] also accepts older spellings.
const (
	APIVersion = "config.kubernetes.io/v1alpha1"
	Kind       = "Catalog"
)

// A Catalog is a parsed catalog.
type Catalog struct {
	Ref Ref
	// Digest is the digest of the parsed bytes.
	Digest krm.Digest
	// APIVersion and Kind are copied from the document, which may use an old spelling.
	APIVersion, Kind string
	Name             string
	Labels           map[string]string
	Annotations      map[string]string
	// Entries lists the functions in document order, one entry per version.
	Entries []*Entry
	// Notices contains messages for every user of the catalog: at most one, about deprecated
	// spellings.
	Notices []*diag.Error

	doc   *yaml.StrictDocument
	lint  []finding
	index map[krm.GVK][]*Entry
}

// A finding is a problem at a path. It does not affect other entries.
type finding struct {
	path     []any
	msg      string
	unusable bool // the entry cannot be used
}

// Unusable returns the reasons why entries cannot be used, such as an invalid digest. The
// remaining entries can be used.
func (c *Catalog) Unusable() []*diag.Error { return c.findings(true) }

// Lint returns harmless problems for the catalog's author: fields that are missing, invalid or
// without effect.
func (c *Catalog) Lint() []*diag.Error { return c.findings(false) }

func (c *Catalog) findings(unusable bool) (list []*diag.Error) {
	for _, f := range c.lint {
		if f.unusable == unusable {
			list = append(list, diag.Errorf(c.doc.Locate(f.path...), diag.FieldPath(f.path), "%s", f.msg).With(diag.BadCatalog))
		}
	}
	return list
}

// Parse parses src as the catalog with the reference ref. It reports all errors at once, as
// [*diag.Error] values joined into one error. Unknown keys, duplicate keys, values of the wrong
// type and a second document are errors.
func Parse(src *yaml.Source, ref Ref) (*Catalog, error) {
	whole := diag.Pos{File: src.File}
	if len(src.Data) > MaxSize {
		return nil, diag.Errorf(whole, "", "the catalog has %s; the limit is %s", diag.Size(int64(len(src.Data))),
			diag.Size(MaxSize)).With(diag.TooLarge)
	}
	doc, err := src.Strict()
	if err != nil {
		return nil, err
	}
	if !doc.Value.Exists() {
		return nil, diag.Errorf(whole, "",
			"the file contains no Catalog document").With(diag.BadCatalog).Hint("the file is empty or has only comments")
	}
	c := &Catalog{Ref: ref, Digest: src.Digest(), doc: doc, index: map[krm.GVK][]*Entry{}}
	r := &reader{c: c}
	top := yaml.NewCursor(doc.Value, doc.Locate)
	r.document(top)
	if err := top.Err(); err != nil {
		return nil, err
	}
	r.finish()
	return c, nil
}

// reader collects the state of reading one catalog.
type reader struct {
	c   *Catalog
	old []string // deprecated spellings in use
	at  diag.Pos // position of the first one
}

func (r *reader) outdated(c yaml.Cursor, what string) {
	for _, known := range r.old {
		if known == what {
			return
		}
	}
	if r.old = append(r.old, what); len(r.old) == 1 {
		r.at = c.Pos()
	}
}

func (r *reader) lint(c yaml.Cursor, format string, args ...any) {
	r.c.lint = append(r.c.lint, finding{path: c.Path(), msg: fmt.Sprintf(format, args...)})
}

// unusable records a field that makes its entry unusable.
func (r *reader) unusable(c yaml.Cursor, err error) {
	r.c.lint = append(r.c.lint, finding{c.Path(), err.Error(), true})
}

func (r *reader) document(top yaml.Cursor) {
	if top.Value().Type() != yaml.Map {
		top.Known() // reports the actual type
		return
	}
	c := r.c
	c.APIVersion, c.Kind = top.Field("apiVersion").Text(), top.Field("kind").Text()
	if !r.accepts(top) {
		return
	}
	top.Known("apiVersion", "kind", "metadata", "spec")
	r.metadata(top.Field("metadata"))
	spec := top.Field("spec")
	if !spec.Exists() {
		spec.Errorf("is missing")
		return
	}
	if c.Kind == kindDefinition {
		r.function(spec, 0)
		return
	}
	if !spec.Known("krmFunctions", "modules") {
		return
	}
	functions, modules := spec.Field("krmFunctions"), spec.Field("modules")
	switch {
	case functions.Value().Exists() && modules.Value().Exists():
		modules.Errorf("a catalog has either krmFunctions or modules").With(diag.BadCatalog)
	case modules.Value().Exists():
		r.outdated(modules, "modules")
		for i, item := range modules.Items() {
			r.module(item, i)
		}
	case functions.Value().Exists():
		for i, item := range functions.Items() {
			r.function(item, i)
		}
	default:
		functions.Errorf("is missing").Hint("for an empty catalog, write krmFunctions: []")
	}
}

const (
	oldAPIVersion  = "kustomize.io/v1"
	kindCatalog2   = "KRMFunctionCatalog"
	kindDefinition = "KRMFunctionDefinition"
)

// accepts reports whether apiVersion and kind identify a catalog, in any spelling.
func (r *reader) accepts(top yaml.Cursor) bool {
	switch v, k := r.c.APIVersion, r.c.Kind; {
	case v == APIVersion && (k == Kind || k == kindCatalog2 || k == kindDefinition):
		return true
	case v == oldAPIVersion && k == Kind:
		r.outdated(top.Field("apiVersion"), "apiVersion "+oldAPIVersion)
		return true
	}
	if len(top.Mistakes()) > 0 {
		return false
	}
	at := top.Field("apiVersion")
	if r.c.APIVersion == APIVersion || r.c.APIVersion == oldAPIVersion {
		at = top.Field("kind")
	}
	at.Errorf("not a catalog: found %s", describe(r.c.APIVersion, r.c.Kind)).With(diag.BadCatalog).
		Hint("a catalog is %s with kind %s, %s or %s, or %s with kind %s", APIVersion, Kind, kindCatalog2, kindDefinition, oldAPIVersion,
			Kind)
	return false
}

func describe(apiVersion, kind string) string {
	switch {
	case apiVersion == "" && kind == "":
		return "a document without apiVersion and kind"
	case apiVersion == "":
		return fmt.Sprintf("kind %q without apiVersion", kind)
	case kind == "":
		return fmt.Sprintf("apiVersion %q without kind", apiVersion)
	}
	return fmt.Sprintf("%q of %q", kind, apiVersion)
}

func (r *reader) metadata(meta yaml.Cursor) {
	if !meta.Exists() {
		return
	}
	if !meta.Known("name", "namespace", "labels", "annotations", "creationTimestamp", "generation", "resourceVersion", "uid") {
		return
	}
	r.c.Name = meta.Field("name").Text()
	r.c.Labels = meta.Field("labels").StringMap()
	annotations := meta.Field("annotations")
	r.c.Annotations = annotations.StringMap()
	_, err := r.c.Serial()
	_, err2 := r.c.Expires()
	if err = errors.Join(err, err2); err != nil {
		// An invalid serial or expiry is an error: ignoring it would silently disable the check.
		annotations.Errorf("%v", err)
	}
}

// finish builds the index, reports entries hidden by earlier ones, and adds the notice about
// deprecated spellings.
func (r *reader) finish() {
	c := r.c
	for _, e := range c.Entries {
		same := append(c.index[e.GVK], e)
		c.index[e.GVK] = same
		if len(same) == 1 {
			continue
		}
		c.lint = append(c.lint, finding{path: e.path, msg: fmt.Sprintf("%s has no effect: entry %d, which comes first, also defines it",
			e.GVK, same[0].Index+1)})
	}
	if len(r.old) > 0 {
		c.Notices = append(c.Notices, diag.Errorf(r.at, "", "the catalog uses deprecated spellings: %s",
			strings.Join(r.old, ", ")).With(diag.OldCatalog).
			Hint("write apiVersion %s with krmFunctions", APIVersion))
	}
}

// String returns the catalog's reference.
func (c *Catalog) String() string { return c.Ref.String() }
