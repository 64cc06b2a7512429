package loaders

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/reference"
)

// A Kind is the kind of an observation. Of several observations of a path, the one with the
// highest Kind is kept: it implies or contradicts the others.
type Kind int

const (
	// SawNoDir is a path without a directory: missing, or a file.
	SawNoDir Kind = iota
	// SawNothing is a path that does not exist.
	SawNothing
	// SawFile is a file that was read.
	SawFile
	// SawDir is a directory. Its content has separate observations.
	SawDir
	// SawFolder is a directory whose entries were listed. Source has the result of [NamesOf].
	SawFolder
	// SawFetched is a remote reference.
	SawFetched
	// SawOther is an input that cannot be checked for changes, for example an error. With
	// it, the observations do not suffice to detect changes; see [Local.Observed].
	SawOther
	// SawWhole is a file that is used with more than its text, such as a program, or a directory
	// that is used with all its files. It exists in addition to other observations of its path
	// and carries no content; a consumer that needs it reads the path.
	SawWhole
)

// An Observation is one input of a layer from the file system. The layer is unchanged as long as
// all its observations hold.
type Observation struct {
	// Path is absolute. For SawFetched it is the text of the reference; for SawOther it is empty
	// if the input has no path.
	Path string
	Kind Kind
	// Source is the content of a file, and Stat its metadata when it was opened, or the zero
	// Stat.
	Source *yaml.Source
	Stat   filestat.Stat
	// Plain reports that no symbolic link below the layer's directory leads to the file. False
	// means unknown.
	Plain bool
	// Real is the path of a directory with symbolic links resolved.
	Real string
	// InFetched reports that this was seen in fetched content, which is fully determined by its
	// version.
	InFetched bool
	// Use and From are the parameters of the fetch of the reference in Path, and Came is its
	// result; see [Came].
	Use  reference.Use
	From remote.Origin
	Came string
}

// NamesOf returns the names and types of directory entries, in the given order, as one text for
// comparison. The type matters because links are not followed.
func NamesOf(entries []fs.DirEntry) []byte {
	var names []byte
	for _, e := range entries {
		names = append(append(append(names, e.Name()...), 0), e.Type().String()...)
	}
	return names
}

// Came returns the result of a fetch as text: the version of the content, or the error. Equal
// texts mean equal content.
func Came(c *remote.Content, err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	return c.Version.String()
}

// fetched returns the observation for a fetch. dir is the resulting directory, or nil.
func fetched(text string, use reference.Use, from remote.Origin, c *remote.Content, dir *Dir, err error) Observation {
	if diag.Redact(text) != text {
		return Observation{Kind: SawOther} // do not store credentials
	}
	o := Observation{Path: text, Kind: SawFetched, Use: use, From: from}
	if dir != nil {
		o.Real = dir.Real
	}
	if c != nil {
		err = nil // an error in the content follows from its version
	}
	o.Came = Came(c, err)
	return o
}

// observed are the observations of the layers in one directory.
type observed struct {
	// all has the observations in the order they were made. Duplicates are kept, because checking
	// for them would cost more.
	all    []Observation
	sorted []*Observation // result of list; nil if out of date
}

// list returns the observations sorted by key, one for each key, with the highest Kind.
func (in *observed) list() []*Observation {
	if in.sorted == nil {
		in.sorted = make([]*Observation, len(in.all))
		for i := range in.all {
			in.sorted[i] = &in.all[i]
		}
		in.sorted = once(in.sorted)
	}
	return in.sorted
}

// once sorts observations by key and keeps the one with the highest Kind for each key.
func once(seen []*Observation) []*Observation {
	order := make([]int, len(seen)) // sorting indices keeps the order stable and is much faster than a stable sort
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := seen[i], seen[j]
		return cmp.Or(strings.Compare(a.key(), b.key()), cmp.Compare(b.Kind, a.Kind), cmp.Compare(i, j))
	})
	sorted := make([]*Observation, len(seen))
	for i, at := range order {
		sorted[i] = seen[at]
	}
	return slices.CompactFunc(sorted, func(a, b *Observation) bool { return a.key() == b.key() })
}

// observe records an observation of the layer in d.
func (l *Local) observe(d *Dir, o Observation) {
	if l.seen == nil || d == nil || d.ahead {
		return
	}
	o.InFetched = d.IsFetched() && o.Kind != SawFetched
	l.mu.Lock()
	defer l.mu.Unlock()
	owner := cmp.Or(d.owner, d.Real)
	in := l.seen[owner]
	if in == nil {
		in = &observed{}
		l.seen[owner] = in
	}
	in.all, in.sorted = append(in.all, o), nil
}

// observeRoot records the directory of a root.
func (l *Local) observeRoot(d *Dir, abs, name string) {
	if l.seen == nil {
		return
	}
	l.observe(d, Observation{Path: abs, Kind: SawDir, Real: d.Real})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rootDirs[diag.Redact(name)] = d.Real
}

// key identifies the observed object. A reference can be fetched for several uses.
func (o *Observation) key() string {
	if o.Kind == SawFetched {
		return fmt.Sprintf("%d %d %s", o.Use, o.From, o.Path)
	}
	if o.Kind == SawWhole {
		return "whole " + o.Path
	}
	return o.Path
}

// Uses records that the layer in d uses everything at absolute paths: a program, or all files in
// a directory.
func (l *Local) Uses(d *Dir, paths ...string) {
	for _, path := range paths {
		l.observe(d, Observation{Path: path, Kind: SawWhole})
	}
}

// Doubt records that the layer in d has inputs that cannot be observed.
func (l *Local) Doubt(d *Dir) { l.observe(d, Observation{Kind: SawOther}) }

// DependsOn records that the layer in d depends on the content of absolute paths, which was not
// observed.
func (l *Local) DependsOn(d *Dir, paths ...string) {
	for _, path := range paths {
		l.observe(d, Observation{Path: path, Kind: SawOther})
	}
}

// observeError records that a file could not be read.
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

// Observed returns the observations of the layer in a directory that [Local.Root] has opened, and
// of the layers below it, sorted by key. enough is false if the observations do not suffice for
// detecting changes.
func (l *Local) Observed(root string) (all []*Observation, enough bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	real, ok := l.rootDirs[root]
	if !ok {
		return nil, false
	}
	enough = l.collect(real, &all, map[string]bool{})
	return once(all), enough
}

// collect adds the observations of the layer in a directory and of the layers below it.
func (l *Local) collect(real string, seen *[]*Observation, visited map[string]bool) (enough bool) {
	if visited[real] {
		return true
	}
	visited[real] = true
	in := l.seen[real]
	if in == nil {
		return true
	}
	enough = true
	for _, o := range in.list() {
		if o.Kind == SawOther {
			enough = false
		}
		*seen = append(*seen, o)
		if o.Real != "" && !l.collect(o.Real, seen, visited) {
			enough = false
		}
	}
	return enough
}
