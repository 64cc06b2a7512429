package run

import (
	"maps"
	"slices"

	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/internal/command/run/tree"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// comments are the comments of the resources of a run, by their origins: those of the files and
// what functions have made of them. Values have none, so they go beside the lists from call to call.
type comments struct {
	tree *tree.Tree
	now  map[*krm.Origin]inplace.Comments
}

func newComments(t *tree.Tree) *comments {
	return &comments{t, map[*krm.Origin]inplace.Comments{}}
}

// of returns the comments of a resource.
func (c *comments) of(r *krm.Resource) inplace.Comments {
	if r.Origin == nil {
		return nil
	}
	if now, ok := c.now[r.Origin]; ok {
		return now
	}
	if o := c.tree.Of(r); o != nil {
		return o.Comments()
	}
	return nil
}

// answered notes the comments that a function has returned for a resource that had those of sent.
//
// Many functions decode resources into structs and lose all comments. Therefore a comment that does
// not come back stays, unless the function has put the same text somewhere else in the resource.
func (c *comments) answered(r *krm.Resource, sent, answer inplace.Comments) {
	var next inplace.Comments
	moved := map[string]bool{}
	for place, text := range answer {
		if sent[place] == text {
			continue
		}
		if next == nil {
			next = inplace.Comments{}
			maps.Copy(next, c.of(r))
		}
		next[place], moved[text] = text, true
	}
	for place, text := range sent {
		if _, stays := answer[place]; !stays && moved[text] {
			delete(next, place)
		}
	}
	if next != nil {
		c.now[r.Origin] = next
	}
}

// Text returns a resource with its comments. Those below values do not go to functions: the
// libraries of functions attach them to other values when they write them.
func (c *call) Text(r *krm.Resource, v yaml.Value) []byte {
	all := c.comments.of(r)
	if len(all) == 0 {
		return nil
	}
	text, sent := inplace.Commented(v, all.Movable())
	c.sent[r.Origin] = sent
	return text
}

// Answered takes the comments of an answer until [call.After] takes its resources.
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
