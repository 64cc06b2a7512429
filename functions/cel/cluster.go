package main

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
)

// A cluster has the policies that apply to the objects of a group, and the objects that they refer
// to.
type cluster struct {
	e        *evaluator
	context  []int
	kinds    map[schema.GroupKind][]int
	bindings []binding
	skipped  map[skipped]int
	order    []skipped
}

// A binding is a binding with its policy and their indexes.
type binding struct {
	admissionv1.ValidatingAdmissionPolicyBinding
	policy *policy
	at     int // of the policy
}

// skipped is a reason why a policy was not evaluated for an object.
type skipped struct {
	policy int
	reason string
}

// cluster returns the policies of a group. kinds are its definitions.
func (e *evaluator) cluster(g group, kinds map[schema.GroupKind][]int) *cluster {
	c := &cluster{e: e, context: g.Context, kinds: kinds, skipped: map[skipped]int{}}
	policies := map[string]int{}
	for _, i := range g.Context {
		if isPolicy(&e.list.Items[i]) {
			policies[e.list.Items[i].GetName()] = i
		}
	}
	for _, i := range g.Context {
		u := &e.list.Items[i]
		if !isBinding(u) {
			continue
		}
		b := binding{}
		if err := into(u, &b.ValidatingAdmissionPolicyBinding); err != nil {
			e.add(i, result{Severity: severityInfo, Message: fmt.Sprintf("the binding was not evaluated: %v", err)}, "")
			continue
		}
		at, ok := policies[b.Spec.PolicyName]
		if !ok {
			continue
		}
		if b.policy, b.at = e.policy(at), at; b.policy != nil {
			c.bindings = append(c.bindings, b)
		}
	}
	return c
}

// policy returns the compiled policy of an item. It reports expressions that an API server refuses,
// and returns nil for such a policy.
func (e *evaluator) policy(i int) *policy {
	p, ok := e.policies[i]
	if !ok {
		p = newPolicy(&e.list.Items[i])
		e.policies[i] = p
	}
	if p.err != nil {
		e.add(i, result{Severity: severityError, Message: "an API server refuses the policy: " + withoutSource(p.err.Error())}, "")
		return nil
	}
	return p
}

// end reports the policies that were not evaluated for some objects.
func (c *cluster) end() {
	for _, s := range c.order {
		noun := "objects"
		if c.skipped[s] == 1 {
			noun = "object"
		}
		c.e.add(s.policy, result{Severity: severityInfo,
			Message: fmt.Sprintf("the policy was not evaluated for %d %s: %s", c.skipped[s], noun, s.reason)}, "")
	}
}

func (c *cluster) skip(b *binding, reason string) {
	s := skipped{b.at, reason}
	if c.skipped[s] == 0 {
		c.order = append(c.order, s)
	}
	c.skipped[s]++
}

// clusterKinds are the kinds of Kubernetes without a namespace.
var clusterKinds = []string{"Namespace", "Node", "PersistentVolume", "ComponentStatus", "ClusterRole", "ClusterRoleBinding", "StorageClass",
	"VolumeAttachment", "VolumeAttributesClass", "CSIDriver", "CSINode", "PriorityClass", "IngressClass", "RuntimeClass", "APIService",
	"CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy",
	"ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "CertificateSigningRequest",
	"ClusterTrustBundle", "FlowSchema", "PriorityLevelConfiguration", "DeviceClass", "ResourceSlice", "ServiceCIDR", "IPAddress",
	"StorageVersion"}

// resource returns the resource of a kind, whether its objects have a namespace, and the definition
// of a custom kind.
func (c *cluster) resource(gvk schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced bool, d *definition) {
	for _, i := range c.kinds[gvk.GroupKind()] {
		if d = c.e.definitions[i]; d != nil {
			return gvk.GroupVersion().WithResource(d.plural), d.namespaced, d
		}
	}
	gvr, _ = meta.UnsafeGuessKindToResource(gvk)
	return gvr, !slices.Contains(clusterKinds, gvk.Kind), nil
}

// admit evaluates the policies on the creation of an object.
func (c *cluster) admit(i int) {
	if len(c.bindings) == 0 {
		return
	}
	u := &c.e.list.Items[i]
	gvk := u.GroupVersionKind()
	gvr, namespaced, d := c.resource(gvk)
	namespace := u.GetNamespace()
	switch {
	case gvk.GroupKind() == schema.GroupKind{Kind: "Namespace"}:
		namespace = u.GetName() // as in an API server
	case namespaced && namespace == "":
		namespace = metav1.NamespaceDefault
	}
	object := u.DeepCopy()
	if d != nil {
		if v := d.of(gvk.Version); v != nil {
			v.complete(object.Object)
		}
	}
	attr := &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(object, nil, gvk, namespace, u.GetName(), gvr, "", admission.Create,
			&metav1.CreateOptions{},
			false, nil),
		VersionedObject: object, VersionedKind: gvk}
	if rules.IsExemptAdmissionConfigurationResource(attr) {
		return
	}
	for n := range c.bindings {
		c.bind(&c.bindings[n], i, attr, d != nil)
	}
}

