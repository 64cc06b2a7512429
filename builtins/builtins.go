// Package builtins implements kustomize's built-in generators and transformers, its name
// references and its strategic merge. They map lists to lists and do no I/O.
//
// Each built-in is a struct whose fields are the configuration that kustomize documents for its
// kind (`apiVersion: builtin`). The planner fills the struct from a field of a Kustomization or
// from a configuration document. It then calls Configure once, which validates the configuration
// and reads the files it names. After that the built-in is immutable, and Transform and Generate
// may be called concurrently for different lists.
//
// The first comment of a file lists the files of kustomize v5.8.2 that it follows. Paths in api/
// are in module sigs.k8s.io/kustomize/api v0.21.2, and paths in kyaml/ are in
// sigs.k8s.io/kustomize/kyaml v0.21.2; kustomize generates api/internal/builtins from
// plugin/builtin. When a later release changes such a file, the change must be reviewed here.
// Files without such a comment have no counterpart in kustomize.
package builtins

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Warn receives a transformer's warnings about probable mistakes.
type Warn = diag.Warn

// Env is the environment in which a built-in is configured.
type Env struct {
	// Read returns a file named by the configuration. The layer's load restrictions apply.
	Read func(path string) (*yaml.Source, error)
	// Warn receives warnings about content that is accepted but probably not intended, in files
	// and inline texts of the configuration. Warnings about inline texts have no position. Warn
	// may be nil.
	Warn func(*diag.Error)
	// Place returns the position of a part of the configuration. It may be nil.
	Place func(part ...any) diag.Pos
	// Schema is the schema of the layer. If nil, the schema of Kubernetes is used.
	Schema *schema.Schema
	// SchemaAt returns the place of the field that selects Schema. It is nil if Schema is.
	SchemaAt func() diag.Pos
	// Folder is the base name of the layer's directory.
	Folder string
}

// parsed reports the warnings from parsing text.
func (e Env) parsed(text patchText) {
	if e.Warn == nil {
		return
	}
	for _, w := range text.src.Warnings() {
		w = text.relative(w)
		if at := text.onLine(w, w.Pos.Line); at != error(w) {
			w = diag.Errorf(diag.Pos{}, "", "%w", at)
		}
		e.Warn(w)
	}
}

// ignored returns a function that reports unknown, ignored fields of src. It returns nil if
// nothing receives warnings.
func (e Env) ignored(src *yaml.Source) func(*yaml.DecodeError) {
	if e.Warn == nil {
		return nil
	}
	return func(field *yaml.DecodeError) { e.Warn(field.In(src)) }
}

// A Builtin is a configured built-in: a [Transformer] or a [Generator].
type Builtin interface {
	// Configure validates the configuration and reads the files that it names.
	Configure(env Env) error
}

// A Transformer changes a list that it owns. It may call any method of list, but must copy a
// resource before changing it.
type Transformer interface {
	Builtin
	Transform(list *krm.List, warn Warn) error
}

// A Generator makes resources from its configuration.
type Generator interface {
	Builtin
	Generate() ([]*krm.Resource, error)
}
