// Package localize implements krmflow localize, which copies a kustomization root and
// everything that it refers to into a new directory without remote references. The directory
// layout follows kustomize localize. Files are copied unchanged; in kustomization files only
// the necessary references change.
package localize

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/krmflow/krmflow/planner/report"
	"github.com/krmflow/krmflow/reference"
)

// Options select the source and destination of the copy.
type Options struct {
	// Target is the root: a directory, or a reference to a repository with a ref.
	Target string
	// Scope is the directory that contains all local files of the root. The default is the root
	// itself. The scope of a remote root is its repository.
	Scope string
	// Dest is the new directory; its parent must exist. The default is "localized-" and the
	// name of the root, plus the ref of a remote root, in the working directory.
	Dest string
}

// A copier copies layers to a staging directory, which is finally renamed to the destination.
type copier struct {
	files *loaders.Local
	scope string // scope of local layers, absolute and without symbolic links
	out   *os.Root
	state map[string]bool   // layers by place: true while being copied, then false
	from  map[string]string // source of each file, by place
}

// Run creates the copy and returns its path and the path of the root in it. On error it removes
// the partial copy.
func Run(files *loaders.Local, o Options) (dest, root string, err error) {
	target, err := files.Root(o.Target)
	if loaders.IsRemote(o.Target) {
		if err := hasVersion(o.Target); err != nil {
			return "", "", err
		}
		target, err = files.FetchDir(nil, o.Target)
	}
	if err != nil {
		return "", "", err
	}
	defer target.Close()
	scope, place, err := within(files, o, target)
	if err != nil {
		return "", "", err
	}
	if dest = o.Dest; dest == "" {
		dest = name(o.Target, target)
	}
	dest = filepath.Clean(dest)
	if _, err := os.Lstat(dest); err == nil {
		return "", "", fmt.Errorf("%s exists: the copy needs a new directory", dest)
	}
	staging, err := os.MkdirTemp(filepath.Dir(dest), ".krmflow-localize-")
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", diag.Errorf(diag.Pos{}, "", "%s cannot be created: the directory %s does not exist", dest,
			filepath.Dir(dest)).Hint("create it first")
	}
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(staging)
	out, err := os.OpenRoot(staging)
	if err != nil {
		return "", "", err
	}
	defer out.Close()
	c := &copier{files: files, scope: scope, out: out, state: map[string]bool{}, from: map[string]string{}}
	if err := c.layer(target, place); err != nil {
		return "", "", err
	}
	if err := os.Chmod(staging, 0o755); err != nil {
		return "", "", err
	}
	if err := os.Rename(staging, dest); err != nil {
		return "", "", err
	}
	return dest, filepath.Join(dest, place), nil
}

// within returns the scope, and the path of the target relative to it.
func within(files *loaders.Local, o Options, target *loaders.Dir) (scope, place string, err error) {
	if target.IsFetched() {
		if o.Scope != "" {
			return "", "", errors.New("--scope is for local directories: the scope of a remote directory is its repository")
		}
		_, _, place := target.Repo()
		return "", filepath.FromSlash(place), nil
	}
	if o.Scope == "" {
		return target.Real, ".", nil
	}
	dir, err := files.Root(o.Scope)
	if err != nil {
		return "", "", fmt.Errorf("--scope: %w", err)
	}
	defer dir.Close()
	if !dir.Contains(target) {
		return "", "", fmt.Errorf("--scope: %s does not contain %s", o.Scope, target.Name)
	}
	place, err = filepath.Rel(dir.Real, target.Real)
	return dir.Real, place, err
}

// name returns the default name of the copy of a target.
func name(text string, target *loaders.Dir) string {
	const prefix = "localized"
	if !target.IsFetched() {
		if base := filepath.Base(target.Real); base != string(filepath.Separator) {
			return prefix + "-" + base
		}
		return prefix
	}
	r, _ := reference.Parse(text, reference.Dir)
	_, _, place := target.Repo()
	base := filepath.Base(filepath.FromSlash(place))
	if place == "." {
		base = filepath.Base(strings.TrimRight(r.Location, "/"))
	}
	return strings.Join([]string{prefix, base, strings.ReplaceAll(versionOf(r), "/", "-")}, "-")
}

