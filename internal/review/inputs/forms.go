package inputs

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders"
)

// Version is the apiVersion of the JSON form.
const Version = "krmflow.dev/v1alpha1"

// A Naming says how paths are shown: relative to a directory, or absolute if that is empty.
type Naming struct{ Dir string }

// Name returns a path as it is shown.
func (n Naming) Name(path string) string {
	if n.Dir == "" {
		return path
	}
	rel, err := filepath.Rel(n.Dir, path)
	if err != nil {
		return path
	}
	return rel
}

// Line returns a name that stands in a line of its own: in quotation marks if it would not end there otherwise, or changes what a terminal shows.
func Line(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(name)
	}
	return name
}

// WriteList writes a line for each input of the roots: what it is, a tab, and its path, or the reference and its version. What several roots
// read is there once.
func WriteList(w io.Writer, roots []Root, n Naming) error {
	lines := map[string]bool{}
	for _, r := range roots {
		for _, in := range r.Inputs {
			lines[string(in.Kind)+"\t"+Line(n.Name(in.Path))] = true
		}
		for _, remote := range r.Remote {
			lines["remote\t"+Line(remote.Reference)+"\t"+Line(remote.Version)] = true
		}
	}
	all := slices.Sorted(maps.Keys(lines))
	var b strings.Builder
	for _, kind := range []Kind{File, Link, Folder, "remote", Absent} {
		for _, text := range all {
			if strings.HasPrefix(text, string(kind)+"\t") {
				b.WriteString(text + "\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rootDoc is the JSON form of a root.
type rootDoc struct {
	Root    string   `json:"root"`
	Files   []string `json:"files"`
	Links   []string `json:"links,omitempty"`
	Folders []string `json:"folders,omitempty"`
	Absent  []string `json:"absent,omitempty"`
	Remote  []Remote `json:"remote,omitempty"`
	Failed  bool     `json:"failed,omitempty"`
}

// WriteJSON writes the inputs of the roots as one object.
func WriteJSON(w io.Writer, roots []Root, n Naming) error {
	doc := struct {
		APIVersion string    `json:"apiVersion"`
		Kind       string    `json:"kind"`
		Roots      []rootDoc `json:"roots"`
	}{Version, "Inputs", []rootDoc{}}
	for _, r := range roots {
		d := rootDoc{Root: diag.JSONName(r.Dir), Files: []string{}, Remote: r.Remote, Failed: r.Failed}
		for _, in := range r.Inputs {
			name := diag.JSONName(filepath.ToSlash(n.Name(in.Path)))
			switch in.Kind {
			case File:
				d.Files = append(d.Files, name)
			case Link:
				d.Links = append(d.Links, name)
			case Folder:
				d.Folders = append(d.Folders, name)
			case Absent:
				d.Absent = append(d.Absent, name)
			}
		}
		doc.Roots = append(doc.Roots, d)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}

// generatePaths is the annotation of an Application that says changes of which files concern it.
const generatePaths = "argocd.argoproj.io/manifest-generate-paths"

// WriteArgoCD writes the annotation that makes Argo CD render an Application of a root again when an input has changed: directories of layers,
// and what else is read by itself. The directory of the root is ".", what is elsewhere begins with a slash at the top of the repository. It returns
// the inputs that lie outside of the repository: Argo CD does not see them.
func WriteArgoCD(w io.Writer, roots []Root, cwd string) (outside []string, err error) {
	for _, r := range roots {
		dir := r.Dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cwd, dir)
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, diag.NotReadable.Errorf("%s is no directory of this machine: it has no place in a repository that Argo CD renders", r.Dir)
		}
		paths, out, err := argoPaths(r, real, filepath.Clean(dir))
		if err != nil {
			return nil, err
		}
		outside = append(outside, out...)
		if len(roots) > 1 {
			if _, err := fmt.Fprintf(w, "# %s\n", Line(r.Dir)); err != nil {
				return nil, err
			}
		}
		value := strings.Join(paths, ";")
		if strings.ContainsFunc(value, func(r rune) bool {
			return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("./;_-", r)
		}) {
			quoted, _ := json.Marshal(value) // never fails for a string
			value = string(quoted)
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", generatePaths, value); err != nil {
			return nil, err
		}
	}
	slices.Sort(outside)
	return slices.Compact(outside), nil
}

// argoPaths returns the paths of a root in the directory real. Where it is named by a symbolic link, "." is that alone for Argo CD.
func argoPaths(r Root, real, named string) (paths, outside []string, err error) {
	top := real
	for !loaders.IsRepository(top) {
		up := filepath.Dir(top)
		if up == top {
			top = ""
			break
		}
		top = up
	}
	covered := []string{named}
	add := func(path string) {
		if slices.ContainsFunc(covered, func(dir string) bool { return diag.Within(path, dir) }) {
			return
		}
		if top != "" && !diag.Within(path, top) {
			outside = append(outside, path)
			return
		}
		covered = append(covered, path)
	}
	for _, dir := range r.Dirs { // sorted: what is above comes first
		add(dir)
	}
	for _, in := range r.Inputs {
		add(in.Path)
	}
	for _, path := range covered[1:] {
		if top == "" {
			path, err = filepath.Rel(real, path)
		} else if path, err = filepath.Rel(top, path); err == nil {
			path = "/" + strings.TrimPrefix(path, ".")
		}
		switch {
		case err != nil:
		case strings.Contains(path, ";"):
			err = diag.BadValue.Errorf("%s: the annotation %s cannot name it, because ; separates its paths", Line(path), generatePaths)
		case !utf8.ValidString(path):
			err = diag.BadValue.Errorf("%s: the annotation %s cannot name it, because it is not UTF-8", Line(path), generatePaths)
		}
		if err != nil {
			return nil, nil, err
		}
		paths = append(paths, filepath.ToSlash(path))
	}
	slices.Sort(paths)
	return append([]string{"."}, paths...), outside, nil
}

// files returns the files and links that are below folders, too.
func files(r Root) (all []string) {
	c := &collector{}
	for _, in := range r.Inputs {
		switch in.Kind {
		case File, Link:
			all = append(all, in.Path)
		case Folder:
			all = append(all, in.Path) // which is newer when something came or went
			c.walk(in.Path, func(path string, _ fs.DirEntry) { all = append(all, path) })
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
