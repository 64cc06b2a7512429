package builtins

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint"
)

// A patchCheck examines the effects of a strategic merge patch on the objects of one step. It
// examines additions for the first object only, and reports at most one object with losses.
type patchCheck struct {
	patch   *smPatch
	lint    lint.Patch
	warn    Warn
	checked bool             // an object has been examined
	found   bool             // something was reported
	lossy   map[krm.GVK]bool // whether the patch may lose parts of objects of this kind
}

func (p *smPatch) newCheck(kinds *schema.Schema, warn Warn) *patchCheck {
	return &patchCheck{patch: p, lint: lint.Patch{Value: p.value, Schema: kinds, SchemaAt: p.schemaAt}, warn: warn}
}

// changed examines the change of an object of kind gvk from before to after. memory is the memory
// of the merge, or nil.
func (c *patchCheck) changed(gvk krm.GVK, before, after yaml.Value, memory *mergeMemory) {
	if c.found {
		return
	}
	c.lint.Known = nil
	if memory != nil {
		c.lint.Known = func(list yaml.Value, n schema.Node) lint.Items {
			if k := memory.find(c.lint.Schema, list, n); k != nil {
				return k
			}
			return nil
		}
	}
	if !c.checked {
		c.checked = true
		c.lint.Check(gvk, before, after, c.say)
		return
	}
	lossy, known := c.lossy[gvk]
	if !known {
		if c.lossy == nil {
			c.lossy = map[krm.GVK]bool{}
		}
		lossy = c.lint.MayLose(gvk)
		c.lossy[gvk] = lossy
	}
	if lossy {
		c.lint.CheckLosses(gvk, before, c.say)
	}
}

// say warns about a place in the patch.
func (c *patchCheck) say(f lint.Finding) {
	c.found = true
	text, doc := c.patch.text, c.patch.doc
	w := diag.Errorf(diag.Pos{}, diag.FieldPath(f.Path), "%s%s", f.Msg, f.Hints)
	if text.src.File != "" {
		w.Pos = text.src.Locate(doc, f.Path...)
	}
	c.warn(f.Code, "%w", text.at(w, doc, f.Path...))
}

// overwrites are the containers that operations add of a JSON patch have replaced in one object.
type overwrites struct {
	ops []int
	old []yaml.Value
}

// in returns a function that records content replaced by an operation, nil if o is.
func (o *overwrites) in(op int) func(yaml.Value) {
	if o == nil {
		return nil
	}
	return func(old yaml.Value) { o.ops, o.old = append(o.ops, op), append(o.old, old) }
}

// report warns about content that is missing in result, the patched object id, and reports whether
// there is any. It empties o.
func (o *overwrites) report(p jsonPatch, id krm.ID, result yaml.Value, warn Warn) (any bool) {
	for i, n := range o.ops {
		op := &p.ops[n]
		now, failed := follow(result, op.path.tokens)
		if failed >= 0 {
			continue
		}
		f := lint.Overwritten(o.old[i].Without(originAnnotation), now, op.value, op.path.text)
		if f == nil {
			continue
		}
		any = true
		w := diag.Errorf(diag.Pos{}, "", "operation %d (%s): %s: %s%s", n+1, op.describe(), id, f.Msg, f.Hints)
		warn(f.Code, "%w", p.text.at(w, 0, n))
	}
	*o = overwrites{o.ops[:0], o.old[:0]}
	return any
}
