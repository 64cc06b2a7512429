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
