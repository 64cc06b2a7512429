package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
)

// A definition is a CustomResourceDefinition with compiled rules.
type definition struct {
	group, kind, plural string
	namespaced          bool
	versions            map[string]*version
	err                 error // the definition cannot be read
}

// A version is a version of a definition. It is compiled for its first object: most definitions
// have no object in the list, or objects of one version. Its cel is nil for a version without
// rules.
type version struct {
	source     *apiextensionsv1.CustomResourceDefinitionVersion
	path       string // of the schema
	once       sync.Once
	structural *schema.Structural
	status     bool // the subresource status is enabled, so the status of a new object is dropped
	validator  validation.SchemaValidator
	cel        *schemacel.Validator
	mistakes   []mistake
	err        error
}

// A mistake is a rule that an API server refuses.
type mistake struct{ path, message string }

// isDefinition reports whether an object is a CustomResourceDefinition that API servers still
// accept.
func isDefinition(u *unstructured.Unstructured) bool {
	return u.GetKind() == "CustomResourceDefinition" && u.GetAPIVersion() == apiextensionsv1.SchemeGroupVersion.String()
}

// newDefinition compiles the rules of a CustomResourceDefinition.
func newDefinition(u *unstructured.Unstructured) *definition {
	var crd apiextensionsv1.CustomResourceDefinition
	d := &definition{versions: map[string]*version{}, err: into(u, &crd)}
	d.group, d.kind, d.plural = crd.Spec.Group, crd.Spec.Names.Kind, crd.Spec.Names.Plural
	d.namespaced = crd.Spec.Scope != apiextensionsv1.ClusterScoped
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			d.versions[v.Name] = &version{source: v, path: fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i)}
		}
	}
	return d
}

// of returns a compiled version, or nil if there is none.
func (d *definition) of(name string) *version {
	v := d.versions[name]
	if v == nil {
		return nil
	}
	v.once.Do(func() { v.err = v.compile() })
	return v
}

func (v *version) compile() error {
	var props apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.source.Schema.OpenAPIV3Schema, &props, nil)
	if err != nil {
		return err
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		return err
	}
	// As the API server does before it serves a definition.
	if err := defaulting.PruneDefaults(structural); err != nil {
		return err
	}
	if v.validator, _, err = validation.NewSchemaValidator(&props); err != nil {
		return err
	}
	v.structural, v.status = structural, v.source.Subresources != nil && v.source.Subresources.Status != nil
	v.cel = schemacel.NewValidator(structural, true, celconfig.PerCallLimit)
	if v.cel != nil {
		one := uint64(1)
		v.check(structural, model.SchemaDeclType(structural, true), v.path, &one)
	}
	return nil
}

// staticCostLimit is the limit for the estimated cost of a rule from
// k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation. That package is not imported,
// because it links a client for API servers. Its limit for the sum of all rules is not checked.
const staticCostLimit = 10000000

// check adds the rules of a schema and its parts that an API server refuses: because they do not
// compile, or because their estimated cost exceeds the limit. count is the maximum number of values
// of the schema in an object, nil for no limit.
func (v *version) check(s *schema.Structural, decl *apiservercel.DeclType, at string, count *uint64) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true)
	results, err := schemacel.Compile(s, decl, celconfig.PerCallLimit, base, schemacel.NewExpressionsEnvLoader())
	if err != nil {
		v.mistakes = append(v.mistakes, mistake{at, err.Error()})
	}
	for i, r := range results {
		path := fmt.Sprintf("%s.x-kubernetes-validations[%d]", at, i)
		n := r.MaxCardinality
		if count != nil {
			n = *count
		}
		cost := product(r.MaxCost, n)
		switch {
		case r.Error != nil:
			v.mistakes = append(v.mistakes, mistake{path + ".rule", withoutSource(r.Error.Detail)})
		case r.MessageExpressionError != nil:
			v.mistakes = append(v.mistakes, mistake{path + ".messageExpression", withoutSource(r.MessageExpressionError.Detail)})
		case cost > staticCostLimit:
			factor := fmt.Sprintf("%.2g", float64(cost)/staticCostLimit)
			if cost/staticCostLimit > 100 {
				factor = "more than 100"
			}
			v.mistakes = append(v.mistakes,
				mistake{path + ".rule", "the estimated cost of the rule exceeds the limit by a factor of " + factor +
					": add maxItems, maxProperties and maxLength to the lists, maps and strings that it reads"})
		}
	}
	if decl == nil {
		return
	}
	if s.Items != nil {
		var most *int64
		if s.ValueValidation != nil {
			most = s.ValueValidation.MaxItems
		}
		v.check(s.Items, decl.ElemType, at+".items", times(count, most))
	}
	if a := s.AdditionalProperties; a != nil && a.Structural != nil {
		var most *int64
		if s.ValueValidation != nil {
			most = s.ValueValidation.MaxProperties
		}
		v.check(a.Structural, decl.ElemType, at+".additionalProperties", times(count, most))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		if escaped, ok := apiservercel.Escape(name); ok && decl.Fields[escaped] != nil {
			v.check(&p, decl.Fields[escaped].Type, at+".properties."+name, count)
		}
	}
}