// versionOf returns the version of a reference: its ref or else its pin.
func versionOf(r reference.Reference) string {
	if r.Ref == "" && !r.Pin.IsZero() {
		return r.Pin.String()
	}
	return r.Ref
}

// hasVersion returns an error for a reference without a version: a copy must be of one specific
// version.
func hasVersion(text string) error {
	r, err := reference.Parse(text, reference.Dir)
	if err == nil && versionOf(r) == "" {
		err = diag.Errorf(diag.Pos{}, "", "%q has no ref",
			diag.Redact(text)).Hint("a copy needs one version: add ?ref= with a tag, a branch or a commit")
	}
	return err
}

// layer copies the layer in d to a place. A layer that is referenced several times is copied
// once.
func (c *copier) layer(d *loaders.Dir, place string) error {
	if busy, known := c.state[place]; known {
		if busy {
			return fmt.Errorf("%s refers to itself", d.Name)
		}
		return nil
	}
	c.state[place] = true
	defer func() { c.state[place] = false }()
	src, composition, err := layerfile.Find(c.files, d)
	switch {
	case err != nil:
		return err
	case composition:
		return diag.Errorf(diag.Pos{File: src.File, Line: 1},
			"", "a Composition cannot be localized").Hint("'krmflow vendor' copies the remote content that it refers to")
	}
	doc, err := inplace.Parse(src.File, src.Data, edit.Fields)
	if err != nil {
		return err
	}
	l := &layer{copier: c, dir: d, place: place, src: src}
	v := l.kustomization(doc.Value())
	if err := errors.Join(l.errs...); err != nil {
		return err
	}
	if doc, err = doc.With(v); err != nil {
		return err
	}
	return c.write(filepath.Join(place, filepath.Base(src.File)), doc.Text(), src.File)
}

// write writes a file. Two remote addresses may map to the same place; their contents must then
// be equal.
func (c *copier) write(place string, data []byte, from string) error {
	if first, known := c.from[place]; known {
		there, err := c.out.ReadFile(place)
		if err == nil && string(there) != string(data) {
			err = fmt.Errorf("%s and %s differ, and would both be copied to %s", first, from, place)
		}
		return err
	}
	c.from[place] = from
	if err := c.out.MkdirAll(filepath.Dir(place), 0o777); err != nil {
		return err
	}
	return c.out.WriteFile(place, data, 0o666)
}

// A layer is a layer during the copy. Its methods return replacements for the values of its
// kustomization file.
type layer struct {
	*copier
	dir   *loaders.Dir
	place string // destination
	src   *yaml.Source
	errs  []error
}

// folder is the directory next to a kustomization file that receives copies of remote content.
const folder = "localized-files"

// localFolder returns the path for a copy of remote content.
func (l *layer) localFolder(parts ...string) (string, error) {
	if l.files.IsDir(l.dir, folder) {
		return "", fmt.Errorf("the directory already has a %s, which the copy needs for remote content", folder)
	}
	return filepath.Join(append([]string{folder}, parts...)...), nil
}

// root copies the layer of an entry and returns the path of the copy.
func (l *layer) root(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	d, err := l.files.Sub(l.dir, text)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return l.copied(d, text)
}

// copied copies the layer in d, which text refers to, and returns the path of the copy.
func (l *layer) copied(d *loaders.Dir, text string) (path string, err error) {
	switch {
	case loaders.IsRemote(text):
		if err := hasVersion(text); err != nil {
			return "", err
		}
		_, _, inside := d.Repo()
		if path, err = l.localFolder(repository(text), filepath.FromSlash(inside)); err != nil {
			return "", err
		}
	case !l.dir.IsFetched() && !diag.Within(d.Real, l.scope):
		return "", diag.Errorf(diag.Pos{}, "", "%q is outside of %s, the scope of the copy", text,
			l.files.Name(l.scope)).Hint("set --scope to a directory that contains all files to copy")
	default:
		if path, err = filepath.Rel(l.dir.Real, d.Real); err != nil {
			return "", err
		}
	}
	return path, l.copier.layer(d, filepath.Join(l.place, path))
}

