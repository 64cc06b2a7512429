// Package builtins holds kustomize's built-in generators and transformers, its name references and its strategic merge:
// list in, list out, no I/O.
//
// Each built-in is a struct whose fields are the configuration that kustomize documents for its kind (`apiVersion:
// builtin`). The planner fills it, from a field of a Kustomization or from a configuration document, and calls Configure
// once, which validates it and reads the files that it names. From then on it is immutable: Transform and Generate may be
// called from several goroutines for different lists.
//
// The first comment of a file names the files of kustomize v5.8.2 that it follows: those in api/ are in module
// sigs.k8s.io/kustomize/api v0.21.2, those in kyaml/ in sigs.k8s.io/kustomize/kyaml v0.21.2 (kustomize generates
// api/internal/builtins from plugin/builtin). What changes there in a later release has to be looked at here; a file
// without such a comment is krmflow's own.
package builtins

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Warn is what a transformer tells of things that the user probably did not mean.
type Warn = diag.Warn

// Env is what a built-in may use while it is configured.
type Env struct {
	// Read returns a file that the configuration names, subject to the load restrictions of the layer.
	Read func(path string) (*yaml.Source, error)
	// Warn is called, unless it is nil, with what is accepted of a text that the configuration names or holds, but probably
	// not meant. What an inline text holds has no place.
	Warn func(*diag.Error)
	// Schema is the schema of the layer; nil is Kubernetes' own.
	Schema *schema.Schema
	// Folder is the name, without its parents, of the layer's folder.
	Folder string
}

// parsed passes the warnings of a text on.
func (e Env) parsed(src *yaml.Source) {
	if e.Warn != nil {
		for _, w := range src.Warnings() {
			e.Warn(w)
		}
	}
}

// ignored returns what takes the fields of a file that are unknown and ignored.
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

// A Transformer changes a list that it owns: it may use every method of list, but must copy a resource before it changes it.
type Transformer interface {
	Builtin
	Transform(list *krm.List, warn Warn) error
}

// A Generator makes resources from its configuration.
type Generator interface {
	Builtin
	Generate() ([]*krm.Resource, error)
}