// bind evaluates the policy of a binding on an object. defaulted is set if the object has the
// defaults that an API server adds.
func (c *cluster) bind(b *binding, i int, attr *admission.VersionedAttributes, defaulted bool) {
	p := b.policy
	ns, nsKnown := c.namespace(attr)
	for _, m := range []*admissionv1.MatchResources{p.Spec.MatchConstraints, b.Spec.MatchResources} {
		if m == nil {
			continue
		}
		ok, known := matches(m, attr, ns, nsKnown)
		if !ok {
			return
		}
		if !known {
			c.skip(b, fmt.Sprintf("the labels of the namespace %s are not in the tree", attr.GetNamespace()))
			return
		}
	}
	switch {
	case p.uses["authorizer"], p.uses["userInfo"]:
		c.skip(b, "it depends on the user of the request")
		return
	case p.uses["namespaceObject"] && !nsKnown:
		c.skip(b, fmt.Sprintf("the namespace %s is not in the tree", attr.GetNamespace()))
		return
	}
	if attr.GetKind().Kind == "Namespace" {
		ns = nil
	}
	params, reason := c.params(b, attr.GetNamespace())
	if reason != "" {
		c.skip(b, reason)
		return
	}
	for _, param := range params {
		for _, d := range p.validate(attr, param, ns) {
			if d.fails && !defaulted {
				c.skip(b, "the defaults that an API server adds to the fields are unknown")
				continue
			}
			c.report(b, i, d)
		}
	}
}

// report adds a result for a decision. The strictest action of the binding decides its severity.
func (c *cluster) report(b *binding, i int, d decision) {
	r := result{Tags: tags(d.rule, d.fields)}
	by := fmt.Sprintf("ValidatingAdmissionPolicy %s with binding %s ", b.policy.Name, b.Name)
	switch actions := b.Spec.ValidationActions; {
	case slices.Contains(actions, admissionv1.Deny):
		r.Severity, r.Message = severityError, by+"denies it: "+d.message
	case slices.Contains(actions, admissionv1.Warn):
		r.Severity, r.Message = severityWarning, by+"warns: "+d.message
	case slices.Contains(actions, admissionv1.Audit):
		r.Severity, r.Message = severityInfo, by+"audits it: "+d.message
	default:
		return
	}
	c.e.add(i, r, "")
}

// namespace returns the Namespace of a request, and whether its labels are known. A namespace that
// is not in the group has only the label that API servers set.
func (c *cluster) namespace(attr admission.Attributes) (*corev1.Namespace, bool) {
	name := attr.GetNamespace()
	if name == "" {
		return nil, true
	}
	for _, i := range c.context {
		u := &c.e.list.Items[i]
		if u.GetKind() != "Namespace" || u.GetAPIVersion() != "v1" || u.GetName() != name {
			continue
		}
		var ns corev1.Namespace
		if err := into(u, &ns); err == nil {
			metav1.SetMetaDataLabel(&ns.ObjectMeta, corev1.LabelMetadataName, name)
			return &ns, true
		}
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}}
	return ns, false
}

// matches reports whether constraints match a request. known is false if that depends on labels of
// a namespace that are unknown.
func matches(m *admissionv1.MatchResources, attr *admission.VersionedAttributes, ns *corev1.Namespace, nsKnown bool) (ok, known bool) {
	if anyRule(m.ExcludeResourceRules, attr) || len(m.ResourceRules) > 0 && !anyRule(m.ResourceRules, attr) {
		return false, true
	}
	if m.ObjectSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(m.ObjectSelector)
		if err != nil || !selector.Matches(labels.Set(attr.VersionedObject.(*unstructured.Unstructured).GetLabels())) {
			return false, true
		}
	}
	if m.NamespaceSelector == nil || ns == nil {
		return true, true
	}
	selector, err := metav1.LabelSelectorAsSelector(m.NamespaceSelector)
	if err != nil {
		return false, true
	}
	if requirements, _ := selector.Requirements(); !nsKnown && slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return r.Key() != corev1.LabelMetadataName
	}) {
		return true, false
	}
	return selector.Matches(labels.Set(ns.Labels)), true
}

// anyRule reports whether one of the rules matches a request. Versions of a kind are not converted.
func anyRule(list []admissionv1.NamedRuleWithOperations, attr admission.Attributes) bool {
	return slices.ContainsFunc(list, func(r admissionv1.NamedRuleWithOperations) bool {
		m := rules.Matcher{Rule: r.RuleWithOperations, Attr: attr}
		return m.Matches() && (len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, attr.GetName()))
	})
}

// params returns the parameters of a binding, or the reason why they are unknown. A nil parameter
// means that the binding has no parameter.
func (c *cluster) params(b *binding, namespace string) (params []runtime.Object, reason string) {
	kind, ref := b.policy.Spec.ParamKind, b.Spec.ParamRef
	if kind == nil || ref == nil {
		return []runtime.Object{nil}, ""
	}
	gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	_, namespaced, d := c.resource(gvk)
	if ref.Namespace != "" {
		namespace = ref.Namespace
	}
	var selector labels.Selector
	if ref.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(ref.Selector); err != nil {
			return nil, err.Error()
		}
	}
	for _, i := range c.context {
		u := &c.e.list.Items[i]
		switch {
		case u.GroupVersionKind() != gvk:
		case namespaced && namespaceOf(u) != namespace:
		case ref.Name != "" && u.GetName() != ref.Name:
		case selector != nil && !selector.Matches(labels.Set(u.GetLabels())):
		default:
			param := u.DeepCopy()
			if d != nil {
				if v := d.of(gvk.Version); v != nil {
					v.complete(param.Object)
				}
			}
			params = append(params, param)
		}
	}
	if len(params) == 0 {
		return nil, fmt.Sprintf("its parameter %s is not in the tree", strings.TrimSpace(kind.Kind+" "+ref.Name))
	}
	return params, ""
}

// namespaceOf returns the namespace of an object of a kind with namespaces.
func namespaceOf(u *unstructured.Unstructured) string {
	if ns := u.GetNamespace(); ns != "" {
		return ns
	}
	return metav1.NamespaceDefault
}
