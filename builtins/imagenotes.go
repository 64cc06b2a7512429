package builtins

import "github.com/krmflow/krmflow/krm"

// imageNotes are the images that a transformer has seen in the resources of a list. A layer has a transformer for each
// image and most have nothing to do with most resources: the second one need not search them again.
type imageNotes struct {
	fields *fieldSet // those that were searched besides all containers
	notes  []imageNote
	images []string
}

// An imageNote says which part of images a resource has.
type imageNote struct {
	value      krm.Value // of the resource
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

func (n *imageNotes) set(i int, r *krm.Resource, images []string) {
	start := len(n.images)
	n.images = append(n.images, images...)
	n.notes[i] = imageNote{r.Value(), start, len(n.images)}
}
