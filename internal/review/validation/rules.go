package validation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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
	q := v.question()
	if len(q.groups) == 0 {
		return nil
	}
	program, why := findProgram(a)
	if !v.rules {
		program, why = nil, []string{"krmflow validate --cel evaluates them"}
	}
	if program == nil {
		e := diag.Errorf(diag.Pos{}, "", "%s not evaluated", q.skipped()).With(diag.RulesSkipped)
		for _, h := range why {
			e.Hint("%s", h)
		}
		a.Log.Warn(planner.WarningOf(e))
		return nil
	}
	results, err := program.run(ctx, a, q.text())
	if err != nil {
		return err
	}
	return v.add(a, q, results)
}

// A question is the input of krmflow-cel: the objects of all roots and the groups in which they are
// evaluated. Roots with equal groups share one.
type question struct {
	items  [][]byte // JSON
	index  map[string]int
	groups []*group
	// definitions and policies are the rules by item.
	definitions, policies map[int]int
}

// A group is a list of objects that are evaluated with the same rules.
type group struct {
	Objects []int `json:"objects"`
	Context []int `json:"context"`
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
	i, ok := q.index[string(text)]
	if !ok {
		i = len(q.items)
		q.items = append(q.items, text)
		q.index[string(text)] = i
	}
	return i
}

// question returns the objects with rules and what their rules refer to.
func (v *Run) question() *question {
	q := &question{index: map[string]int{}, definitions: map[int]int{}, policies: map[int]int{}}
	byRoot := map[string][]custom{}
	for _, c := range v.customs {
		byRoot[c.root.Dir] = append(byRoot[c.root.Dir], c)
	}
	policies := v.policies()
	if !v.rules { // the lists are not kept
		for _, dir := range sortedKeys(byRoot) {
			v.group(q, rendered{root: graph.Root{Dir: dir}}, byRoot[dir], nil)
		}
		return q
	}
	for _, l := range v.lists {
		v.group(q, l, byRoot[l.root.Dir], policies)
	}
	return q
}

// group adds the group of a root to a question, if there are rules for it.
func (v *Run) group(q *question, l rendered, customs []custom, policies map[string]*policies) {
	g, of := &group{}, ofRoot{rendered: l, resources: map[int][]*krm.Resource{}}
	object := func(r *krm.Resource) {
		i := q.item(r.Value())
		if of.resources[i] == nil {
			g.Objects = append(g.Objects, i)
		}
		of.resources[i] = append(of.resources[i], r)
	}
	context := func(value yaml.Value, r *krm.Resource) int {
		i := q.item(value)
		if !slices.Contains(g.Context, i) {
			g.Context = append(g.Context, i)
		}
		if r != nil && of.resources[i] == nil {
			of.resources[i] = []*krm.Resource{r}
		}
		return i
	}
	p := policies[l.root.Dir]
	if p == nil {
		p = policies[""] // of other roots
	}
	active := p != nil && l.list != nil && len(p.bindings) > 0
	for _, c := range customs {
		ruled := false
		for _, d := range v.defined(c) {
			if n := countRules(d.crd, c.r.ID().Version); n > 0 || active {
				i := context(d.crd, d.r)
				q.definitions[i] = max(q.definitions[i], n)
				ruled = ruled || n > 0
			}
		}
		if ruled && !active {
			object(c.r)
		}
	}
	if active {
		for _, r := range l.list.All() {
			if r.IsLocal() {
				continue
			}
			object(r)
			if r.ID().Kind == "Namespace" || p.uses(r) {
				context(r.Value(), r)
			}
		}
		for _, r := range p.context {
			context(r.Value(), r)
		}
		for _, r := range p.policies {
			q.policies[context(r.Value(), r)] = r.Value().At("spec", "validations").Len()
		}
		for _, r := range p.bindings {
			context(r.Value(), r)
		}
	}
	if len(g.Objects) == 0 {
		return
	}
	for _, other := range q.groups {
		if slices.Equal(other.Objects, g.Objects) && slices.Equal(other.Context, g.Context) {
			other.roots = append(other.roots, of)
			return
		}
	}
	g.roots = []ofRoot{of}
	q.groups = append(q.groups, g)
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

// skipped returns the numbers of rules as the subject of a sentence.
func (q *question) skipped() string {
	var parts []string
	total := 0
	for _, x := range []struct {
		rules map[int]int
		kind  string
	}{{q.definitions, "CustomResourceDefinition"}, {q.policies, "ValidatingAdmissionPolicy"}} {
		rules, of := 0, 0
		for _, n := range x.rules {
			if n > 0 {
				rules, of = rules+n, of+1
			}
		}
		if rules > 0 {
			kinds := diag.Count(of, x.kind)
			if x.kind == "ValidatingAdmissionPolicy" && of > 1 {
				kinds = fmt.Sprintf("%d ValidatingAdmissionPolicies", of)
			}
			parts = append(parts, diag.Count(rules, "CEL rule")+" of "+kinds)
			total += rules
		}
	}
	verb := " was"
	if total > 1 {
		verb = " were"
	}
	if len(parts) == 2 {
		return parts[0] + " and " + parts[1] + verb
	}
	return parts[0] + verb
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
	for _, res := range results {
		g, err := strconv.Atoi(res.Tags.Group)
		item, errItem := strconv.Atoi(res.Tags.Item)
		if err != nil || errItem != nil || g < 0 || g >= len(q.groups) {
			return fmt.Errorf("%s: unexpected result: %s", celProgram, diag.OneLine(res.Message))
		}
		for _, of := range q.groups[g].roots {
			if of.resources[item] == nil { // a definition that --crds names
				name := res.ResourceRef.Kind + " " + diag.OneLine(res.ResourceRef.Name)
				e := diag.Errorf(diag.Pos{}, name, "%s", diag.OneLine(res.Message)).With(diag.RulesSkipped)
				a.Log.Warn(planner.WarningOf(e))
				break
			}
			for _, r := range of.resources[item] {
				f := newFinding(validate.Finding{Code: validate.RuleViolated, Msg: diag.OneLine(res.Message)}, of.root, r, of.hide)
				if res.Severity == "info" && res.Tags.Rule == "" {
					e := diag.Errorf(r.Pos, r.ID().Kind+" "+f.name, "%s", f.Msg).With(diag.RulesSkipped)
					a.Log.Warn(planner.WarningOf(e))
					continue
				}
				if res.Tags.Rule != "" {
					f.Hints = []string{of.hide.Hide("rule: " + diag.OneLine(res.Tags.Rule))}
				}
				f.Warning = res.Severity != "error"
				f.Path, f.Value = existing(r.Value(), steps(res.Tags.Path))
				f.fields = paths(res.Tags.Fields)
				v.found = append(v.found, f)
			}
		}
	}
	return nil
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
