package roots

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/internal/sys/filestat"
)

// Known are the files that searches have read, by the paths of their directories without symbolic
// links. A later search does not read a file again if its metadata is unchanged.
type Known map[string][]KnownFile

// A KnownFile is a file that a search has read. The files of a directory are sorted by name.
type KnownFile struct {
	Name   string
	Stat   filestat.Stat
	Traits Traits
}

// Traits are the properties of a file that a search has found in its content.
type Traits uint8

const (
	// LayerRead reports that the file was read to find out whether it makes its directory a root,
	// and MakesRoot the result.
	LayerRead Traits = 1 << iota
	MakesRoot
	// ObjectsRead reports that the file was read to find GitOps objects. Marked reports that it may
	// contain such objects, and Core that it may contain ConfigMaps or Secrets, which these use.
	ObjectsRead
	Marked
	Core
)

// A file is a file in a searched directory.
type file struct{ KnownFile }

// traitsOf returns the known traits of a file, 0 if none are known.
func traitsOf(known []KnownFile, f KnownFile) Traits {
	i, ok := slices.BinarySearchFunc(known, f.Name, func(k KnownFile, name string) int { return strings.Compare(k.Name, name) })
	if !ok || known[i].Stat != f.Stat || f.Stat == (filestat.Stat{}) {
		return 0
	}
	return known[i].Traits
}

// learned returns the files that were read, or nil if Known has the same files. A file without a
// settled Stat is not included.
func (s *search) learned() Known {
	all, same := Known{}, true
	for dir, files := range s.folders {
		var list []KnownFile
		for _, f := range files {
			if f.Traits != 0 && f.Stat.Settled(s.begun) {
				list = append(list, f.KnownFile)
			}
		}
		same = same && slices.Equal(list, s.Known[dir])
		if len(list) > 0 {
			all[dir] = list
		}
	}
	if same && len(all) == len(s.Known) {
		return nil
	}
	return all
}
