package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	celgo "github.com/google/cel-go/cel"
	celtypes "github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// A policy is a compiled ValidatingAdmissionPolicy. k8s.io/apiserver has this code in
// pkg/admission/plugin/policy/validating, which links a client for all kinds of Kubernetes. This
// package uses the same compiler and evaluator below it, and repeats compilePolicy and Validate.
type policy struct {
	admissionv1.ValidatingAdmissionPolicy
	matcher    matchconditions.Matcher
	conditions cel.ConditionEvaluator
	messages   cel.ConditionEvaluator
	vars       map[string]string
	uses       map[string]bool // variables of the request that its expressions use
	err        error           // mistakes of its expressions
}

// An expression is a CEL expression with the types of its result.
type expression struct {
	name, text string
	types      []*celgo.Type
}

func (x expression) GetName() string            { return x.name }
func (x expression) GetExpression() string      { return x.text }
func (x expression) ReturnTypes() []*celgo.Type { return x.types }

// isPolicy and isBinding report whether an object is a ValidatingAdmissionPolicy or its binding.
// All versions have the same fields.
func isPolicy(u *unstructured.Unstructured) bool { return isAdmission(u, "ValidatingAdmissionPolicy") }
func isBinding(u *unstructured.Unstructured) bool {
	return isAdmission(u, "ValidatingAdmissionPolicyBinding")
}

func isAdmission(u *unstructured.Unstructured, kind string) bool {
	return u.GetKind() == kind && strings.HasPrefix(u.GetAPIVersion(), admissionv1.GroupName+"/")
}

// newPolicy compiles a policy.
func newPolicy(u *unstructured.Unstructured) *policy {
	p := &policy{vars: map[string]string{}, uses: map[string]bool{}}
	if p.err = into(u, &p.ValidatingAdmissionPolicy); p.err != nil {
		return p
	}
	env, err := cel.NewCompositionEnv(cel.VariablesTypeName, environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true))
	if err != nil {
		panic(err) // the environment of Kubernetes
	}
	full := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true, StrictCost: true}
	short := full
	short.HasAuthorizer = false
	compiler := cel.NewCompositedCompilerFromTemplate(env)
	var errs []error
	for _, v := range p.Spec.Variables {
		p.vars[v.Name] = v.Expression
		p.use(v.Expression)
		r := compiler.CompileAndStoreVariable(expression{v.Name, v.Expression, []*celgo.Type{celgo.AnyType, celgo.DynType}}, full,
			environment.StoredExpressions)
		if r.Error != nil {
			errs = append(errs, r.Error)
		}
	}
	boolean := []*celgo.Type{celgo.BoolType}
	var matches, conditions, messages []cel.ExpressionAccessor
	for i := range p.Spec.MatchConditions {
		matches = append(matches, (*matchconditions.MatchCondition)(&p.Spec.MatchConditions[i]))
		p.use(p.Spec.MatchConditions[i].Expression)
	}
	for _, v := range p.Spec.Validations {
		p.use(v.Expression)
		conditions = append(conditions, expression{text: v.Expression, types: boolean})
		if v.MessageExpression == "" {
			messages = append(messages, nil)
			continue
		}
		p.use(v.MessageExpression)
		messages = append(messages, expression{text: v.MessageExpression, types: []*celgo.Type{celgo.StringType}})
	}
	p.conditions = compiler.CompileCondition(conditions, full, environment.StoredExpressions)
	p.messages = compiler.CompileCondition(messages, short, environment.StoredExpressions)
	errs = append(errs, p.conditions.CompilationErrors()...)
	errs = append(errs, p.messages.CompilationErrors()...)
	if len(matches) > 0 {
		filter := compiler.CompileCondition(matches, full, environment.StoredExpressions)
		errs = append(errs, filter.CompilationErrors()...)
		p.matcher = matchconditions.NewMatcher(filter, p.Spec.FailurePolicy, "policy", "validate", p.Name)
	}
	p.err = errors.Join(errs...)
	return p
}

// use records the variables of a request that only an API server knows.
func (p *policy) use(expression string) {
	if len(fieldsOf(expression, "namespaceObject", nil)) > 0 || strings.Contains(expression, "namespaceObject") {
		p.uses["namespaceObject"] = true
	}
	if strings.Contains(expression, "authorizer") {
		p.uses["authorizer"] = true
	}
	for _, f := range fieldsOf(expression, "request", nil) {
		if f[0] == "userInfo" {
			p.uses["userInfo"] = true
		}
	}
}

// A decision is a validation that denies an object. fails is set if an expression could not be
// evaluated.
type decision struct {
	rule, message string
	fields        [][]any
	fails         bool
}

// validate evaluates the policy on an object with one of its parameters, as Validate in
// pkg/admission/plugin/policy/validating does. An error of the evaluation is a decision too, unless
// the policy ignores failures.
func (p *policy) validate(attr *admission.VersionedAttributes, param runtime.Object, ns *corev1.Namespace) (decisions []decision) {
	ctx := context.Background()
	fail := func(message string) []decision {
		if p.Spec.FailurePolicy != nil && *p.Spec.FailurePolicy == admissionv1.Ignore {
			return nil
		}
		return []decision{{message: message, fails: true}}
	}
	if p.matcher != nil {
		m := p.matcher.Match(ctx, attr, param, nil)
		if m.Error != nil {
			return fail(m.Error.Error())
		}
		if !m.Matches {
			return nil
		}
	}
	vars := cel.OptionalVariableBindings{VersionedParams: param}
	request := cel.CreateAdmissionRequest(attr.Attributes, metav1.GroupVersionResource(attr.GetResource()),
		metav1.GroupVersionKind(attr.VersionedKind))
	ns = cel.CreateNamespaceObject(ns)
	results, budget, err := p.conditions.ForInput(ctx, attr, request, vars, ns, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return fail(err.Error())
	}
	messages, _, messageErr := p.messages.ForInput(ctx, attr, request, vars, ns, budget)
	for i, r := range results {
		v := &p.Spec.Validations[i]
		switch {
		case r.Error != nil:
			decisions = append(decisions, fail(r.Error.Error())...)
		case messageErr != nil:
			decisions = append(decisions, fail("failed messageExpression: "+messageErr.Error())...)
		case r.EvalResult != celtypes.True:
			var m *cel.EvaluationResult
			if i < len(messages) {
				m = &messages[i]
			}
			rule := strings.TrimSpace(v.Expression)
			decisions = append(decisions, decision{rule: rule, message: denial(v, m), fields: fieldsOf(rule, "object", p.vars)})
		}
	}
	return decisions
}

// denial returns the message of a validation that denied an object.
func denial(v *admissionv1.Validation, m *cel.EvaluationResult) string {
	if m != nil && m.Error == nil && m.EvalResult != nil {
		if text, ok := m.EvalResult.Value().(string); ok {
			text = strings.TrimSpace(text)
			if text != "" && len(text) <= celconfig.MaxEvaluatedMessageExpressionSizeBytes && !strings.Contains(text, "\n") {
				return text
			}
		}
	}
	if text := strings.TrimSpace(v.Message); text != "" {
		return text
	}
	return "failed expression: " + strings.TrimSpace(v.Expression)
}

// into decodes an object.
func into(u *unstructured.Unstructured, to any) error {
	data, err := json.Marshal(u.Object)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}