// withoutSource returns an error of the compiler on one line, without the lines that show the
// expression.
func withoutSource(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); !strings.HasPrefix(line, " |") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// times returns the product of a count and a limit, nil if one of them is unlimited.
func times(count *uint64, most *int64) *uint64 {
	if count == nil || most == nil {
		return nil
	}
	n := product(*count, uint64(max(0, *most)))
	return &n
}

// product multiplies without an overflow.
func product(a, b uint64) uint64 {
	if b != 0 && a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}

// A violation is a rule that an object violates. fields are the fields that the rule reads, in the
// order of the rule.
type violation struct {
	path, message, rule string
	fields              [][]any
}

// evaluate returns the rules of a version that an object violates, as the API server does for
// create or, with an old object, for update. Objects whose schema errors keep an API server from
// evaluating the rules have no violations, because schemas are the subject of krmflow itself.
func (v *version) evaluate(u, old *unstructured.Unstructured) []violation {
	if v.err != nil || v.cel == nil {
		return nil
	}
	obj := runtime.DeepCopyJSON(u.Object)
	v.complete(obj)
	var errs field.ErrorList
	if old == nil {
		errs = v.validate(obj)
	} else {
		before := runtime.DeepCopyJSON(old.Object)
		v.complete(before)
		errs = v.validateUpdate(obj, before)
	}
	var found []violation
	for _, err := range errs {
		if strings.HasPrefix(err.Detail, "rule compile error") {
			continue // check has reported it
		}
		x := violation{path: plainPath(err.Field), message: err.Detail}
		if node, rule := v.ruleOf(err, obj); rule != nil {
			x.rule = strings.TrimSpace(rule.Rule)
			x.message = cmp.Or(x.message, ruleMessage(rule))
			for _, f := range fieldsOf(rule.Rule, "self", nil) {
				x.fields = append(x.fields, slices.Concat(node, f))
			}
		}
		x.message = cmp.Or(x.message, err.ErrorBody())
		found = append(found, x)
	}
	// The validator visits maps in random order.
	slices.SortStableFunc(found, func(a, b violation) int { return cmp.Compare(a.path, b.path) })
	return found
}

// validate returns the errors of the rules for a new object.
func (v *version) validate(obj map[string]any) field.ErrorList {
	if slices.ContainsFunc(validation.ValidateCustomResource(nil, obj, v.validator), blocks) {
		return nil
	}
	errs, _ := v.cel.Validate(context.Background(), nil, v.structural, obj, nil, celconfig.RuntimeCELCostBudget)
	return errs
}

// validateUpdate returns the errors of the rules for an update, as ValidateUpdate in
// k8s.io/apiextensions-apiserver/pkg/registry/customresource does. An error of a value that has not
// changed is dropped, except for transition rules.
func (v *version) validateUpdate(obj, old map[string]any) field.ErrorList {
	correlated := common.NewCorrelatedObject(obj, old, &model.Structural{Structural: v.structural})
	schemaErrs := validation.ValidateCustomResourceUpdate(nil, obj, old, v.validator, validation.WithRatcheting(correlated))
	if slices.ContainsFunc(schemaErrs, blocks) {
		return nil
	}
	errs, _ := v.cel.Validate(context.Background(), nil, v.structural, obj, old, celconfig.RuntimeCELCostBudget,
		schemacel.WithRatcheting(correlated))
	return errs
}

// complete changes an object as an API server does before it validates an object: it removes
// unknown fields and nulls, and adds defaults. The status is removed if it is a subresource. In an
// update, an API server would use the status in the cluster, which is unknown.
func (v *version) complete(obj map[string]any) {
	if v.err != nil {
		return
	}
	if v.status {
		delete(obj, "status")
	}
	pruning.Prune(obj, v.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, v.structural)
	defaulting.Default(obj, v.structural)
}

// blocks reports whether an API server evaluates no rules of an object with a schema error.
func blocks(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}
