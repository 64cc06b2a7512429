package validation

import (
	"maps"

	"github.com/krmflow/krmflow/krm"
)

// policies are the ValidatingAdmissionPolicies for a root.
type policies struct {
	policies, bindings []*krm.Resource
	params             map[krm.GVK]bool // kinds of parameters
	context            []*krm.Resource  // parameters in the roots of the policies
}

// policyKind is the kind of policies. Bindings have this kind with the suffix Binding.
const policyKind = "ValidatingAdmissionPolicy"

// isAdmission reports whether a resource is a policy or a binding.
func isAdmission(r *krm.Resource) bool {
	id := r.ID()
	return id.Group == "admissionregistration.k8s.io" && (id.Kind == policyKind || id.Kind == policyKind+"Binding") && !r.IsLocal()
}

// uses reports whether a resource can be a parameter.
func (p *policies) uses(r *krm.Resource) bool { return p.params[r.ID().GVK] }

// policies returns the policies by the directory of the root that contains them. The key ""
// has the policies of all roots. They apply to roots without policies.
func (v *Run) policies() map[string]*policies {
	found, all := map[string]*policies{}, &policies{params: map[krm.GVK]bool{}}
	for _, l := range v.lists {
		own := &policies{params: map[krm.GVK]bool{}}
		for _, r := range l.list.All() {
			switch {
			case !isAdmission(r):
			case r.ID().Kind == policyKind:
				own.policies = append(own.policies, r)
				if p := r.Value().At("spec", "paramKind"); p.Exists() {
					own.params[krm.ParseGVK(p.Get("apiVersion").Text(), p.Get("kind").Text())] = true
				}
			default:
				own.bindings = append(own.bindings, r)
			}
		}
		if len(own.policies)+len(own.bindings) == 0 {
			continue
		}
		for _, r := range l.list.All() {
			if own.uses(r) {
				all.context = append(all.context, r)
			}
		}
		all.policies, all.bindings = append(all.policies, own.policies...), append(all.bindings, own.bindings...)
		maps.Copy(all.params, own.params)
		found[l.root.Dir] = own
	}
	if len(found) > 0 {
		found[""] = all
	}
	return found
}
