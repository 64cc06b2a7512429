package planner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/planner/internal/summary"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/trust"
)

// generators appends a node for each generator: configMapGenerator, secretGenerator, helmCharts,
// then the entries of generators.
func (s fieldSteps) generators() {
	for i := range s.k.ConfigMapGenerator {
		g := s.k.ConfigMapGenerator[i].Generator(s.k.GeneratorOptions)
		s.generate([]any{"configMapGenerator", i}, g, g.Name)
	}
	for i := range s.k.SecretGenerator {
		g := s.k.SecretGenerator[i].Generator(s.k.GeneratorOptions)
		s.generate([]any{"secretGenerator", i}, g, g.Name)
	}
	s.functions().helmCharts()
	for _, e := range s.functions().external("generators", s.k.Generators, function.GeneratorRole) {
		if e.composition != "" {
			s.items().addComposition(e)
			continue
		}
		if s.functions().call(e) {
			continue
		}
		if g := e.generator(); g != nil {
			s.functions().entryStep(e, graph.Generate{Generator: g, Schema: s.schema, Origin: e.origin})
			continue
		}
		s.Fail(e.errorf("%s is not a generator", e.kind).Hint("list it under transformers"))
	}
}

// generate configures a generator and appends its node.
func (s fieldSteps) generate(path []any, g builtins.Generator, summary string) {
	if s.configure(path, g) {
		s.then(path, graph.Generate{Generator: g, Schema: s.schema, Origin: s.builtinOrigin(kindOf(g))}, summary)
	}
}

// transform configures a transformer and appends its node.
func (s fieldSteps) transform(path []any, t builtins.Transformer, summary string) {
	if s.configure(path, t) {
		s.transformer(path, t, summary, true)
	}
}

// ofField is transform for a transformer that acts on the fields that the layer's configuration
// lists.
func (s fieldSteps) ofField(path []any, t builtins.FieldLister, summary string) {
	t.UseFields(s.config)
	s.transform(path, t, summary)
}

// transformer appends the node of a configured transformer. With record, the node records its
// origin. Where kustomize runs a single transformer for all entries of a field, only one origin
// is recorded: callers set record for the last entry.
func (s fieldSteps) transformer(path []any, t builtins.Transformer, summary string, record bool) {
	op := graph.Transform{Transformer: t}
	if record {
		op.Origin = s.builtinOrigin(kindOf(t))
	}
	s.then(path, op, summary)
}

// patchesStrategicMerge appends a node for each entry of the field. Some entries may be empty,
// but not all.
func (s fieldSteps) patchesStrategicMerge() {
	empty := 0
	for i, p := range s.k.PatchesStrategicMerge {
		path := []any{"patchesStrategicMerge", i}
		t := &builtins.PatchStrategicMergeTransformer{Paths: []string{p}}
		last := i == len(s.k.PatchesStrategicMerge)-1
		switch err := t.Configure(s.env(path)); {
		case errors.Is(err, builtins.ErrEmptyPatch) && !(last && empty == i):
			empty++
			if !last {
				continue
			}
		case err != nil:
			s.ErrorAt(s.k.Source, path, err)
			continue
		}
		s.transformer(path, t, layerfile.PatchEntry{Path: layerfile.PatchPath(p)}.String(), last)
	}
}

// configure validates a built-in and reports whether it can be used.
func (s *steps) configure(path []any, b builtins.Builtin) bool {
	if err := b.Configure(s.env(path)); err != nil {
		s.ErrorAt(s.k.Source, path, err)
		return false
	}
	return true
}

