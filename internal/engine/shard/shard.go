// Package shard distributes the roots of a tree over the jobs of a CI system or the machines of a
// cluster, without communication between them.
package shard

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Shard is one of Count parts of the roots. The zero Shard has all roots. It is the value of
// --shard.
type Shard struct {
	// Index is from 1 to Count.
	Index, Count int
}

// maxCount limits the number of shards.
const maxCount = 10_000

// On reports whether the roots are distributed.
func (s *Shard) On() bool { return s.Count > 0 }

// String returns the value of the flag.
func (s *Shard) String() string {
	if s.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}

// Type returns the name of the value in help.
func (*Shard) Type() string { return "string" }

// Set sets the value of the flag.
func (s *Shard) Set(text string) error {
	index, count, ok := strings.Cut(text, "/")
	i, errIndex := strconv.ParseUint(index, 10, 31)
	n, errCount := strconv.ParseUint(count, 10, 31)
	switch {
	case !ok || errIndex != nil || errCount != nil:
		return fmt.Errorf("must be I/N, such as 1/4, not %q", text)
	case n == 0:
		return errors.New("there must be at least one shard, and the first is 1/N")
	case n > maxCount:
		return fmt.Errorf("%d shards are more than the limit of %d", n, maxCount)
	case i == 0:
		return fmt.Errorf("the first shard is 1/%d, not %s", n, text)
	case i > n:
		return fmt.Errorf("the last shard is %d/%d, not %s", n, n, text)
	}
	s.Index, s.Count = int(i), int(n)
	return nil
}

// An Item is a root to be assigned. Weight is an estimate of its cost in any unit.
type Item struct {
	Name   string
	Weight int64
}

// Assign returns the index of the shard of each item, from 1 to n. The result depends only on the
// items, not on their order: the heaviest item first, each goes to the shard with the smallest
// total. Names must be distinct.
func Assign(items []Item, n int) []int {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(items[b].Weight, items[a].Weight), strings.Compare(items[a].Name, items[b].Name))
	})
	loads := make(byLoad, n)
	for i := range loads {
		loads[i].index = i + 1
	}
	shards := make([]int, len(items))
	for _, i := range order {
		shards[i] = loads[0].index
		loads[0].weight += items[i].Weight
		heap.Fix(&loads, 0)
	}
	return shards
}

// byLoad is a heap of shards, ordered by their totals.
type byLoad []struct {
	weight int64
	index  int
}

func (l byLoad) Len() int      { return len(l) }
func (l byLoad) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l byLoad) Push(any)      {}
func (l byLoad) Pop() any      { return nil }
func (l byLoad) Less(i, j int) bool {
	return l[i].weight < l[j].weight || l[i].weight == l[j].weight && l[i].index < l[j].index
}
