package planner

import (
	"path/filepath"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// Files are functions that run one after the other on the content of one root's files (IM-01).
// The same rules as for the functions of a layer decide which may run (IM-13).
type Files struct {
	// Read creates the list from the content of the files.
	Read  graph.Transformer
	Calls []FileCall
}

// A FileCall is one of these function calls.
type FileCall struct {
	// File is the path of the file that configures the function. Name identifies the
	// configuration if the file has several.
	File, Name string
	// Origin is the position of the configuration. Dir is the directory that its relative paths
	// start at, spelled like the root.
	Origin graph.Origin
	Dir    string
	// Config is the configuration. Source is the text that contains it as object Doc, nil if
	// there is none.
	Config *krm.Resource
	Source *yaml.Source
	Doc    int
	Role   function.Role
	Files  graph.Files
	// ByProgram selects the catalog entry by the program or image in the configuration. Its kind
	// does not identify the function.
	ByProgram bool
	// IfKnown skips the call unless a trusted catalog has a function for the kind of Config.
	// Complete, if not nil, then sets the remaining fields of calls that are kept: a directory
	// may contain many objects that do not configure a function.
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

// fileCall decides whether a function may run and appends its call.
func (s functionSteps) fileCall(call *FileCall) {
	e := &entry{path: call.Origin.Path}
	s.function(document{r: call.Config, path: call.Origin.Path, src: call.Source, n: call.Doc, byProgram: call.ByProgram}, call.Role, e)
	if e.call == nil {
		return
	}
	e.call.Files = call.Files
	s.call(e)
}
