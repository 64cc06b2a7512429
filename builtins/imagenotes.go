package builtins

import (
	"slices"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// imageNotes are the images that a transformer has seen in the resources of a list. A layer has a transformer for each
// image and most have nothing to do with most resources: the second one need not search them again.
type imageNotes struct {
	fields *fieldSet // those that were searched besides all containers
	notes  []imageNote
	images []string
	known  []string // the names of the images, each once; nil when they have changed
}

// An imageNote says which part of images a resource has.
type imageNote struct {
	value      yaml.Value // of the resource
	start, end int
}

// imageNotesOf returns the notes on list that a transformer of the same fields has left, or empty ones.
func imageNotesOf(list *krm.List, fields *fieldSet) *imageNotes {
	n, ok := list.Notes.(*imageNotes)
	if !ok || n.fields != fields || len(n.notes) != list.Len() {
		n = &imageNotes{fields: fields, notes: make([]imageNote, list.Len())}
		list.Notes = n
	}
	return n
}

// of returns the images of r, which is at position i, and whether they are known.
func (n *imageNotes) of(i int, r *krm.Resource) ([]string, bool) {
	note := n.notes[i]
	return n.images[note.start:note.end], note.value.Exists() && note.value.Same(r.Value())
}

// names returns the names of the images of all resources, each once.
func (n *imageNotes) names() []string {
	if n.known == nil {
		for _, note := range n.notes {
			for _, image := range n.images[note.start:note.end] {
				name, _, _ := splitImage(image)
				n.known = append(n.known, name)
			}
		}
		slices.Sort(n.known)
		n.known = slices.Compact(n.known)
	}
	return n.known
}

func (n *imageNotes) set(i int, r *krm.Resource, images []string) {
	start := len(n.images)
	n.images = append(n.images, images...)
	n.notes[i] = imageNote{r.Value(), start, len(n.images)}
	n.known = nil
}
