package builtins

import (
	"slices"
	"sync/atomic"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// ChainImages connects transformers so that each passes the images it has seen to the next one.
// The information is used only if the next transformer gets the same list. All transformers must
// have the same FieldSpecs.
func ChainImages(ts []*ImageTagTransformer) {
	for i := range ts[:max(0, len(ts)-1)] {
		ts[i].after = new(imageMail)
		ts[i+1].before = ts[i].after
	}
}

// An imageMail holds notes until the next transformer takes them. It is safe for concurrent use.
// A nil imageMail is always empty.
type imageMail struct{ notes atomic.Pointer[imageNotes] }

// take removes and returns the notes about list. It returns empty notes if there are none or they
// are about a different list.
func (m *imageMail) take(list *krm.List) *imageNotes {
	if m != nil {
		if notes := m.notes.Swap(nil); notes != nil && notes.list == list && len(notes.notes) == list.Len() {
			return notes
		}
	}
	return &imageNotes{list: list, notes: make([]imageNote, list.Len())}
}

// put stores notes for the next transformer.
func (m *imageMail) put(notes *imageNotes) {
	if m != nil {
		m.notes.Store(notes)
	}
}

// imageNotes records the images in the resources of a list. A layer has one transformer per
// image, and most of them change few resources. With the notes, later transformers need not
// search all resources again.
type imageNotes struct {
	list  *krm.List
	notes []imageNote // by position in the list
	known []string    // the distinct image names, nil if they must be recomputed
	steps int         // the number of transformers that have used the notes
	// index has the positions of the resources with an image, by the keys of [imageKeys]. It may
	// have further ones. It is nil before it is worthwhile. stale are the positions of resources
	// that the last transformers changed, so their notes do not hold.
	index map[string][]int
	stale []int
}

// stepsBeforeIndex is the number of transformers that go through all notes. Most layers have only
// a few images, and building the index takes longer than that.
const stepsBeforeIndex = 8

// find returns the positions of the resources that may have an image that matches p, in order, and
// false if the caller must go through all resources. The caller must visit the resources that it
// gets, since find forgets that they are stale.
func (n *imageNotes) find(p *imagePattern) ([]int, bool) {
	n.steps++
	key := p.key()
	switch {
	case n.index == nil && (key == "" || n.steps <= stepsBeforeIndex):
		return nil, false
	case key == "":
		n.stale = nil
		all := make([]int, len(n.notes))
		for i := range all {
			all[i] = i
		}
		return all, true
	case n.index == nil:
		n.index, n.stale = map[string][]int{}, nil
		for i := range n.notes {
			if n.notes[i].holds(n.list.At(i)) {
				n.add(i)
			} else {
				n.stale = append(n.stale, i)
			}
		}
	}
	found := slices.Concat(n.index[key], n.stale)
	n.stale = nil
	slices.Sort(found)
	return slices.Compact(found), true
}

// add adds the images of resource i to the index.
func (n *imageNotes) add(i int) {
	for _, image := range n.notes[i].images {
		imageKeys(image, func(key string) {
			if at := n.index[key]; len(at) == 0 || at[len(at)-1] != i {
				n.index[key] = append(at, i)
			}
		})
	}
}

// An imageNote records the images of a resource.
type imageNote struct {
	value  yaml.Value // the value of the resource when it was searched
	images []string
}

// holds reports whether the note is still valid for r.
func (n *imageNote) holds(r *krm.Resource) bool { return n.value.Exists() && n.value.Same(r.Value()) }

// names returns the distinct image names of all resources.
func (n *imageNotes) names() []string {
	if n.known == nil {
		for _, note := range n.notes {
			for _, image := range note.images {
				name, _, _ := SplitImage(image)
				n.known = append(n.known, name)
			}
		}
		slices.Sort(n.known)
		n.known = slices.Compact(n.known)
	}
	return n.known
}
