package validation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/validate"
)

// rendered is the list of a root.
type rendered struct {
	root graph.Root
	list *krm.List
	hide *secret.Set
}

// Evaluate evaluates the CEL rules for the lists that were passed to [Run.Root]: the rules of
// CustomResourceDefinitions, and with --cel also ValidatingAdmissionPolicies. The rules run in a
// separate program, krmflow-cel, which gets all lists in one call. It starts only if there is a
// rule for a resource. Rules that are not evaluated are reported as [diag.RulesSkipped]. The
// returned error is an error of the program. Violated rules are findings of [Run.End].
func (v *Run) Evaluate(ctx context.Context, a *cli.Invocation) error {
	if !v.rules {
		notEvaluated(a, v.count(), []string{"krmflow validate --cel evaluates them"})
		return nil
	}
	return v.evaluate(ctx, a)
}

// evaluate evaluates the rules with krmflow-cel.
func (v *Run) evaluate(ctx context.Context, a *cli.Invocation) error {
	q := v.question()
	if len(q.groups) == 0 {
		return nil
	}
	program, why := findProgram(a)
	if program == nil {
		notEvaluated(a, q.counts, why)
		return nil
	}
	results, err := program.run(ctx, a, q.text())
	if err != nil {
		return err
	}
	return v.add(a, q, results)
}

// counts are the numbers of rules of definitions and policies that apply to resources, by their
// kind and name.
type counts struct{ definitions, policies map[string]int }

func newCounts() counts { return counts{map[string]int{}, map[string]int{}} }

// notEvaluated reports the number of rules that were not evaluated.
func notEvaluated(a *cli.Invocation, n counts, hints []string) {
	said := n.String()
	if said == "" {
		return
	}
	e := diag.Errorf(diag.Pos{}, "", "%s not evaluated", said).With(diag.RulesSkipped)
	for _, h := range hints {
		e.Hint("%s", h)
	}
	a.Log.Warn(planner.WarningOf(e))
}

// String returns the subject and the verb of a sentence, "" for no rules.
func (n counts) String() string {
	var parts []string
	total := 0
	add := func(rules map[string]int, one, many string) {
		sum, of := 0, 0
		for _, n := range rules {
			if n > 0 {
				sum, of = sum+n, of+1
			}
		}
		kinds := "1 " + one
		if of != 1 {
			kinds = fmt.Sprintf("%d %s", of, many)
		}
		if sum > 0 {
			parts = append(parts, diag.Count(sum, "CEL rule")+" of "+kinds)
		}
		total += sum
	}
	add(n.definitions, "CustomResourceDefinition", "CustomResourceDefinitions")
	add(n.policies, "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicies")
	switch total {
	case 0:
		return ""
	case 1:
		return parts[0] + " was"
	}
	return strings.Join(parts, " and ") + " were"
}

// count returns the numbers of rules without the objects. Of several definitions of a kind, it
// counts the rules of one, so that the cost does not depend on the number of roots.
func (v *Run) count() counts {
	n := newCounts()
	for _, c := range v.customs {
		gvk := c.r.ID().GVK
		if _, ok := n.definitions[gvk.String()]; ok {
			continue
		}
		for _, d := range v.defined(c) {
			n.definitions[gvk.String()] = countRules(d.crd, gvk.Version)
		}
	}
	bound := map[string]bool{}
	for _, r := range v.admission {
		bound[r.Value().At("spec", "policyName").Text()] = true // of bindings
	}
	for _, r := range v.admission {
		if name := r.ID().Name; r.ID().Kind == policyKind && bound[name] {
			n.policies[name] = r.Value().At("spec", "validations").Len()
		}
	}
	return n
}

// A question is the input of krmflow-cel: the objects of all roots and the groups in which they are
// evaluated. Roots with equal groups share one.
type question struct {
	items  [][]byte // JSON
	index  map[krm.Digest]int
	groups []*group
	counts counts
}

// A group is a list of objects that are evaluated with the same rules.
type group struct {
	Objects []int `json:"objects"`
	Context []int `json:"context"`
	// Old are the old states of objects that are updates.
	Old map[int]int `json:"old,omitempty"`
	// roots are the roots with the group, and of each the resources by item.
	roots []ofRoot
}

