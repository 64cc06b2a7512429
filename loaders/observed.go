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
	// SawFolder is a directory whose entries were listed: Source has what [NamesOf] returns.
	SawFolder
	// SawFetched is a reference to something remote.
	SawFetched
	// SawOther is what may be another time something else although nothing of that was changed, an error for instance.
	SawOther
	// SawWhole is a file of which more than its text counts, such as a program, or a directory of which all files do. It is beside what else was
	// seen at its path, and says nothing about what it is: whoever wants to know that looks.
	SawWhole
)

// An Observation is one thing that layers have seen of the file system: as long as it is so, they are what they were.
type Observation struct {
	// Path is absolute.
	Path string
	Kind Kind
	// Source is the content of a file, and Stat what was said of it when it was opened: the zero Stat if nothing was.
	Source *yaml.Source
	Stat   filestat.Stat
	// Plain tells of a file that no symbolic link below the directory of the layer leads to it; false if that is not known.
	Plain bool
	// Real is the path of a directory without symbolic links.
	Real string
	// InFetched tells that this was seen in something that was fetched, which its version says everything about.
	InFetched bool
	// Use and From are how the reference in Path was fetched, and Came what came of it: see [Came].
	Use  reference.Use
	From remote.Origin
	Came string
}

// NamesOf returns the names of directory entries, sorted as [os.ReadDir] does, in one text.
func NamesOf(entries []fs.DirEntry) []byte {
	var names []byte
	for _, e := range entries {
		names = append(append(names, e.Name()...), 0)
	}
	return names
}

// Came returns the version of what was fetched, or why it was not, in one text: as long as it is the same, so is the content.
func Came(c *remote.Content, err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	return c.Version.String()
}

// fetched returns what is to be observed of a fetch: dir is the directory that came of it, if one did.
func fetched(text string, use reference.Use, from remote.Origin, c *remote.Content, dir *Dir, err error) Observation {
	if diag.Redact(text) != text {
		return Observation{Kind: SawOther} // nobody must keep credentials
	}
	o := Observation{Path: text, Kind: SawFetched, Use: use, From: from}
	if dir != nil {
		o.Real = dir.Real
	}
	if c != nil {
		err = nil // what is wrong with the content follows from its version
	}
	o.Came = Came(c, err)
	return o
}

// observed is what layers in one directory have seen.
type observed struct {
	all    []Observation  // in the order in which they were made, which may be again and again: to look for each would cost more
	sorted []*Observation // what all come to; nil if something was seen since
}

// list returns what was seen, each once, in the order of the keys. The later Kind of a path tells more.
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

// once sorts what was seen and leaves out what says less than another observation of the same.
func once(seen []*Observation) []*Observation {
	order := make([]int, len(seen)) // what was seen first comes first, for which a stable sort would take much longer
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

// observe keeps what the layer in d has seen.
func (l *Local) observe(d *Dir, o Observation) {
	if l.seen == nil || d == nil || d.ahead {
		return
	}
	o.InFetched = d.IsFetched() && o.Kind != SawFetched
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.seen[d.Real]
	if in == nil {
		in = &observed{}
		l.seen[d.Real] = in
	}
	in.all, in.sorted = append(in.all, o), nil
}

// observeRoot keeps where a root is.
func (l *Local) observeRoot(d *Dir, abs, name string) {
	if l.seen == nil {
		return
	}
	l.observe(d, Observation{Path: abs, Kind: SawDir, Real: d.Real})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rootDirs[diag.Redact(name)] = d.Real
}

// key tells what was looked at: a reference may be read for several uses.
func (o *Observation) key() string {
	if o.Kind == SawFetched {
		return fmt.Sprintf("%d %d %s", o.Use, o.From, o.Path)
	}
	if o.Kind == SawWhole {
		return "whole " + o.Path
	}
	return o.Path
}

// Uses keeps that the layer in d uses all that is at absolute paths: a program, or the files in a directory.
func (l *Local) Uses(d *Dir, paths ...string) {
	for _, path := range paths {
		l.observe(d, Observation{Path: path, Kind: SawWhole})
	}
}

// Doubt keeps that what the layer in d is depends on more than what it has seen.
func (l *Local) Doubt(d *Dir) { l.observe(d, Observation{Kind: SawOther}) }

// DependsOn keeps that what the layer in d is depends on what is at absolute paths, of which nothing else was seen.
func (l *Local) DependsOn(d *Dir, paths ...string) {
	for _, path := range paths {
		l.observe(d, Observation{Path: path, Kind: SawOther})
	}
}

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

// Observed returns what was seen by the layer in a directory that [Local.Root] has opened, and by those that it is made of, in the order of
// the paths. It reports false if it is not enough to look at that again to know whether anything has changed.
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

// collect adds what was seen by the layer in a directory and by those that it is made of.
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