// kindOf returns the kind of a built-in in configuration documents.
func kindOf(b builtins.Builtin) string {
	name := fmt.Sprintf("%T", b)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// transformers appends the layer's transformers in kustomize's order.
func (s fieldSteps) transformers() {
	k := s.k
	s.patchesStrategicMerge()
	for i, p := range k.Patches {
		t := &builtins.PatchTransformer{Path: p.Path, Patch: p.Patch, Target: p.Target, Options: p.Options}
		s.transform([]any{"patches", i}, t, p.String())
		if p.Patch != "" && t.ForSecrets() {
			k.Source.HoldSecret() // the patch is in the layer's file
		}
	}
	if k.Namespace != "" {
		t := new(builtins.NamespaceTransformer)
		t.Metadata.Namespace = k.Namespace
		s.ofField([]any{"namespace"}, t, k.Namespace)
	}
	if k.NamePrefix != "" {
		s.ofField([]any{"namePrefix"}, &builtins.PrefixTransformer{Prefix: k.NamePrefix}, k.NamePrefix)
	}
	if k.NameSuffix != "" {
		s.ofField([]any{"nameSuffix"}, &builtins.SuffixTransformer{Suffix: k.NameSuffix}, k.NameSuffix)
	}
	s.labels()
	if len(k.CommonAnnotations) > 0 {
		s.ofField([]any{"commonAnnotations"}, &builtins.AnnotationsTransformer{Annotations: k.CommonAnnotations},
			summary.Pairs(k.CommonAnnotations))
	}
	for i, p := range k.PatchesJSON6902 {
		t := &builtins.PatchJson6902Transformer{Target: p.Target, Path: p.Path, JsonOp: p.Patch}
		s.transform([]any{"patchesJson6902", i}, t, p.String())
	}
	for i, r := range k.Replicas {
		s.ofField([]any{"replicas", i}, &builtins.ReplicaCountTransformer{Replica: r}, fmt.Sprintf("%s: %d", r.Name, r.Count))
	}
	images := make([]*builtins.ImageTagTransformer, len(k.Images))
	for i, image := range k.Images {
		images[i] = &builtins.ImageTagTransformer{ImageTag: image}
	}
	builtins.ChainImages(images)
	for i, t := range images {
		s.ofField(k.ImagePaths[i], t, t.ImageTag.Summary())
	}
	replacements := make([]*builtins.ReplacementTransformer, len(k.Replacements))
	for i, r := range k.Replacements {
		if len(r.Targets) == 0 {
			r.Targets = nil // kustomize treats an empty list like an absent one
		}
		replacements[i] = &builtins.ReplacementTransformer{Replacements: []builtins.Replacement{r}}
	}
	builtins.ChainReplacements(replacements)
	for i, t := range replacements {
		if path := []any{"replacements", i}; s.configure(path, t) {
			s.transformer(path, t, t.Replacements[0].Summary(), i == len(k.Replacements)-1)
		}
	}
	for _, e := range s.functions().external("transformers", k.Transformers, function.TransformerRole) {
		if e.composition != "" {
			s.items().applyComposition(e)
			continue
		}
		if s.functions().call(e) {
			continue
		}
		if t, ok := e.builtin.(builtins.Transformer); ok {
			s.functions().entryStep(e, graph.Transform{Transformer: t, Origin: e.origin})
			continue
		}
		s.Fail(e.errorf("%s is not a transformer", e.kind).With(diag.Misplaced).Hint("list it under generators"))
	}
}

// labels appends a node for each entry of labels, then one for commonLabels. The switches of an
// entry and the labels section of the transformer configuration select the fields it changes.
func (s fieldSteps) labels() {
	for i, l := range s.k.Labels {
		path := []any{"labels", i}
		specs, err := s.c.labels.Of(s.config, l)
		if err != nil {
			s.ErrorAt(s.k.Source, path, err)
			continue
		}
		t := &builtins.LabelTransformer{Labels: l.Pairs, FieldSpecs: specs}
		if s.configure(append(path, "pairs"), t) {
			s.transformer(path, t, summary.Pairs(l.Pairs), true)
		}
	}
	if len(s.k.CommonLabels) > 0 {
		s.ofField([]any{"commonLabels"}, &builtins.LabelTransformer{Labels: s.k.CommonLabels}, summary.Pairs(s.k.CommonLabels))
	} else if s.tracking && len(s.k.Labels) > 0 {
		// kustomize runs the transformer of commonLabels whenever there are labels, and records
		// it.
		s.transform([]any{"commonLabels"}, &builtins.LabelTransformer{}, "")
	}
}

// validators appends the layer's validators.
func (s fieldSteps) validators() {
	for _, e := range s.functions().external("validators", s.k.Validators, function.ValidatorRole) {
		if e.composition != "" {
			s.items().checkComposition(e)
			continue
		}
		if s.functions().call(e) {
			continue
		}
		if t, ok := e.builtin.(builtins.Transformer); ok {
			s.functions().entryStep(e, graph.Validate{Transformer: t})
			continue
		}
		s.Fail(e.errorf("%s is not a validator", e.kind).Hint("list it under generators"))
	}
}

// call appends the nodes of a function and reports whether e is a function.
func (s functionSteps) call(e *entry) bool {
	if e.call == nil {
		return false
	}
	before, generates := s.inputs(), e.call.Role == function.GeneratorRole
	if generates {
		s.hasList = false // it has no input list
	}
	s.entryStep(e, *e.call)
	n := s.c.draft.g.Nodes[s.list]
	s.c.plan.Decisions[n.ID] = e.decision
	if generates && !e.call.Isolated() {
		n.After = before
	}
	if generates {
		s.absorb(n, before)
	}
	return true
}

// absorb appends a node that adds the output of call, the last node, to the list before it.
func (s functionSteps) absorb(call *graph.Node, before []graph.NodeID) {
	n := *call
	n.ID = s.id(append(slices.Clip(call.Origin.Path), "absorb"))
	n.Op, n.Inputs, n.After = graph.Absorb{}, append(slices.Clip(before), s.list), nil
	// Keep the name without position and runtime.
	n.Summary, _, _ = strings.Cut(call.Summary, "  ")
	s.list = s.add(&n)
}

// entryStep appends the node of an entry.
func (s functionSteps) entryStep(e *entry, op graph.Op) {
	s.then(e.path, op, e.summary)
	if n := s.c.draft.g.Nodes[s.list]; len(e.changes) > 0 {
		n.Changes = e.changes
	}
}

// An entry is one configuration document of generators, transformers or validators.
type entry struct {
	path    []any
	changes []graph.Origin // to the configuration, by steps of its directory
	kind    string
	builtin builtins.Builtin
	origin  *krm.Origin
	summary string
	pos     diag.Pos
	// call and decision are set instead of builtin for a function.
	call     *graph.Call
	decision *trust.Decision
	// composition is set, together with path only, for a reference to a Composition.
	composition string
}

// generator returns the built-in if it generates resources, otherwise nil.
func (e *entry) generator() builtins.Generator {
	g, _ := e.builtin.(builtins.Generator)
	return g
}

func (e *entry) errorf(format string, args ...any) *diag.Error {
	return diag.Errorf(e.pos, "", format, args...)
}