// repository returns the directory for a repository, archive or artifact: host, path and
// version.
func repository(text string) string {
	r, err := reference.Parse(text, reference.Dir)
	if err != nil {
		return loaders.FolderOf(text) // it was opened, so its form is valid
	}
	location := r.Location
	scheme, rest, ok := strings.Cut(location, "://")
	switch {
	case ok && scheme == "file":
		rest = "file-schemed/" + rest
	case !ok:
		rest = strings.Replace(location, ":", "/", 1) // host:path, the ssh form
	}
	host, path, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	host, _, _ = strings.Cut(host, ":")
	path = filepath.Clean("/" + strings.TrimSuffix(path, ".git"))
	return filepath.Join(host, path, strings.ReplaceAll(versionOf(r), ":", "-"))
}

// resource copies the file or layer of an entry in resources.
func (l *layer) resource(text string) (string, error) {
	if !loaders.IsRemote(text) {
		if l.files.IsDir(l.dir, text) {
			return l.root(text)
		}
		return l.file(text)
	}
	d, src, err := l.files.FetchAny(l.dir, text)
	switch {
	case err != nil:
		return "", err
	case src != nil:
		return l.remoteFile(text, src)
	}
	defer d.Close()
	return l.copied(d, text)
}

// file copies the file of an entry and returns the path of the copy. An empty entry is left as
// it is: the build reports it if it must not be empty.
func (l *layer) file(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	src, err := l.files.Read(l.dir, text)
	switch {
	case err != nil:
		return "", err
	case loaders.IsRemoteFile(text):
		return l.remoteFile(text, src)
	}
	return l.localFile(text, src.Data)
}

// localFile writes a file to its location in the layer after links are resolved. The copy
// contains no links.
func (l *layer) localFile(text string, data []byte) (string, error) {
	place, err := l.files.Place(l.dir, text)
	if err != nil {
		return "", err
	}
	return place, l.write(filepath.Join(l.place, place), data, text)
}

func (l *layer) remoteFile(text string, src *yaml.Source) (string, error) {
	r, err := reference.Parse(text, reference.File)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(r.Location, "://")
	host, path, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	host, _, _ = strings.Cut(host, ":")
	path, _, _ = strings.Cut(path, "?")
	place, err := l.localFolder(host, filepath.Clean("/"+path), filepath.FromSlash(r.Path))
	if err != nil {
		return "", err
	}
	return place, l.write(filepath.Join(l.place, place), src.Data, diag.Redact(text))
}

// fileSource is file for KEY=PATH. The default key is the file name; it becomes explicit if the
// copy has a different name.
func (l *layer) fileSource(text string) (string, error) {
	key, path, keyed := strings.Cut(text, "=")
	if !keyed {
		key, path = filepath.Base(text), text
	}
	path, err := l.file(path)
	if !keyed && filepath.Base(path) == key {
		return path, err
	}
	return key + "=" + path, err
}

// patch is file for an entry that may be an inline patch.
func (l *layer) patch(text string) (string, error) {
	if layerfile.PatchPath(text) == "" {
		return text, nil
	}
	return l.file(text)
}

// charts copies the chart directory, if it exists.
func (l *layer) charts(text string) (string, error) {
	dir := text
	if dir == "" {
		dir = "charts"
	}
	if filepath.IsAbs(dir) {
		return "", fmt.Errorf("%q is absolute: it is not copied", dir)
	}
	d, err := l.files.Sub(l.dir, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return text, nil
	}
	if err != nil {
		return "", err
	}
	defer d.Close()
	if !l.dir.IsFetched() && !diag.Within(d.Real, l.scope) {
		return "", fmt.Errorf("%q is outside of %s, the scope of the copy", dir, l.files.Name(l.scope))
	}
	place, err := filepath.Rel(l.dir.Real, d.Real)
	if err != nil {
		return "", err
	}
	if filepath.Clean(dir) == "charts" {
		place = "charts" // keep the default name, even of a link
	}
	names, err := l.files.Files(d)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		src, err := l.files.Read(d, name)
		if err == nil {
			err = l.write(filepath.Join(l.place, place, name), src.Data, src.File)
		}
		if err != nil {
			return "", err
		}
	}
	if text == "" {
		place = ""
	}
	return place, nil
}

func (l *layer) fail(err error, path ...any) {
	l.errs = append(l.errs, report.Placed(l.src, path, err))
}