type ofRoot struct {
	rendered
	resources map[int][]*krm.Resource
}

// item returns the index of an object.
func (q *question) item(v yaml.Value) int {
	text := yaml.AppendJSON(nil, v)
	digest := krm.DigestOf(text)
	i, ok := q.index[digest]
	if !ok {
		i = len(q.items)
		q.items = append(q.items, text)
		q.index[digest] = i
	}
	return i
}

// question returns the objects with rules and the objects that their rules refer to.
func (v *Run) question() *question {
	q := &question{index: map[krm.Digest]int{}, counts: newCounts()}
	byRoot := map[string][]custom{}
	for _, c := range v.customs {
		byRoot[c.root.Dir] = append(byRoot[c.root.Dir], c)
	}
	policies := v.policies()
	for _, l := range v.lists {
		p := policies[l.root.Dir]
		if p == nil {
			p = policies[""] // of other roots
		}
		v.group(q, l, byRoot[l.root.Dir], p)
	}
	return q
}

// group adds the group of a root to a question, if there are rules for it. p are its policies, nil
// for none.
func (v *Run) group(q *question, l rendered, customs []custom, p *policies) {
	g, of := &group{Objects: []int{}, Context: []int{}, Old: map[int]int{}}, ofRoot{rendered: l, resources: map[int][]*krm.Resource{}}
	listed, known := map[int]bool{}, map[int]bool{}
	object := func(r *krm.Resource) {
		i := q.item(r.Value())
		if !listed[i] {
			listed[i] = true
			g.Objects = append(g.Objects, i)
		}
		if old := v.old[r]; old != nil {
			g.Old[i] = q.item(old.Value())
		}
		if !slices.Contains(of.resources[i], r) {
			of.resources[i] = append(of.resources[i], r)
		}
	}
	context := func(value yaml.Value, r *krm.Resource) {
		i := q.item(value)
		if !known[i] {
			known[i] = true
			g.Context = append(g.Context, i)
		}
		if r != nil && of.resources[i] == nil {
			of.resources[i] = []*krm.Resource{r}
		}
	}
	active := p != nil && len(p.policies) > 0 && len(p.bindings) > 0
	ruled := map[krm.GVK]bool{}
	for _, c := range customs {
		gvk := c.r.ID().GVK
		if _, ok := ruled[gvk]; !ok {
			ruled[gvk] = false
			for _, d := range v.defined(c) {
				if n := countRules(d.crd, gvk.Version); n > 0 || active {
					context(d.crd, d.r)
					q.counts.definitions[gvk.String()] = n
					ruled[gvk] = ruled[gvk] || n > 0
				}
			}
		}
		if ruled[gvk] && !active {
			object(c.r)
		}
	}
	if active {
		v.admitted(q, l, p, object, context)
	}
	if len(g.Objects) == 0 {
		return
	}
	for _, other := range q.groups {
		if slices.Equal(other.Objects, g.Objects) && slices.Equal(other.Context, g.Context) && maps.Equal(other.Old, g.Old) {
			other.roots = append(other.roots, of)
			return
		}
	}
	g.roots = []ofRoot{of}
	q.groups = append(q.groups, g)
}

// admitted adds all resources of a root as objects, with the policies and what these refer to as
// context.
func (v *Run) admitted(q *question, l rendered, p *policies, object func(*krm.Resource), context func(yaml.Value, *krm.Resource)) {
	for _, r := range l.list.All() {
		if r.IsLocal() {
			continue
		}
		object(r)
		if r.ID().Kind == "Namespace" || p.uses(r) {
			context(r.Value(), r)
		}
	}
	for _, r := range slices.Concat(p.context, p.policies, p.bindings) {
		context(r.Value(), r)
	}
	for _, r := range p.policies {
		q.counts.policies[r.ID().Name] = r.Value().At("spec", "validations").Len()
	}
}

// text returns the ResourceList of a question. It is JSON, which every reader understands alike.
func (q *question) text() yaml.Chunks {
	var b bytes.Buffer
	b.WriteString(`{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[`)
	b.Write(bytes.Join(q.items, []byte(",")))
	groups, _ := json.Marshal(q.groups) // cannot fail
	fmt.Fprintf(&b, `],"functionConfig":{"apiVersion":"krmflow.dev/v1alpha1","kind":"CELValidation","spec":{"groups":%s}}}`, groups)
	return yaml.Chunks{b.Bytes()}
}

