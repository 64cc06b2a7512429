package planner

import (
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/composition"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// A kustomizationFile is the file that makes a directory a layer.
type kustomizationFile struct {
	*layerfile.File
	// errs are the mistakes in the file itself. The valid parts are planned nevertheless, to find
	// further mistakes.
	errs diag.Mistakes
	// composed is the consolidated Composition, nil for a Kustomization or Component.
	composed *composition.List
}

// load reads the kustomization file of dir. It returns nil after recording the error if there is
// no usable file.
func (b *build) load(dir *loaders.Dir, from *reference) *kustomizationFile {
	if b.part != nil && len(b.stack) == 0 {
		return b.loadPart(dir)
	}
	if k := b.c.kusts[dir.Key()]; k != nil {
		b.Errs.AddOnce(k.errs)
		return k
	}
	src, composition, err := layerfile.Find(b.c.files, dir)
	if err != nil {
		if from != nil {
			b.ErrorAt(from.src, from.path, layerfile.InDirectory(dir, err))
		} else {
			b.Fail(rootError(layerfile.ErrorName(dir, err), err))
		}
		return nil
	}
	b.progress(graph.Origin{Source: src})
	before := b.Errs.Len()
	var k *kustomizationFile
	if composition {
		k = &kustomizationFile{File: &layerfile.File{Source: src}, composed: b.c.compositions.Consolidate(dir, src, b.schema, b.Reporter)}
		k.Kind = layerfile.CompositionKind
	} else if f := layerfile.Decode(src, b.c.ahead.Kustomization(src), b.Reporter); f != nil {
		k = &kustomizationFile{File: f}
		if b.Errs.Len() == before && f.Empty() {
			b.Fail(diag.Errorf(diag.Pos{File: src.File, Line: 1}, "", "the %s is empty",
				f.Kind).With(diag.EmptyFile).Hint("list files under resources:, or create one with krmflow create --autodetect"))
		}
	}
	if k != nil {
		k.errs = b.Errs.Since(before)
		b.c.kusts[dir.Key()] = k
	}
	return k
}
