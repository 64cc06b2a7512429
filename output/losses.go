package output

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
)

// checkLosses refuses to make the folder m if that needs the place of something of others, or would lose what they wrote.
func (o *Dir) checkLosses(m manifest) error {
	put := make(map[string][]string, len(o.roots))
	for root, st := range o.roots {
		put[root] = slices.Concat(st.added, st.changed)
	}
	return refuseLosses(o.dir, append(o.taken(m), losses(o.out, o.old, m, put)...), o.opts.Force)
}

// maxFile is larger than any file that krmflow writes.
const maxFile = 256 << 20

// A loss is something in the folder that would be replaced or removed although krmflow did not write it as it is.
type loss struct {
	path string
	// edited is true for a file that krmflow wrote, that was changed since, and that the render still makes. To replace it is
	// what --force is for: what takes its place is known. To remove what somebody else wrote is never right.
	edited bool
}

func refuseLosses(dir string, lost []loss, force bool) error {
	edited := func(l loss) bool { return l.edited }
	if force {
		lost = slices.DeleteFunc(lost, edited)
	}
	if len(lost) == 0 {
		return nil
	}
	err := &RefusedError{Path: dir, Reason: "files would be replaced or removed that krmflow did not write, or that were changed since",
		Hint: "remove them or move them away: no flag does"}
	if !slices.ContainsFunc(lost, func(l loss) bool { return !l.edited }) {
		err.Reason, err.Hint = "files were changed since krmflow wrote them", "to replace them, add --force"
	}
	for _, l := range lost {
		err.Names = append(err.Names, l.path)
	}
	slices.Sort(err.Names)
	return err
}

// taken returns what others have in the places where m has folders and files. It leaves regular files to [losses], and links in the
// places of files, which are replaced.
func (o *Dir) taken(m manifest) []loss {
	var lost []loss
	folders := m.folders()
	for name, mode := range o.foreign {
		link := mode&fs.ModeSymlink != 0
		taken := folders[name] && !mode.IsDir() || m.lists(name) && !mode.IsRegular() && !link
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			taken = taken || m.lists(dir)
		}
		if taken {
			lost = append(lost, loss{path: name})
		}
	}
	return lost
}

// losses returns the files in out that would be lost, because they have neither the content that old records nor the one that
// they will get. It looks at those that put names for each root and at those of old that are not in next.
func losses(out *os.Root, old, next manifest, put map[string][]string) []loss {
	var lost []loss
	for root, files := range next {
		lost = append(lost, rootLosses(out, root, old[root], files, put[root])...)
	}
	for root, files := range old {
		if next[root] == nil {
			lost = append(lost, rootLosses(out, root, files, nil, nil)...)
		}
	}
	return lost
}

// rootLosses is [losses] for one root.
func rootLosses(out *os.Root, root string, old, next map[string]record, put []string) []loss {
	goes := make(map[string]bool, len(put))
	for _, name := range put {
		goes[name] = true
	}
	for name := range old {
		if _, stays := next[name]; !stays {
			goes[name] = true
		}
	}
	if len(goes) == 0 || checkPlain(out, root) != nil {
		return nil // nothing is there, or it is not ours
	}
	dir, err := openFolder(out, root)
	if err != nil {
		return []loss{{path: root}}
	}
	defer dir.close()
	entries, err := dir.entries()
	if err != nil {
		return []loss{{path: root}}
	}
	var lost []loss
	var buf []byte
	for _, e := range entries {
		name := e.Name()
		if !goes[name] || !e.Type().IsRegular() {
			continue
		}
		file := path.Join(root, name)
		buf, err = dir.readWhole(name, buf, maxFile)
		was, listed := old[name]
		will, stays := next[name]
		switch {
		case notExist(err):
		case err == nil && listed && recordOf(file, buf, was.secret) == was:
		case err == nil && stays && recordOf(file, buf, will.secret) == will:
		default:
			lost = append(lost, loss{path: file, edited: listed && stays})
		}
	}
	return lost
}

// checkPlain returns an error if one of the folders that lead to root in dir, or root itself, is anything else, such as a link.
func checkPlain(dir *os.Root, root string) error {
	for i := range len(root) + 1 {
		if i < len(root) && root[i] != '/' {
			continue
		}
		info, err := dir.Lstat(root[:i])
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return &fs.PathError{Op: "open", Path: root[:i], Err: errors.New("not a folder")}
		}
	}
	return nil
}
