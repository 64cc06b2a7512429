package run

import (
	"maps"
	"slices"

	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/internal/command/run/tree"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// comments holds the comments of the resources of a run by origin: the comments of the files,
// and the changes that functions made to them. Values have no comments, so these are passed
// from call to call alongside the lists.
type comments struct {
	tree *tree.Tree
	now  map[*krm.Origin]commented
}

// A commented has the comments of a value. The place of a comment may contain a list index,
// which a function can turn into the index of a different item. So comments are stored with
// their value and moved when the value changes.
type commented struct {
	tree.Comments
	value yaml.Value
}

// in returns the comments for a different value.
func (c commented) in(v yaml.Value) tree.Comments {
	return tree.Comments{All: c.All.Moved(c.value, v), Changed: c.Changed.Moved(c.value, v)}
}

func newComments(t *tree.Tree) *comments {
	return &comments{t, map[*krm.Origin]commented{}}
}

// of returns the comments of a resource. The caller must not modify them.
func (c *comments) of(r *krm.Resource) tree.Comments {
	if r.Origin == nil {
		return tree.Comments{}
	}
	now, ok := c.now[r.Origin]
	if o := c.tree.Of(r); !ok && o != nil {
		now = commented{tree.Comments{All: o.Comments()}, o.Value}
	}
	return now.in(r.Value())
}

// answered records the comments that a function returned for a resource. sent are the comments
// it received with the value was.
//
// Many functions decode resources into structs and lose all comments. So a comment that does
// not come back stays with its value, unless the function has put the same text elsewhere in
// the resource.
func (c *comments) answered(r *krm.Resource, was yaml.Value, sent, answer inplace.Comments) {
	now := tree.Comments{All: inplace.Comments{}, Changed: inplace.Comments{}}
	maps.Copy(now.All, c.of(r).All)
	maps.Copy(now.Changed, c.of(r).Changed)
	sent = sent.Moved(was, r.Value())
	moved := map[string]bool{}
	for place, text := range answer {
		if sent[place] != text {
			now.All[place], now.Changed[place], moved[text] = text, text, true
		}
	}
	for place, text := range sent {
		if _, stays := answer[place]; !stays && moved[text] {
			delete(now.All, place)
			now.Changed[place] = ""
		}
	}
	if _, ok := c.now[r.Origin]; ok || len(now.All) > 0 {
		c.now[r.Origin] = commented{now, r.Value()}
	}
}

// all returns the comments of the resources in a list that functions have returned, by origin.
func (c *comments) all(list *krm.List) map[*krm.Origin]tree.Comments {
	all := map[*krm.Origin]tree.Comments{}
	for _, r := range list.All() {
		if _, ok := c.now[r.Origin]; ok {
			all[r.Origin] = c.of(r)
		}
	}
	return all
}

// Text returns a resource with its comments.
func (c *call) Text(r *krm.Resource, v yaml.Value) []byte {
	all := c.comments.of(r).All
	if len(all) == 0 {
		return nil
	}
	text, sent := inplace.ForFunction(v, all, secret.Fields)
	c.sent[r.Origin] = sent
	return text
}

// Answered keeps the comments of an answer for [call.After].
func (c *call) Answered(answer yaml.Chunks, list []*krm.Resource) {
	clear(c.got)
	if !slices.ContainsFunc(answer, inplace.HasComments) {
		return
	}
	for i, x := range inplace.ItemComments(answer.Join()) {
		if i < len(list) {
			c.got[list[i]] = x
		}
	}
}
