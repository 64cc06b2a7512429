package roots

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/composition"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// read concurrently reads the files that decide whether each layer is a root.
func (s *search) read() error {
	if s.haveRead {
		return nil
	}
	s.haveRead = true
	var next atomic.Int64
	var done sync.WaitGroup
	work := func() {
		for s.ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(s.layers) {
				return
			}
			if l := s.layers[i]; !l.given && !l.object {
				s.readLayer(l)
			}
		}
	}
	for range min(s.Jobs, len(s.layers)) - 1 {
		done.Go(work)
	}
	work()
	done.Wait()
	return context.Cause(s.ctx)
}

// readLayer reads the files of a layer. A file that cannot be read or parsed makes the layer a
// root, so that planning reports the error.
func (s *search) readLayer(l *layer) {
	uses := s.Leaves || s.readUses
	for _, at := range l.files {
		if at.Traits&LayerRead != 0 && !uses {
			l.root = l.root || at.Traits&MakesRoot != 0
			continue
		}
		name, before := at.Name, l.root
		l.root = false
		file := filepath.Join(l.dir, name)
		data, err := s.readFile(file, layerfile.MaxSize)
		src := &yaml.Source{File: file, Data: data}
		switch {
		case slices.Contains(layerfile.CompositionNames, name):
			if err == nil && layerfile.IsComposition(src) {
				l.root = true
				if uses {
					l.uses = append(l.uses, composition.Uses(src, func(path string) *yaml.Source { return s.file(l, path) })...)
				}
			}
		case err != nil:
			l.root = true
		case uses:
			v, err := src.Value()
			l.root = err != nil || v.Get("kind").Text() != "Component"
			l.uses = append(l.uses, layerfile.Uses(v)...)
			if s.readUses {
				l.names = texts(l.names, v)
			}
		default:
			l.root = !isComponent(src)
		}
		if err == nil {
			at.Traits = at.Traits&^MakesRoot | LayerRead
			if l.root {
				at.Traits |= MakesRoot
			}
		}
		l.root = l.root || before
	}
}

// texts appends the short texts in a value.
func texts(to []string, v yaml.Value) []string {
	for _, f := range v.Fields() {
		to = texts(to, f.Value)
	}
	for _, item := range v.Items() {
		to = texts(to, item)
	}
	if text := v.Text(); v.Type() == yaml.String && len(text) < 1000 {
		to = append(to, text)
	}
	return to
}

// file returns a file that the Composition of a layer refers to.
func (s *search) file(l *layer, path string) *yaml.Source {
	if path == "" || filepath.IsAbs(path) || loaders.IsRemote(path) {
		return nil
	}
	path = filepath.Join(l.dir, path)
	data, err := s.readFile(path, yaml.MaxFile)
	if err != nil {
		return nil
	}
	return &yaml.Source{File: path, Data: data}
}

// isComponent reports whether a kustomization file has the kind Component.
func isComponent(src *yaml.Source) bool {
	if !bytes.Contains(src.Data, []byte("Component")) && !bytes.ContainsAny(src.Data, "\\\x00") {
		// Most files are not Components, and planning parses them. Escapes and UTF-16 need
		// parsing.
		return false
	}
	v, err := src.Value()
	return err == nil && v.Get("kind").Text() == "Component"
}

// markUsed marks the layers that other layers use. Layers that only use one another in a cycle
// are not marked, so that planning reports the cycle.
func (s *search) markUsed() {
	uses := map[*layer][]*layer{}
	isUsed := map[*layer]bool{}
	for _, l := range s.layers {
		for _, dir := range l.dirs {
			if other := s.known[dir]; other != nil {
				uses[l], isUsed[other] = append(uses[l], other), true
				other.usedBy = cmp.Or(other.usedBy, l)
			}
		}
		for _, text := range l.uses {
			if other := s.other(l, text); other != nil && other != l {
				uses[l] = append(uses[l], other)
				isUsed[other] = true
				if other.usedBy == nil {
					other.usedBy = l
				}
			}
		}
	}
	var mark []*layer
	for _, l := range s.layers {
		if !isUsed[l] {
			mark = append(mark, uses[l]...)
		}
	}
	for len(mark) > 0 {
		l := mark[len(mark)-1]
		mark = mark[:len(mark)-1]
		if !l.used {
			l.used = true
			mark = append(mark, uses[l]...)
		}
	}
}

// other returns the layer that l refers to by text, nil if it was not found by the search.
func (s *search) other(l *layer, text string) *layer {
	if text == "" || filepath.IsAbs(text) {
		return nil
	}
	to := filepath.Join(l.real, text)
	if other := s.known[to]; other != nil {
		return other
	}
	if folder, named := layerfile.CompositionDir(text); named {
		return s.known[filepath.Join(l.real, folder)]
	}
	if ext := filepath.Ext(text); ext == ".yaml" || ext == ".yml" || ext == ".json" || loaders.IsRemote(text) {
		return nil
	}
	if real, err := s.real(to); err == nil {
		return s.known[real]
	}
	return nil
}