// countRules returns the number of CEL rules of a version of a CustomResourceDefinition.
func countRules(crd yaml.Value, version string) (n int) {
	var count func(v yaml.Value)
	count = func(v yaml.Value) {
		switch v.Type() {
		case yaml.Map:
			for _, f := range v.Fields() {
				if f.Key == "x-kubernetes-validations" && f.Value.Type() == yaml.Seq {
					n += f.Value.Len()
					continue
				}
				count(f.Value)
			}
		case yaml.Seq:
			for _, item := range v.Items() {
				count(item)
			}
		}
	}
	for _, item := range crd.At("spec", "versions").Items() {
		if item.Get("name").Text() == version {
			count(item.At("schema", "openAPIV3Schema"))
		}
	}
	return n
}

// A result is a result of krmflow-cel: see functions/cel.
type result struct {
	Message     string
	Severity    string
	ResourceRef struct{ Kind, Name string }
	Tags        struct{ Group, Item, Path, Fields, Rule string }
}

// add adds the findings for the results of krmflow-cel.
func (v *Run) add(a *cli.Invocation, q *question, results []result) error {
	noted := map[string]bool{} // roots have definitions and policies in common
	note := func(pos diag.Pos, object, msg string) {
		e := diag.Errorf(pos, object, "%s", msg).With(diag.RulesSkipped)
		if text := e.Error(); !noted[text] {
			noted[text] = true
			a.Log.Warn(planner.WarningOf(e))
		}
	}
	for _, res := range results {
		g, err := strconv.Atoi(res.Tags.Group)
		item, errItem := strconv.Atoi(res.Tags.Item)
		if err != nil || errItem != nil || g < 0 || g >= len(q.groups) {
			return fmt.Errorf("%s: unexpected result: %s", celProgram, diag.OneLine(res.Message))
		}
		for _, of := range q.groups[g].roots {
			if of.resources[item] == nil { // a definition that --crds names
				name := res.ResourceRef.Kind + " " + diag.OneLine(res.ResourceRef.Name)
				note(diag.Pos{}, name, diag.OneLine(res.Message))
				break
			}
			for _, r := range of.resources[item] {
				f := newFinding(validate.Finding{Code: validate.RuleViolated, Msg: diag.OneLine(res.Message)}, of.root, r, of.hide)
				aboutDefinition := v.old != nil && v.old[r] == nil
				if res.Severity == "info" && res.Tags.Rule == "" || aboutDefinition {
					note(r.Pos, r.ID().Kind+" "+f.name, f.Msg)
					continue
				}
				if res.Tags.Rule != "" {
					f.Hints = []string{"rule: " + shortened(of.hide.Hide(diag.OneLine(res.Tags.Rule)))}
				}
				f.Warning = res.Severity != "error"
				f.Path, f.Value = existing(r.Value(), steps(res.Tags.Path))
				f.fields = paths(res.Tags.Fields)
				if old := v.old[r]; old != nil {
					f.fields = changed(r.Value(), old.Value(), f.fields)
				}
				v.found = append(v.found, f)
			}
		}
	}
	return nil
}

// shortened returns the start of a long text.
func shortened(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// existing returns the longest part of a path that exists in an object, and the value there.
func existing(v yaml.Value, path []any) ([]any, yaml.Value) {
	for len(path) > 0 {
		if there := history.At(v, path); there.Exists() {
			return path, there
		}
		path = path[:len(path)-1]
	}
	return nil, v
}

// steps decodes a path from JSON.
func steps(text string) (path []any) {
	if json.Unmarshal([]byte(text), &path) != nil {
		return nil
	}
	for i, step := range path {
		if n, ok := step.(float64); ok {
			path[i] = int(n)
		}
	}
	return path
}

// paths decodes several paths.
func paths(text string) (all [][]any) {
	var raw []json.RawMessage
	if json.Unmarshal([]byte(text), &raw) != nil {
		return nil
	}
	for _, r := range raw {
		all = append(all, steps(string(r)))
	}
	return all
}
