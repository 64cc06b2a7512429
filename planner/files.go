package planner

import (
	"path/filepath"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// Files are functions that are called, one after the other, with what the files of one root hold (IM-01). Which may run is decided as for those
// of a layer (IM-13).
type Files struct {
	// Read makes the list of what the files hold.
	Read  graph.Transformer
	Calls []FileCall
}

// A FileCall is one of them.
type FileCall struct {
	// File is the path of the file in which the function is named, and Name which configuration it is if the file has several.
	File, Name string
	// Origin is that place, and Dir the directory that relative paths in the configuration start at, as the root is named.
	Origin graph.Origin
	Dir    string
	// Config is the configuration. Source is a text that it is object Doc of, nil if there is none.
	Config *krm.Resource
	Source *yaml.Source
	Doc    int
	Role   function.Role
	Files  graph.Files
	// ByProgram finds the entry of a catalog by the program or image that the configuration names: its kind says nothing.
	ByProgram bool
	// IfKnown leaves the call out unless a trusted catalog has a function for the kind of Config. Complete, if it is not nil, sets what else there is of
	// the call, when it is one: a directory may have many objects that are none.
	IfKnown  bool
	Complete func(*FileCall)
}

// compileFiles plans f with the root called name.
func (c *compiler) compileFiles(name string, f *Files) {
	b := c.build()
	s := &steps{build: b, k: &kustomizationFile{File: &layerfile.File{}}}
	s.list, s.hasList = s.add(&graph.Node{ID: name, Op: graph.Transform{Transformer: f.Read}, Summary: "the files of " + name}), true
	for i := range f.Calls {
		call := &f.Calls[i]
		if call.IfKnown && !c.trusted.Has(call.Config.ID().GVK) {
			continue
		}
		if call.Complete != nil {
			call.Complete(call)
		}
		dir, err := c.files.Root(call.Dir)
		if err != nil {
			b.Fail(rootError(call.Dir, err))
			continue
		}
		s.dir, s.k.Source, s.prefix, s.label = dir, call.Origin.Source, filepath.ToSlash(call.File), call.Name
		s.functions().fileCall(call)
		dir.Close()
	}
	c.failed(name, b)
	if b.Errs.Len() == 0 {
		c.draft.g.Roots = append(c.draft.g.Roots, graph.Root{Dir: name, Node: s.list})
	}
}

// fileCall decides about a function and appends its call.
func (s functionSteps) fileCall(call *FileCall) {
	e := &entry{path: call.Origin.Path}
	s.function(document{r: call.Config, path: call.Origin.Path, src: call.Source, n: call.Doc, byProgram: call.ByProgram}, call.Role, e)
	if e.call == nil {
		return
	}
	e.call.Files = call.Files
	s.call(e)
}
