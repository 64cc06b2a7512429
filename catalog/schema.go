package catalog

import (
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate"
)

// Validate checks config against the schema of e. The caller must remove the reserved field that
// names the runtime first. An entry without a schema accepts everything. Invalid parts of a
// schema are skipped: see [Entry.SchemaWarning].
func (e *Entry) Validate(config yaml.Value) []validate.Finding {
	if !e.Schema.Exists() {
		return nil
	}
	return validate.Config(e.Schema, config)
}

// Fields returns the paths of the fields of metadata and spec that the schema declares below
// properties and whose names can be variables. metadata.name and metadata.namespace are always
// included, because every object may have them. The result is nil for an entry without a schema.
func (e *Entry) Fields() []string {
	if !e.Schema.Exists() {
		return nil
	}
	paths := []string{"metadata.name", "metadata.namespace"}
	for _, part := range []string{"metadata", "spec"} {
		for _, f := range e.Schema.At("properties", part, "properties").Fields() {
			if path := part + "." + f.Key; function.IsVariable(f.Key) && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// SchemaWarning returns a single warning about all invalid parts of the schema, or about a
// schema given only by its address. It returns nil if there is nothing to report.
func (e *Entry) SchemaWarning() *diag.Error {
	if e.SchemaURI != "" {
		err := diag.Errorf(e.Pos(), "", "configurations of %s are not checked: the schema at %s is not fetched",
			e.GVK, diag.Redact(diag.OneLine(e.SchemaURI)))
		return err.With(diag.OldCatalog).Hint("ask the author of the catalog to write the schema into it, under openAPIV3Schema")
	}
	if !e.Schema.Exists() {
		return nil
	}
	problems := CheckSchema(e.Schema)
	if len(problems) == 0 {
		return nil
	}
	err := diag.Errorf(e.Pos(), "", "parts of the schema of %s are invalid and are ignored", e.GVK).With(diag.OldCatalog)
	for _, p := range problems {
		err.Hint("%s: %s", diag.FieldPath(p.Path), p.Msg)
	}
	return err
}
