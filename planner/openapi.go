package planner

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// openapi puts the layer's schema into effect, unless a schema was chosen before.
func (s fieldSteps) openapi() {
	if len(s.k.OpenAPI) == 0 {
		return
	}
	file, hasFile := s.k.OpenAPI["path"]
	var src *yaml.Source
	if hasFile {
		var err error
		if src, err = s.read(file); err != nil {
			s.ErrorAt(s.k.Source, []any{"openapi", "path"}, err)
			return
		}
	}
	if s.schemaChosen {
		return
	}
	version, hasVersion := s.k.OpenAPI["version"]
	switch {
	case hasFile && hasVersion:
		s.ErrorAt(s.k.Source, []any{"openapi"}, diag.Exclusive.Errorf("version and path are mutually exclusive"))
	case hasFile:
		v, err := src.Value()
		if err == nil {
			s.schema, err = s.c.schemas.Parse(src, v, s.own())
		}
		if err != nil {
			s.ErrorAt(s.k.Source, []any{"openapi", "path"}, err)
			return
		}
		s.Warnings.Add(src.Warnings()...)
		layer := s.k.Source
		s.schemaChosen, s.schemaAt = true, func() diag.Pos { return layer.Locate(0, "openapi", "path") }
	case version != "":
		if version != schema.BuiltinVersion {
			s.ErrorAt(s.k.Source, []any{"openapi", "version"},
				diag.BadSchema.Errorf("OpenAPI version %q is not built in, only %s is", version, schema.BuiltinVersion))
			return
		}
		s.schemaChosen = true
	}
}

// own returns the current state of kustomize's own schema.
func (b *build) own() schema.Builtin { return b.c.own.After(b.c.ctx, b.use) }

// bringsSchema returns the state of kustomize's own schema if k chooses the custom schema,
// otherwise Unread.
func (b *build) bringsSchema(k *kustomizationFile) schema.Builtin {
	if b.schemaChosen || len(k.OpenAPI) == 0 {
		return schema.Unread
	}
	return b.own()
}
