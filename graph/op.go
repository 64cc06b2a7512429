package graph

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/chart"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An Op is the operation of a node: one of [Load], [Merge], [Generate], [Transform], [Validate],
// [Pass], [Fetch], [Call], [Absorb] and [Finish].
//
// Ops are plain data. Package eval runs all of them except Fetch and Call, which need an executor
// of the scheduler.
type Op interface {
	// Verb returns the name of the operation in plans and logs.
	Verb() string
}

// A Transformer changes a list that it owns. It may call any method of list, but must copy a
// resource before changing it. Transform may be called concurrently for different lists.
type Transformer interface {
	Transform(list *krm.List, warn diag.Warn) error
}

// A Generator makes resources. Generate may be called concurrently.
type Generator interface {
	Generate() ([]*krm.Resource, error)
}

// Files converts between a list read from the files of a directory and the list that a function
// gets. A directory may contain the same identity in several files, and the function sees and may
// choose the file of each resource. Config, Of and After are called once per call, in that order.
type Files interface {
	// Config returns the configuration of the function as the earlier functions have left it in
	// list. Its type is None if the planned configuration applies.
	Config(list *krm.List) yaml.Value
	// Of returns the resources of list to send to the function. It does not change list.
	Of(list *krm.List) *krm.List
	// After returns list after the call: it replaces sent, the result of Of, with answer.
	After(list, sent, answer *krm.List) (*krm.List, error)
	// Comments gives the function access to the comments of the resources.
	function.Comments
}

// Load returns the resources of one file.
type Load struct {
	Source *yaml.Source
	Schema *schema.Schema
	// Origin is recorded on each resource. It is nil if the root does not record origins.
	Origin *krm.Origin
}

// Merge concatenates the lists of all inputs, in order. Duplicate identities are an error. With
// LastOnly, only the last resource with an identity remains.
type Merge struct{ LastOnly bool }

// Generate adds the output of a generator to its input. Each generated resource is appended, or
// it is merged into an existing resource or replaces it, depending on its behavior.
type Generate struct {
	Generator Generator
	Schema    *schema.Schema
	Origin    *krm.Origin
}

// Transform applies a transformer to its input.
type Transform struct {
	Transformer Transformer
	// Origin is recorded as a transformation on each resource. It is nil if the root does not
	// record transformations.
	Origin *krm.Origin
	// Last marks the last step of a layer, after which all identities must be unique.
	Last bool
}

// Validate runs a transformer on its input and fails if the transformer changes anything.
type Validate struct{ Transformer Transformer }

// Pass returns its first input unchanged. The other inputs are computed only because their
// failure must fail the run; their lists are discarded.
type Pass struct{}

// Fetch obtains and verifies the image or the program of a function. It has no inputs and returns
// an empty list; calls are ordered after it.
type Fetch struct {
	// Function holds the fields needed to prepare this image or program. It has no grants.
	Function function.Function
}

// Call runs a function in one of three roles: a generator has no input and returns new resources,
// a transformer returns the replacement of its input, and a validator must not change its input.
type Call struct {
	Function function.Function
	// Config is the functionConfig without the field that names the function. ConfigPos is its
	// position.
	Config    yaml.Value
	ConfigPos diag.Pos
	Role      function.Role
	Schema    *schema.Schema
	// Version is the apiVersion of the ResourceList sent to the function. Empty means
	// [function.ResourceListV1].
	Version string
	// Origin is recorded on generated resources or, for a transformer, as a transformation.
	Origin *krm.Origin
	// Reusable allows a cached answer of an identical call to replace this call. The planner sets
	// it.
	Reusable bool
	// Granted is true if the user granted the function variables or files, which may be secret.
	Granted bool
	// Follows is true if the input may contain the answer of a function with grants, which may have
	// put decrypted values into any resource.
	Follows bool
	// Files selects the resources to send if the list was read from files. It is nil for the list
	// of a layer. See [Files].
	Files Files
	// Chart is the chart for helm to render, nil for a function. Helm is a generator: it gets no
	// ResourceList and returns resources.
	Chart *chart.Chart
}

// MarkGranted sets [Call.Follows] of the calls that depend on a call with grants, and returns g.
// Inputs come before their users in Nodes.
func (g *Graph) MarkGranted() *Graph {
	var granted []bool // by node; nil if there is none so far
	for i, n := range g.Nodes {
		call, isCall := n.Op.(Call)
		if granted == nil && !call.Granted {
			continue
		}
		if granted == nil {
			granted = make([]bool, len(g.Nodes))
		}
		for _, in := range n.Inputs {
			granted[i] = granted[i] || granted[in]
		}
		if isCall && granted[i] {
			call.Follows = true
			n.Op = call
		}
		granted[i] = granted[i] || call.Granted
	}
	return g
}

// Absorb adds the answer of a generator, its last input, to its other input, or to an empty list
// if there is no other input. Each resource is appended, or it is merged into an existing
// resource or replaces it, depending on its behavior.
type Absorb struct{}

// Isolated reports whether the call exchanges only its list and its answer with the outside. A
// generator that is not isolated may depend on side effects of earlier steps.
func (op Call) Isolated() bool {
	f := op.Function
	return op.Chart != nil || f.Network == "" && len(f.Mounts) == 0 && !f.Unsandboxed
}

// Finish turns the list of a root into its output: it computes name hashes, name references and
// vars, and cleans and sorts the resources.
type Finish struct{ Transformer Transformer }

// Maker returns the generator or transformer of op, nil if op has neither or only validates.
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

// Pure reports whether package eval can run op. Other operations need an executor.
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
