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

// A Naming determines the form of paths in output. They are relative to Dir, or absolute if Dir
// is empty.
type Naming struct{ Dir string }

// Name returns the output form of an absolute path.
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

// Line returns a name for output on a line of its own. It quotes names with control characters,
// which could break the line or control the terminal.
func Line(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(name)
	}
	return name
}

// WriteList writes one line for each input of the roots: the kind, a tab, and the path. For
// remote inputs the line has the reference, a tab and the version. An input of several roots is
// listed once.
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

// WriteJSON writes the inputs of the roots as one JSON object.
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

// generatePaths is the Argo CD annotation that lists the paths an Application depends on.
const generatePaths = "argocd.argoproj.io/manifest-generate-paths"

// WriteArgoCD writes, for each root, the annotation that makes Argo CD render an Application
// again when an input changes. The paths are the directories of layers and all inputs outside of
// them. "." is the directory of the root, for an Application that of its first source; paths
// outside of it start with a slash, which means the top of the repository. The file of an
// Application is not listed, because Argo CD reads the object. WriteArgoCD returns the inputs
// outside of the repository, whose changes Argo CD does not see.
func WriteArgoCD(w io.Writer, roots []Root, cwd string) (outside []string, err error) {
	for _, r := range roots {
		dir := r.Dir
		switch {
		case r.Object == "":
		case r.Object != "Application":
			e := diag.AsError(diag.Unsupported.Errorf("%s has no annotation for paths: only Argo CD reads it", r.Dir))
			return nil, e.Hint("use -o list or -o json, or select Applications: --only 'Application/*'")
		case len(r.Sources) == 0:
			e := diag.AsError(diag.NotReadable.Errorf("%s renders no directory of this machine", r.Dir))
			return nil, e.Hint("map its repository to a directory: --source URL=DIR")
		default:
			dir = r.Sources[0]
			r.Dirs = append(slices.Clone(r.Sources[1:]), r.Dirs...)
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cwd, dir)
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, diag.NotReadable.Errorf("%s is not a local directory: Argo CD renders only directories in a repository", r.Dir)
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

// argoPaths returns the paths of a root in the directory real. named is the directory before
// symbolic links are resolved. "." refers to named only, because Argo CD does not resolve the
// link; if they differ, real is listed as well.
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
	for _, dir := range r.Dirs { // sorted: parents come first
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

// files returns the files and links among the inputs, including the contents of folders, and the
// folders themselves.
func files(r Root) (all []string) {
	c := &collector{}
	for _, in := range r.Inputs {
		switch in.Kind {
		case File, Link:
			all = append(all, in.Path)
		case Folder:
			// The modification time of a folder changes when entries are added or removed.
			all = append(all, in.Path)
			c.walk(in.Path, func(path string, _ fs.DirEntry) { all = append(all, path) })
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
