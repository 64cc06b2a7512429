package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/trust"
)

// An Edit is the new content of a file.
type Edit struct {
	// Name is the path as messages print it.
	Name string
	path string // without symbolic links
	old  string
	data []byte
}

// Write writes a catalog to dest and then applies the edits. It checks first that all files can
// be written and writes none otherwise. Each file is replaced atomically, unless it was
// modified since it was read.
func Write(dest string, doc []byte, edits []Edit) error {
	for _, path := range append([]string{dest}, paths(edits)...) {
		if err := output.CheckFile(path); err != nil {
			return err
		}
	}
	if err := output.WriteFileAtomic(dest, doc, 0o644); err != nil {
		return err
	}
	for _, e := range edits {
		err := output.EditFile(e.path, 0o666, func(old []byte) ([]byte, error) {
			if string(old) != e.old {
				return nil, diag.Errorf(diag.Pos{File: e.Name}, "", "the file was changed in the meantime and is left as it is")
			}
			return e.data, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func paths(edits []Edit) (list []string) {
	for _, e := range edits {
		list = append(list, e.path)
	}
	return list
}

// Strip returns edits that remove the function references of all configurations whose function
// is listed in entries. Nothing else in the files changes. entries must come from [Generate]
// for the same plan. The error joins one error for each configuration that must keep its
// reference or cannot be edited.
func Strip(g *graph.Graph, decisions map[string]*trust.Decision, entries []*catalog.Entry) ([]Edit, error) {
	var errs []error
	files := map[string]*configFile{}
	for call, n := range g.Calls() {
		dec := decisions[n.ID]
		i := slices.IndexFunc(entries, func(e *catalog.Entry) bool { return e.GVK == gvkOf(call) })
		if dec.Entry != nil || dec.Inline == nil || i < 0 {
			continue
		}
		if why := needed(dec.Inline, entries[i]); why != "" {
			errs = append(errs, diag.Errorf(dec.Inline.Pos, "", "%s: %s", nameOf(call),
				why).Hint("to write only the catalog, leave out --strip-providers"))
			continue
		}
		if err := mark(files, call, dec.Inline); err != nil {
			errs = append(errs, diag.Errorf(dec.Inline.Pos, "", "%s: the name of the function cannot be removed: %w", nameOf(call), err).
				Hint("remove it by hand, or leave out --strip-providers"))
		}
	}
	var edits []Edit
	for path, f := range files {
		data, err := f.strip()
		if err != nil {
			errs = append(errs, diag.Errorf(diag.Pos{File: f.shown}, "",
				"the names of functions cannot be removed without changing something else").
				Hint("remove it by hand, or leave out --strip-providers"))
		}
		edits = append(edits, Edit{f.shown, path, f.text, data})
	}
	slices.SortFunc(edits, func(a, b Edit) int { return strings.Compare(a.path, b.path) })
	return edits, errors.Join(errs...)
}

func gvkOf(call graph.Call) krm.GVK {
	return krm.ParseGVK(call.Config.Get("apiVersion").Text(), call.Config.Get("kind").Text())
}

func nameOf(call graph.Call) string {
	return strings.TrimSuffix(gvkOf(call).String()+"/"+call.Config.Get("metadata").Get("name").Text(), "/")
}

// needed returns the reason why a configuration must keep its function reference although e
// lists the function, or "".
func needed(in *function.Inline, e *catalog.Entry) string {
	switch {
	case in.Exec != nil && len(in.Exec.Args) > 0:
		return "only the configuration can specify the arguments"
	case in.Exec != nil && len(in.Exec.Env) > 0, in.Container != nil && len(in.Container.Env) > 0:
		return "only the configuration can specify the environment"
	case in.Container == nil:
		return ""
	case len(in.Container.Mounts) > 0:
		return "only the configuration can specify the mounts"
	case in.Container.Network != nil && !*in.Container.Network && e.Container.Network:
		return "it does not use the network, but a different configuration of its kind does"
	case e.Container.Pin.Digest.IsZero():
		return "the digest of its image is not known, so the catalog cannot run it"
	}
	return ""
}

// mark marks the configuration of a call in its file. It reads each file once.
func mark(files map[string]*configFile, call graph.Call, in *function.Inline) error {
	path, err := filepath.EvalSymlinks(in.Pos.File)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return errors.New("it is not in a local file")
	}
	f := files[path]
	if f == nil {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f = readConfigs(in.Pos.File, string(data))
		files[path] = f
	}
	return f.mark(call, in)
}
