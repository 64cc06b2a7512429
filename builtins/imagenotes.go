package builtins

import (
	"slices"
	"sync/atomic"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// ChainImages makes each of several transformers pass on what it has seen to the next one, if that gets the same list. All must have the
// same FieldSpecs.
func ChainImages(ts []*ImageTagTransformer) {
	for i := range ts[:max(0, len(ts)-1)] {
		ts[i].after = new(imageMail)
		ts[i+1].before = ts[i].after
	}
}

// An imageMail holds notes until the next transformer takes them. It is safe for concurrent use; a nil one is always empty.
type imageMail struct{ notes atomic.Pointer[imageNotes] }

// take returns the notes on list, empty ones if there are none or they are on another one.
func (m *imageMail) take(list *krm.List) *imageNotes {
	if m != nil {
		if notes := m.notes.Swap(nil); notes != nil && notes.list == list && len(notes.notes) == list.Len() {
			return notes
		}
	}
	return &imageNotes{list: list, notes: make([]imageNote, list.Len())}
}

// put leaves notes for the next one.
func (m *imageMail) put(notes *imageNotes) {
	if m != nil {
		m.notes.Store(notes)
	}
}

// imageNotes are the images that a transformer has seen in the resources of a list. A layer has a transformer for each
// image and most have nothing to do with most resources: the second one need not search them again.
type imageNotes struct {
	list  *krm.List
	notes []imageNote // by position
	known []string    // the names of the images, each once; nil when they have changed
}

// An imageNote says which images a resource has.
type imageNote struct {
	value  yaml.Value // of the resource
	images []string
}

// holds reports whether the note is about r as it is.
func (n *imageNote) holds(r *krm.Resource) bool { return n.value.Exists() && n.value.Same(r.Value()) }

// names returns the names of the images of all resources, each once.
func (n *imageNotes) names() []string {
	if n.known == nil {
		for _, note := range n.notes {
			for _, image := range note.images {
				name, _, _ := splitImage(image)
				n.known = append(n.known, name)
			}
		}
		slices.Sort(n.known)
		n.known = slices.Compact(n.known)
	}
	return n.known
}
