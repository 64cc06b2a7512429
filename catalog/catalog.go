// Package catalog reads catalogs: documents that list functions, what runs for each and what it may do. A catalog grants
// nothing by itself; package trust decides which one counts.
//
// One catalog is one byte string that is hashed once and parsed once, strictly: what a plan shows and what runs come from
// the same reading. Everything here is pure; values are immutable once they are parsed and may be shared by goroutines.
package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// MaxSize is the size in bytes up to which a catalog is read.
const MaxSize = 16 << 20

// The spelling that is written today.
const (
	APIVersion = "config.kubernetes.io/v1alpha1"
	Kind       = "Catalog"
)

// A Catalog is one parsed catalog.
type Catalog struct {
	Ref Ref
	// Digest is that of the bytes that were parsed.
	Digest krm.Digest
	// APIVersion and Kind are those of the document: there are several spellings.
	APIVersion, Kind string
	Name             string
	Labels           map[string]string
	Annotations      map[string]string
	// Entries are the functions in the order of the document, one for each version.
	Entries []*Entry
	// Notices are for everybody who uses the catalog: at most one, about spellings that are out of date.
	Notices []*diag.Error

	doc   *yaml.StrictDocument
	lint  []finding
	index map[krm.GVK][]*Entry
}

// A finding is a problem at a path that does not affect the other entries.
type finding struct {
	path     []any
	msg      string
	unusable bool // the entry cannot be used
}

// Unusable returns the reasons why entries cannot be used, such as an invalid digest. The other
// entries can be used.
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

// Parse reads src as the catalog that ref names. It reports all mistakes, as [*diag.Error] values joined into one error;
// unknown keys, keys that occur twice, a second document and values of the wrong type are mistakes.
func Parse(src *yaml.Source, ref Ref) (*Catalog, error) {
	whole := diag.Pos{File: src.File}
	if len(src.Data) > MaxSize {
		return nil, diag.Errorf(whole, "", "the catalog has %s; the limit is %s", diag.Size(int64(len(src.Data))), diag.Size(MaxSize)).With(diag.TooLarge)
	}
	doc, err := src.Strict()
	if err != nil {
		return nil, err
	}
	if !doc.Value.Exists() {
		return nil, diag.Errorf(whole, "", "the file contains no Catalog document").With(diag.BadCatalog).Hint("it has no document at all, or only comments")
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

// reader holds what is collected while one catalog is read.
type reader struct {
	c   *Catalog
	old []string // spellings that are out of date
	at  diag.Pos // of the first of them
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
		top.Known() // says what it is instead
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
		functions.Errorf("is missing").Hint("an empty catalog says krmFunctions: []")
	}
}

const (
	oldAPIVersion  = "kustomize.io/v1"
	kindCatalog2   = "KRMFunctionCatalog"
	kindDefinition = "KRMFunctionDefinition"
)

// accepts reports whether apiVersion and kind are one of the spellings of a catalog.
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
	at.Errorf("this is no catalog, but %s", describe(r.c.APIVersion, r.c.Kind)).With(diag.BadCatalog).
		Hint("a catalog is %s with kind %s, %s or %s, or %s with kind %s", APIVersion, Kind, kindCatalog2, kindDefinition, oldAPIVersion, Kind)
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
		annotations.Errorf("%v", err) // who relies on it must not be left without
	}
}

// finish builds the index and writes the notice.
func (r *reader) finish() {
	c := r.c
	for _, e := range c.Entries {
		same := append(c.index[e.GVK], e)
		c.index[e.GVK] = same
		if len(same) == 1 {
			continue
		}
		c.lint = append(c.lint, finding{path: e.path, msg: fmt.Sprintf("%s has no effect: entry %d, which comes first, defines it too", e.GVK, same[0].Index+1)})
	}
	if len(r.old) > 0 {
		c.Notices = append(c.Notices, diag.Errorf(r.at, "", "the catalog uses deprecated spellings: %s", strings.Join(r.old, ", ")).With(diag.OldCatalog).
			Hint("write apiVersion %s with krmFunctions", APIVersion))
	}
}

// String returns the reference of the catalog.
func (c *Catalog) String() string { return c.Ref.String() }
