// Package eval runs the pure operations of a graph: each takes lists and returns a list. The
// scheduler uses it to run a plan. The planner uses it to fold configuration that it must know
// before a plan exists, such as transformer configurations that are built themselves.
package eval

import (
	"errors"
	"fmt"
	"slices"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
)

// An Input is the list of an input node with its ownership: see [krm.Ownership].
type Input struct {
	List *krm.List
	Held krm.Ownership
}

// Take returns the list of the first input, or an empty list, as a list that the caller may
// change.
func Take(inputs []Input) *krm.List {
	if len(inputs) == 0 {
		return krm.NewList()
	}
	return inputs[0].List.Take(inputs[0].Held)
}

// Run runs op and returns the resulting list. It may be called concurrently as long as each list
// that is not [krm.Borrowed] is passed to only one call. The error wraps [diag.ErrLimit] if the
// list or one of its resources would become too large.
func Run(op graph.Op, inputs []Input, warn diag.Warn) (list *krm.List, err error) {
	switch op := op.(type) {
	case graph.Load:
		list, err = load(op)
	case graph.Merge:
		if op.LastOnly {
			list, err = mergeLast(inputs, warn)
		} else {
			list, err = merge(inputs)
		}
	case graph.Generate:
		list = Take(inputs)
		err = generate(op, list, warn)
	case graph.Absorb:
		list, err = absorb(inputs, warn)
	case graph.Transform:
		list = Take(inputs)
		if err = op.Transformer.Transform(list, warn); err == nil {
			builtins.RecordTransformation(list, op.Origin)
			if op.Last {
				err = list.CheckUnique()
			}
		}
	case graph.Validate:
		list = Take(inputs)
		err = validate(op, list, warn)
	case graph.Pass:
		list = Take(inputs)
	case graph.Finish:
		list = Take(inputs)
		err = op.Transformer.Transform(list, warn)
	case graph.Fetch, graph.Call:
		err = fmt.Errorf("cannot run a %s operation here", op.Verb())
	}
	if err != nil {
		return nil, err
	}
	return list, list.CheckSize()
}

func load(op graph.Load) (*krm.List, error) {
	rs, err := krm.Resources(op.Source, op.Schema)
	if err != nil {
		return nil, err
	}
	list := krm.NewList(rs...)
	if op.Origin != nil {
		for _, r := range rs {
			r.Origin = op.Origin
		}
	}
	return list, list.CheckUnique()
}

// mergeLast is merge without the earlier resources of those with the same identity.
func mergeLast(inputs []Input, warn diag.Warn) (*krm.List, error) {
	list := krm.NewList()
	for i := len(inputs) - 1; i >= 0; i-- {
		var rs []*krm.Resource
		for _, r := range inputs[i].List.All() {
			if len(list.Find(r.ID())) > 0 {
				warn(diag.SameID, "%s comes from several sources: the last one applies", r.ID())
			} else {
				rs = append(rs, r)
			}
		}
		next := krm.NewList(rs...)
		for _, r := range list.All() {
			if err := next.Append(r); err != nil {
				return nil, err
			}
		}
		list = next
	}
	return list, nil
}

func merge(inputs []Input) (*krm.List, error) {
	list := Take(inputs)
	ends := []int{list.Len()} // the end of each input in list
	for i, in := range inputs[min(1, len(inputs)):] {
		if list.Len()+in.List.Len() > krm.MaxResources {
			return nil, diag.Limitf("the list would have more than %d resources: some bases use each other repeatedly", krm.MaxResources)
		}
		for _, r := range in.List.All() {
			if err := list.Append(r); err != nil {
				if twice := (*krm.DuplicateError)(nil); errors.As(err, &twice) {
					first, _ := slices.BinarySearch(ends, list.Find(r.ID())[0]+1)
					twice.Inputs = [2]int{first, i + 1}
				}
				return nil, err
			}
		}
		ends = append(ends, list.Len())
	}
	return list, nil
}

func generate(op graph.Generate, list *krm.List, warn diag.Warn) error {
	rs, err := op.Generator.Generate()
	if err != nil {
		return err
	}
	made := krm.NewList(rs...)
	if err := made.CheckSize(); err != nil {
		return err // a list that is too large yields nothing
	}
	builtins.RecordOrigin(made, op.Origin)
	return add(made, list, warn)
}

func absorb(inputs []Input, warn diag.Warn) (*krm.List, error) {
	last := len(inputs) - 1
	if last < 0 {
		return nil, errors.New("absorb has no inputs")
	}
	list := Take(inputs[:last])
	return list, add(inputs[last].List, list, warn)
}

// add absorbs the generated resources into list.
func add(made, list *krm.List, warn diag.Warn) error {
	for _, r := range made.All() {
		if err := builtins.Absorb(list, r, warn); err != nil {
			return err
		}
	}
	return nil
}

func validate(op graph.Validate, list *krm.List, warn diag.Warn) error {
	checked := list.Clone()
	if err := op.Transformer.Transform(checked, warn); err != nil {
		return err
	}
	return builtins.SameResources(list, checked)
}
