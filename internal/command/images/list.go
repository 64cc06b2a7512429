package images

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
)

// Version is the apiVersion of the JSON forms. New fields may be added within a version; existing
// fields are never renamed and keep their meaning.
const Version = "krmflow.dev/v1alpha1"

// A usage is a use of an image in the list of a root.
type usage struct {
	use
	root graph.Root
	r    *krm.Resource
	at   int // index of the resource in the list
	// shown is the image for display. space and name identify the resource. Values of Secrets and
	// passwords in addresses are hidden.
	shown, space, name string
	pos                diag.Pos // place that sets the image
}

// collect renders the roots of a run and returns all uses of images, sorted by image, root and
// position. It determines places only for the JSON form, because they need a history of the root.
func (c *listing) collect(cmd *cobra.Command, run *engine.Run) (found []usage, failed error) {
	failed = run.Plan().Err()
	hooks := engine.Hooks{}
	places := &locator{plan: run.Plan()}
	for range run.Plan().Graph.Calls() {
		if c.form != "json" {
			break
		}
		// The lists after a function cannot be computed again, so the run records them.
		places.lists = &history.Recorder{}
		hooks.Made = func(n *graph.Node, list *krm.List) {
			c.Used.Made.Add(history.Worth(list))
			places.lists.Made(n, list)
		}
		break
	}
	for result, err := range run.Results(cmd.Context(), hooks) {
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		found = append(found, usesIn(result.Root, result.List)...)
	}
	slices.SortStableFunc(found, func(a, b usage) int {
		return cmp.Or(strings.Compare(a.root.Dir, b.root.Dir), cmp.Compare(a.at, b.at))
	})
	if c.form == "json" {
		for i := range found {
			found[i].pos = places.place(&found[i])
		}
	}
	slices.SortStableFunc(found, func(a, b usage) int { return strings.Compare(a.shown, b.shown) })
	return found, failed
}

// usesIn returns the uses of images in the list of a root.
func usesIn(root graph.Root, list *krm.List) (found []usage) {
	hide := secret.NewSet(list.AddSecrets)
	for i, r := range list.All() {
		for _, u := range find(r.Value()) {
			id := r.ID()
			one := usage{use: u, root: root, r: r, at: i, shown: secret.HideAddresses(hide.Hide(u.image)), name: hide.Name(id.Name)}
			if !id.Cluster && id.Namespace != krm.ClusterScope {
				one.space = hide.Name(id.Namespace)
			}
			found = append(found, one)
		}
	}
	return found
}

// writeText writes a table of images with the number of uses of each.
func writeText(w io.Writer, found []usage) error {
	if len(found) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "IMAGE\tUSES")
	for uses := range chunks(found) {
		fmt.Fprintf(t, "%s\t%d\n", diag.Sanitise(diag.OneLine(uses[0].shown)), len(uses))
	}
	return t.Flush()
}

// chunks yields the uses of each image. found must be sorted by image.
func chunks(found []usage) func(yield func([]usage) bool) {
	return func(yield func([]usage) bool) {
		for len(found) > 0 {
			n := 1
			for n < len(found) && found[n].shown == found[0].shown {
				n++
			}
			if !yield(found[:n]) {
				return
			}
			found = found[n:]
		}
	}
}

// The JSON form of a list of images, documented in docs/review.md.
type (
	listDoc struct {
		APIVersion string     `json:"apiVersion"`
		Kind       string     `json:"kind"`
		Images     []imageDoc `json:"images"`
	}
	imageDoc struct {
		name
		Uses []useDoc `json:"uses"`
	}
	useDoc struct {
		Root string `json:"root"`
		resourceDoc
		Container string `json:"container,omitempty"`
		Field     string `json:"field"`
		File      string `json:"file,omitempty"`
		Line      int    `json:"line,omitempty"`
	}
	resourceDoc struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace,omitempty"`
		Name       string `json:"name"`
	}
)

// writeJSON writes the JSON form.
func writeJSON(w io.Writer, found []usage) error {
	doc := listDoc{APIVersion: Version, Kind: "Images", Images: []imageDoc{}}
	for uses := range chunks(found) {
		image := imageDoc{name: nameOf(uses[0].shown)}
		for _, u := range uses {
			id := u.r.ID()
			one := useDoc{Root: diag.JSONName(u.root.Dir), resourceDoc: resourceDoc{id.APIVersion(), id.Kind, u.space, u.name},
				Container: u.container, Field: u.field(), Line: u.pos.Line}
			if u.pos.File != "" {
				one.File = diag.JSONName(u.pos.File)
			}
			image.Uses = append(image.Uses, one)
		}
		doc.Images = append(doc.Images, image)
	}
	return encode(diag.SanitisingWriter(w), doc)
}

func encode(w io.Writer, doc any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}

// A locator finds the places that set images.
type locator struct {
	plan  *planner.Plan
	lists *history.Recorder // nil if the plan calls no functions
	files history.Files
	// history is the history of one root. Uses are sorted by root, so one history at a time is
	// sufficient. All histories together can take more memory than the run.
	history *history.History
	root    graph.Root
}

// place returns the place that sets an image: the field in the file of the resource if it has this
// image, else the last step that changed the field, or the part of the step's configuration that
// made the change. Without changes, it is the start of the resource.
func (l *locator) place(u *usage) diag.Pos {
	if l.files == nil {
		l.files = history.FilesOf(l.plan)
	}
	pos, _, ok := l.files.InFile(u.r, func(doc yaml.Value) ([]any, bool) {
		at, there, whole := history.Follow(u.r.Value(), doc, u.path)
		return at, whole && there.Text() == u.image
	})
	if ok {
		return pos
	}
	if l.history == nil || l.root != u.root {
		l.history, l.root = nil, u.root // release the old history before creating the new one
		if l.lists != nil {
			l.history = l.lists.Of(l.plan.Graph, u.root)
		} else {
			l.history = history.Replay(l.plan.Graph, u.root)
		}
	}
	if list := l.history.Result(); list == nil || u.at >= list.Len() {
		return u.r.Pos
	}
	changes := history.FieldOf(l.history.Steps(u.at), u.path)
	if len(changes) == 0 {
		return u.r.Pos
	}
	pos, _ = l.files.Place(changes[len(changes)-1])
	return pos
}
