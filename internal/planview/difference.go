package planview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/krm"
)

// The values of [Change.What].
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// A Difference lists the changes from one plan to another. Its fields define the JSON form that
// docs/plan.md documents.
type Difference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Against is the old plan, as the user named it.
	Against string `json:"against"`
	// Commit is the commit that Against resolved to, if it is a Git revision.
	Commit   string   `json:"commit,omitempty"`
	Roots    []Change `json:"roots"`
	Catalogs []Change `json:"catalogs"`
	Fetched  []Change `json:"fetched"`
	Layers   []Change `json:"layers"`
	Files    []Change `json:"files"`
	Nodes    []Change `json:"nodes"`
	// Secrets is set if the content that may hold Secret values changed and neither Files nor
	// Nodes show it: "changed" or "unknown".
	Secrets string `json:"secrets,omitempty"`
}

// A Change describes the change of one item: a root, catalog, remote, layer, file or step.
type Change struct {
	Name   string        `json:"name"`
	What   string        `json:"change"` // one of Added, Removed and Changed
	Fields []FieldChange `json:"fields,omitempty"`
}

// A FieldChange describes the change of one field. Old and New are set for a single value,
// Removed and Added for a list. If all four are empty, only the order of the list changed.
type FieldChange struct {
	Field   string   `json:"field"`
	Old     string   `json:"old,omitempty"`
	New     string   `json:"new,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Added   []string `json:"added,omitempty"`
}

// DifferenceForm returns the type whose JSON encoding is the form of a [Difference], for code
// that documents the form.
func DifferenceForm() reflect.Type { return reflect.TypeFor[Difference]() }

// Compare returns the changes from the plan old to the plan now.
//
// If both documents were made in this process, files and configurations that may hold Secret
// values are compared one by one. Otherwise only the combined digest of [Document.Secrets] is
// available. It covers the set of file names as well, so if files were added or removed, a
// different digest does not prove that any Secret changed: the result is "unknown".
func Compare(old, now *Document) *Difference {
	d := &Difference{APIVersion: Version, Kind: "PlanDiff"}
	known := old.secret != nil && now.secret != nil
	a, b := old.things(known), now.things(known)
	d.Roots, d.Catalogs = compareThings(a.roots, b.roots), compareThings(a.catalogs, b.catalogs)
	d.Fetched, d.Layers = compareThings(a.fetched, b.fetched), compareThings(a.layers, b.layers)
	d.Files, d.Nodes = compareThings(a.files, b.files), compareThings(a.nodes, b.nodes)
	switch {
	case known || old.Secrets == now.Secrets:
	case slices.ContainsFunc(d.Files, func(c Change) bool { return c.What != Changed }):
		d.Secrets = "unknown" // the digest is salted with all file names
	default:
		d.Secrets = Changed
	}
	return d
}

// Any reports whether the plans differ. A Difference whose Secrets are "unknown" does not differ
// by that alone.
func (d *Difference) Any() bool {
	return d.Secrets == Changed || len(d.Roots)+len(d.Catalogs)+len(d.Fetched)+len(d.Layers)+len(d.Files)+len(d.Nodes) > 0
}

// A thing holds the compared fields of one item. A value is a string, a []string or a [hidden]
// digest.
type thing map[string]any

// things holds the compared items of a plan by kind and name.
type things struct{ roots, catalogs, fetched, layers, files, nodes map[string]thing }

// A hidden is the digest of content that may hold Secret values. It is compared but never shown.
type hidden krm.Digest

// things returns the compared items of the document. If known is true, both documents have the
// digests of content that may hold Secret values, and they are compared.
func (d *Document) things(known bool) things {
	t := things{map[string]thing{}, map[string]thing{}, map[string]thing{}, map[string]thing{}, map[string]thing{}, map[string]thing{}}
	for _, r := range d.Roots {
		t.roots[r.Dir] = thing{"layers": r.Layers}
		if r.Known {
			t.roots[r.Dir]["resources"] = counted(r.Resources)
		}
		if r.Objects != nil {
			t.roots[r.Dir]["objects"] = r.Objects
		}
	}
	for _, f := range d.Failed {
		if t.roots[f.Dir] == nil {
			t.roots[f.Dir] = thing{}
		}
		t.roots[f.Dir]["mistakes"] = fmt.Sprint(len(f.Errors))
	}
	for _, c := range d.Catalogs {
		t.catalogs[c.Ref] = thing{"digest": c.Digest, "trustedBy": c.TrustedBy, "signedBy": c.SignedBy}
	}
	for _, f := range d.Fetched {
		t.fetched[f.Ref] = thing{"version": f.Version}
	}
	for _, l := range d.Layers {
		uses := []string{}
		for _, u := range l.Uses {
			uses = append(uses, u.Field+": "+u.Layer)
		}
		t.layers[l.File] = thing{"kind": l.Kind, "uses": uses, "files": l.Files}
	}
	for name, digest := range d.files() {
		t.files[name] = thing{"digest": digest}
		if secret, ok := d.secret[name]; ok && known {
			t.files[name]["digest"] = hidden(secret)
		}
	}
	for i := range d.Nodes {
		n := d.Nodes[i].thing()
		if secret, ok := d.secret[d.Nodes[i].ID]; ok && known {
			n["function.config"] = hidden(secret)
		}
		t.nodes[d.Nodes[i].ID] = n
	}
	return t
}

// thing returns the compared fields of a step. It leaves out line numbers and the position of an
// item in its list: both change when an unrelated line or item is added, and the step still does
// the same.
func (n *Node) thing() thing {
	t := thing{"verb": n.Verb, "summary": n.Summary, "layer": n.Layer, "file": n.Origin.File, "field": n.Origin.Field, "inputs": n.Inputs,
		"after": n.After}
	changes := n.Changes
	if n.Item != nil {
		changes = n.Item.Changes
	}
	by := []string{}
	for _, o := range changes {
		by = append(by, strings.TrimSuffix(o.File+"#"+o.Field, "#"))
	}
	t["changes"] = by
	for name, text := range n.Function.fields() {
		if name != "configLine" {
			t["function."+name] = plainly(json.RawMessage(text))
		}
	}
	return t
}

// plainly returns the JSON value of a function's field in the form shown to people.
func plainly(raw json.RawMessage) any {
	var text string
	var list []json.RawMessage
	var grant Grant
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &list) == nil:
		all := []string{}
		for _, item := range list {
			all = append(all, fmt.Sprint(plainly(item)))
		}
		return all
	case json.Unmarshal(raw, &grant) == nil && grant.Capability != "":
		return grant.Capability + " by " + grant.By
	}
	return string(raw)
}

func counted(list []Count) []string {
	all := []string{}
	for _, c := range list {
		all = append(all, fmt.Sprintf("%s ×%d", c.Name, c.Count))
	}
	return all
}

// compareThings returns the changes from old to now, sorted by name.
func compareThings(old, now map[string]thing) []Change {
	all := []Change{}
	for _, name := range names(old, now) {
		was, wasThere := old[name]
		is, isThere := now[name]
		switch {
		case !wasThere:
			all = append(all, Change{Name: name, What: Added})
		case !isThere:
			all = append(all, Change{Name: name, What: Removed})
		default:
			if fields := was.fields(is); len(fields) > 0 {
				all = append(all, Change{Name: name, What: Changed, Fields: fields})
			}
		}
	}
	return all
}

// names returns the keys of both maps, sorted and without duplicates.
func names[V any](old, now map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(now))
	slices.Sort(all)
	return slices.Compact(all)
}

// compare returns the keys that were added, removed or changed, sorted.
func compare(old, now map[string]string) (all []Change) {
	for _, name := range names(old, now) {
		was, wasThere := old[name]
		is, isThere := now[name]
		switch {
		case !wasThere:
			all = append(all, Change{Name: name, What: Added})
		case !isThere:
			all = append(all, Change{Name: name, What: Removed})
		case was != is:
			all = append(all, Change{Name: name, What: Changed})
		}
	}
	return all
}

// fields returns the fields that differ. The fields resources and objects are compared only if
// both plans have them: a plan without a preview lacks both.
func (t thing) fields(now thing) (all []FieldChange) {
	for _, name := range names(t, now) {
		if (name == "resources" || name == "objects") && (t[name] == nil || now[name] == nil) {
			continue
		}
		old, oldList := t[name].([]string)
		list, isList := now[name].([]string)
		_, wasHidden := t[name].(hidden)
		_, isHidden := now[name].(hidden)
		if wasHidden || isHidden {
			if t[name] != now[name] {
				all = append(all, FieldChange{Field: name, Old: "hidden", New: "hidden, changed"})
			}
			continue
		}
		if !oldList && !isList {
			was, _ := t[name].(string)
			is, _ := now[name].(string)
			if was != is {
				all = append(all, FieldChange{Field: name, Old: was, New: is})
			}
			continue
		}
		if !slices.Equal(old, list) {
			all = append(all, FieldChange{Field: name, Removed: without(old, list), Added: without(list, old)})
		}
	}
	return all
}

// without returns the items of list that are not in other.
func without(list, other []string) (rest []string) {
	in := map[string]bool{}
	for _, s := range other {
		in[s] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return in[s] })
}

// Write writes the JSON form.
func (d *Difference) Write(w io.Writer) error {
	enc := json.NewEncoder(diag.SanitisingWriter(w))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(d)
}

// WriteText writes the text form: one line per change, followed by its fields, and a summary as
// the last line.
func (d *Difference) WriteText(w io.Writer, style Style) error {
	t := &Text{style: style}
	for _, kind := range d.Kinds() {
		for _, c := range kind.Changes {
			mark, color := Mark(c.What),
				map[string]terminal.Color{Added: terminal.Green, Removed: terminal.Red, Changed: terminal.Yellow}[c.What]
			fmt.Fprintf(&t.b, "%s %s\n", t.paint(color, mark+" "+kind.One), clean(c.Name))
			for _, f := range c.Fields {
				fmt.Fprintf(&t.b, "    %s\n", f)
			}
		}
	}
	if line := d.AboutSecrets(); line != "" {
		t.b.WriteString(t.paint(terminal.Yellow, line) + "\n")
	}
	fmt.Fprintln(&t.b, d.String())
	return t.flush(w)
}

// String returns the change on one line.
func (f FieldChange) String() string {
	switch {
	case f.Old != "" || f.New != "":
		return fmt.Sprintf("%s: %s -> %s", f.Field, clean(cmp.Or(f.Old, "none")), clean(cmp.Or(f.New, "none")))
	case len(f.Removed)+len(f.Added) == 0:
		return f.Field + ": different order"
	}
	var sides []string
	for _, side := range []struct {
		mark string
		list []string
	}{{"-", f.Removed}, {"+", f.Added}} {
		if len(side.list) > 0 {
			sides = append(sides, side.mark+" "+clean(few(side.list)))
		}
	}
	return f.Field + ": " + strings.Join(sides, "; ")
}

// few returns up to six items of a list on one line, followed by the number of the remaining
// ones.
func few(list []string) string {
	const some = 6
	if len(list) <= some {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:some], ", ") + " and " + diag.Count(len(list)-some, "other")
}

// AboutSecrets returns a line about changes of content that may hold Secret values, or "" if
// there are none or the files and steps already show them.
func (d *Difference) AboutSecrets() string {
	switch d.Secrets {
	case "":
		return ""
	case Changed:
		return "~ content that may hold values of Secrets"
	}
	return "? content that may hold values of Secrets: not comparable, because the files are not the same"
}

// Mark returns the sign that marks a change in text: "+", "-" or "~".
func Mark(what string) string { return map[string]string{Added: "+", Removed: "-", Changed: "~"}[what] }

// A KindOfChanges holds the changes of one kind of items. One is the singular noun for the kind.
type KindOfChanges struct {
	One     string
	Changes []Change
}

// Kinds returns the changes by kind, in the order of the text form.
func (d *Difference) Kinds() []KindOfChanges {
	return []KindOfChanges{{"root", d.Roots}, {"catalog", d.Catalogs}, {"remote", d.Fetched}, {"layer", d.Layers}, {"file", d.Files},
		{"step", d.Nodes}}
}

// String returns a one-line summary.
func (d *Difference) String() string {
	if !d.Any() {
		return "no difference to " + clean(d.Against)
	}
	var parts []string
	for _, kind := range d.Kinds() {
		n := map[string]int{}
		for _, c := range kind.Changes {
			n[c.What]++
		}
		var counts []string
		for _, what := range []string{Added, Removed, Changed} {
			if n[what] > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", n[what], what))
			}
		}
		if len(counts) > 0 {
			parts = append(parts, strings.TrimPrefix(diag.Plural(2, kind.One), "2 ")+" "+strings.Join(counts, ", "))
		}
	}
	if d.Secrets == Changed {
		parts = append(parts, "content that may hold values of Secrets changed")
	}
	return "differs from " + clean(d.Against) + ": " + strings.Join(parts, "; ")
}
