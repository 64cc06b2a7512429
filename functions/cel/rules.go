package main

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// plainPath returns the text of a path, "" for the root.
func plainPath(text string) string {
	if text == "<nil>" {
		return ""
	}
	return strings.TrimPrefix(text, "<nil>.")
}

// ruleOf returns the rule that caused an error of obj, and the path of the value that it belongs
// to. The validator returns only the field and the message, so ruleOf compares these with the rules
// of the field and the values around it. Messages of messageExpressions can be anything, so a rule
// with a fixed message takes precedence.
func (v *version) ruleOf(err *field.Error, obj any) (node []any, rule *apiextensionsv1.ValidationRule) {
	best, path := 0, plainPath(err.Field)
	v.visit(v.structural, obj, nil, nil, func(rules apiextensionsv1.ValidationRules, s *schema.Structural, at []any, text string) {
		if !strings.HasPrefix(path, text) {
			return
		}
		for i := range rules {
			r := &rules[i]
			full := text
			if r.FieldPath != "" {
				if p, _, err := schemacel.ValidFieldPath(r.FieldPath, s); err == nil {
					full = strings.TrimPrefix(text+"."+p.String(), ".")
				}
			}
			rank := 0
			switch message := ruleMessage(r); {
			case full != path && text != path: // errors of the evaluation have the path of the value
			case err.Detail == message || strings.Contains(err.Detail, "rule: "+shortRule(r)):
				rank = 4
			case r.MessageExpression != "" || err.Type == field.ErrorTypeDuplicate:
				rank = 2
			}
			if rank > 0 && full == path {
				rank++
			}
			if rank > best {
				best, node, rule = rank, at, r
			}
		}
	})
	return node, rule
}

// visit calls f for all schemas with rules and their values in obj.
func (v *version) visit(s *schema.Structural, obj any, at []any, path *field.Path,
	f func(rules apiextensionsv1.ValidationRules, s *schema.Structural, at []any, text string)) {
	if s == nil || obj == nil {
		return
	}
	text := plainPath(path.String())
	if len(s.XValidations) > 0 {
		f(s.XValidations, s, at, text)
	}
	if s.ValueValidation != nil {
		for _, all := range s.ValueValidation.AllOf {
			if len(all.XValidations) > 0 {
				f(all.XValidations, s, at, text)
			}
		}
	}
	next := func(step any) []any { return append(at[:len(at):len(at)], step) }
	switch obj := obj.(type) {
	case []any:
		for i, item := range obj {
			v.visit(s.Items, item, next(i), path.Index(i), f)
		}
	case map[string]any:
		for name, value := range obj {
			if p, ok := s.Properties[name]; ok {
				v.visit(&p, value, next(name), path.Child(name), f)
			} else if s.AdditionalProperties != nil {
				v.visit(s.AdditionalProperties.Structural, value, next(name), path.Key(name), f)
			}
		}
	}
}

// ruleMessage returns the message of a rule without a messageExpression, as the API server does.
func ruleMessage(r *apiextensionsv1.ValidationRule) string {
	if r.Message == "" {
		return "failed rule: " + shortRule(r)
	}
	return strings.TrimSpace(r.Message)
}

// shortRule returns the text that identifies a rule in errors of the API server.
func shortRule(r *apiextensionsv1.ValidationRule) string {
	if r.Message != "" {
		return strings.TrimSpace(r.Message)
	}
	return strings.TrimSpace(r.Rule)
}
