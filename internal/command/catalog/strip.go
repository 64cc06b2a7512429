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

// An Edit is what becomes of a file.
type Edit struct {
	// Name is the path as messages show it.
	Name string
	path string // without symbolic links
	old  string
	data []byte
}

// Write writes a catalog to dest, and then the files that are edited. Nothing is written if one of them cannot be; each file is replaced as
// a whole, unless it was changed since it was read.
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
				return nil, diag.Errorf(diag.Pos{File: e.Name}, "", "the file was changed meanwhile, and stays as it is")
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

// Strip returns the files whose configurations name the functions that entries list, without these names: nothing else in them changes.
// The entries are those of [Generate] for the same plan. The error joins one for each configuration that has to name its function, or that
// cannot be edited.
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
			errs = append(errs, diag.Errorf(dec.Inline.Pos, "", "%s: %s", nameOf(call), why).Hint("without --strip-providers the catalog is written alone"))
			continue
		}
		if err := mark(files, call, dec.Inline); err != nil {
			errs = append(errs, diag.Errorf(dec.Inline.Pos, "", "%s: what names the function cannot be taken out: %w", nameOf(call), err).
				Hint("take it out by hand, or leave out --strip-providers"))
		}
	}
	var edits []Edit
	for path, f := range files {
		data, err := f.strip()
		if err != nil {
			errs = append(errs, diag.Errorf(diag.Pos{File: f.shown}, "", "what names functions cannot be taken out without changing something else").
				Hint("take it out by hand, or leave out --strip-providers"))
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

// needed says why a configuration has to name its function, although e lists it; "" if it need not.
func needed(in *function.Inline, e *catalog.Entry) string {
	switch {
	case in.Exec != nil && len(in.Exec.Args) > 0:
		return "only the configuration can say the arguments"
	case in.Exec != nil && len(in.Exec.Env) > 0, in.Container != nil && len(in.Container.Env) > 0:
		return "only the configuration can say the environment"
	case in.Container == nil:
		return ""
	case len(in.Container.Mounts) > 0:
		return "only the configuration can say the mounts"
	case in.Container.Network != nil && !*in.Container.Network && e.Container.Network:
		return "it does without the network, which another one of its kind asks for"
	case e.Container.Pin.Digest.IsZero():
		return "the digest of its image is not known, so nothing runs by the catalog"
	}
	return ""
}

// mark marks the configuration of a call in its file, which is read when it is met first.
func mark(files map[string]*configFile, call graph.Call, in *function.Inline) error {
	path, err := filepath.EvalSymlinks(in.Pos.File)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return errors.New("it is in no file of this machine")
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
