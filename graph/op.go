package graph

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/chart"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Op is what a node does: one of [Load], [Merge], [Generate], [Transform], [Validate], [Pass], [Fetch], [Call], [Absorb] and
// [Finish].
// Ops are plain data; package eval runs them all but Fetch and Call, for which the scheduler needs an executor.
type Op interface {
	// Verb is the word that plans and logs use.
	Verb() string
	// Key is a digest of all that decides what the operation does with its inputs: where the keys and the inputs are the same, the
	// results are. For a [Call] that holds with one and the same executor, and if its function has a digest. The key is that of a
	// configured operation; a run does not change it.
	Key() krm.Digest
}

// A Transformer changes a list that it owns: it may use every method of list, but must copy a resource before it changes it. It may be
// called from several goroutines for different lists.
type Transformer interface {
	Transform(list *krm.List, warn diag.Warn) error
}

// A Generator makes resources. It may be called from several goroutines.
type Generator interface {
	Generate() ([]*krm.Resource, error)
}

// Files are for a call whose list is what the files of a directory hold: names may be there several times, and the function sees, and decides,
// in which file a resource is. Of and After are called once for a call, in this order.
type Files interface {
	// Of returns the resources of list that the function gets. It does not change list.
	Of(list *krm.List) *krm.List
	// After returns the list after the call: list, with answer in the place of sent, which is what Of has returned.
	After(list, sent, answer *krm.List) (*krm.List, error)
	// Comments are those of the resources, which the function gets and may change.
	function.Comments
}

// Load yields the resources of one file.
type Load struct {
	Source *yaml.Source
	Schema *schema.Schema
	// Origin is recorded on each resource, nil if the root asks for no origins.
	Origin *krm.Origin
}

// Merge yields the resources of all inputs, in order. Two of the same identity are an error.
type Merge struct{}

// Generate adds what a generator makes to its input: as a new resource, or merged into or in place of an existing one.
type Generate struct {
	Generator Generator
	Schema    *schema.Schema
	Origin    *krm.Origin
}

// Transform changes its input.
type Transform struct {
	Transformer Transformer
	// Origin is recorded as a transformation on each resource, nil if the root asks for none.
	Origin *krm.Origin
	// Last is true at the end of a layer, where no two resources may have the same identity.
	Last bool
}

// Validate checks its input, which must come out unchanged.
type Validate struct{ Transformer Transformer }

// Pass yields its first input unchanged. The others are computed because they must not fail, and nobody takes them.
type Pass struct{}

// Fetch obtains the image or the program of a function and verifies it. It has no inputs, and its list is empty: calls come after it.
type Fetch struct {
	// Function has what is needed to prepare a function with this image or program, and no grants.
	Function function.Function
}

// Call runs a function: as a generator, which has no input and yields what it makes, as a transformer,
// which replaces its input, or as a validator, which must not change it.
type Call struct {
	Function function.Function
	// Config is the functionConfig, without the field that names the function, and ConfigPos where it stands.
	Config    yaml.Value
	ConfigPos diag.Pos
	Role      function.Role
	Schema    *schema.Schema
	// Version is the apiVersion of the ResourceList that the function gets, [function.ResourceListV1] if empty.
	Version string
	// Origin is recorded on what the function makes or, for a transformer, as a transformation.
	Origin *krm.Origin
	// Reusable is true if the answer of an earlier run to the same call may take its place: the planner decides that.
	Reusable bool
	// Files says which resources the function gets if the list is what files hold, nil if it is that of a layer: see [Files].
	Files Files
	// Chart is what helm renders, nil for a function. Helm is a generator that gets no ResourceList and answers with resources.
	Chart *chart.Chart
}

// Absorb adds the answer of a generator, its last input, to its other input, or to an empty list if it
// has no other: as new resources, or merged into or in place of existing ones.
type Absorb struct{}

// Isolated reports whether the function of a call exchanges nothing but its list and its answer. A
// generator that is not isolated may depend on the side effects of earlier steps.
func (op Call) Isolated() bool {
	f := op.Function
	return op.Chart != nil || f.Network == "" && len(f.Mounts) == 0 && !f.Unsandboxed
}

// Finish turns a root's list into its output: name hashes, name references, vars, order and metadata.
type Finish struct{ Transformer Transformer }

// Maker returns the generator or transformer of an operation that makes or changes resources, nil
// for other operations.
func Maker(op Op) any {
	switch op := op.(type) {
	case Generate:
		return op.Generator
	case Transform:
		return op.Transformer
	case Load, Merge, Validate, Pass, Fetch, Call, Absorb, Finish:
	}
	return nil
}

// Pure reports whether package eval runs an operation. The others need an executor.
func Pure(op Op) bool {
	switch op.(type) {
	case Fetch, Call:
		return false
	case Load, Merge, Generate, Transform, Validate, Pass, Absorb, Finish:
	}
	return true
}

func (Load) Verb() string      { return "load" }
func (Merge) Verb() string     { return "merge" }
func (Generate) Verb() string  { return "generate" }
func (Transform) Verb() string { return "transform" }
func (Validate) Verb() string  { return "validate" }
func (Pass) Verb() string      { return "pass" }
func (Fetch) Verb() string     { return "fetch" }
func (Call) Verb() string      { return "call" }
func (Absorb) Verb() string    { return "absorb" }
func (Finish) Verb() string    { return "finish" }

func (op Load) Key() krm.Digest      { return keyOf(op) }
func (op Merge) Key() krm.Digest     { return keyOf(op) }
func (op Generate) Key() krm.Digest  { return keyOf(op) }
func (op Transform) Key() krm.Digest { return keyOf(op) }
func (op Validate) Key() krm.Digest  { return keyOf(op) }
func (op Pass) Key() krm.Digest      { return keyOf(op) }
func (op Fetch) Key() krm.Digest     { return keyOf(op) }
func (op Call) Key() krm.Digest      { return keyOf(op) }
func (op Absorb) Key() krm.Digest    { return keyOf(op) }
func (op Finish) Key() krm.Digest    { return keyOf(op) }
