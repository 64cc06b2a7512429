package loaders

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/krmflow/krmflow/internal/filestat"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Kind says what was found at a path: a later one implies what an earlier one says, or contradicts it.
type Kind int

const (
	// SawNoDir is a path at which there was no directory: nothing, or a file.
	SawNoDir Kind = iota
	// SawNothing is a path at which there was nothing.
	SawNothing
	// SawFile is a file that was read.
	SawFile
	// SawDir is a directory. What was seen in it has observations of its own.
	SawDir
	// SawOther is what may be another time something else although no file was changed: a reference to something remote, or an error.
	SawOther
)

// An Observation is one thing that layers have seen of the file system: as long as it is so, they are what they were.
type Observation struct {
	// Path is absolute.
	Path string
	Kind Kind
	// Source is the content of a file, and Stat what was said of it when it was opened: the zero Stat if nothing was.
	Source *yaml.Source
	Stat   filestat.Stat
	// Real is the path of a directory without symbolic links.
	Real string
}

// observed is what layers in one directory have seen.
type observed struct{ by map[string]Observation }

// observe keeps what the layer in d has seen. The later Kind of a path tells more.
func (l *Local) observe(d *Dir, o Observation) {
	if l.seen == nil || d == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.seen[d.Real]
	if in == nil {
		in = &observed{map[string]Observation{}}
		l.seen[d.Real] = in
	}
	if was, ok := in.by[o.Path]; !ok || o.Kind > was.Kind {
		in.by[o.Path] = o
	}
}

// Doubt keeps that what the layer in d is depends on more than what it has seen.
func (l *Local) Doubt(d *Dir) { l.observe(d, Observation{Kind: SawOther}) }

// observeError keeps that a file could not be read.
func (l *Local) observeError(d *Dir, abs string, err error) {
	kind := SawOther
	if errors.Is(err, fs.ErrNotExist) {
		kind = SawNothing
	}
	l.observe(d, Observation{Path: abs, Kind: kind})
}

// observedDir is [Local.dir] for the layer in d.
func (l *Local) observedDir(d *Dir, abs, as string) (*Dir, error) {
	sub, err := l.dir(abs, as)
	if err != nil {
		l.observe(d, Observation{Path: abs, Kind: SawNoDir})
		return nil, err
	}
	l.observe(d, Observation{Path: abs, Kind: SawDir, Real: sub.Real})
	return sub, nil
}

// Observed returns what was seen by the layer in the directory real, a path without symbolic links, and by those that it is made of, in the
// order of the paths. It reports false if it is not enough to look at that again to know whether anything has changed.
func (l *Local) Observed(real string) (all []Observation, enough bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[string]Observation{}
	visited := map[string]bool{}
	enough = l.collect(real, seen, visited)
	for _, path := range slices.Sorted(maps.Keys(seen)) {
		all = append(all, seen[path])
	}
	return all, enough
}

func (l *Local) collect(real string, seen map[string]Observation, visited map[string]bool) bool {
	if visited[real] {
		return true
	}
	visited[real] = true
	in := l.seen[real]
	if in == nil {
		return true
	}
	for path, o := range in.by {
		if o.Kind == SawOther {
			return false
		}
		if was, ok := seen[path]; !ok || o.Kind > was.Kind {
			seen[path] = o
		}
		if o.Kind == SawDir && !l.collect(o.Real, seen, visited) {
			return false
		}
	}
	return true
}
