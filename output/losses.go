package output

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/krmflow/krmflow/output/manifest"
)

// checkLosses refuses to make the folder m if that needs the place of something of others, or would lose what they wrote.
func (o *Dir) checkLosses(m *manifest.Manifest) error {
	put := map[string][]string{}
	for _, st := range o.roots {
		for dir, files := range st.folders {
			put[dir] = slices.Concat(files.added, files.changed)
		}
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
func (o *Dir) taken(m *manifest.Manifest) []loss {
	var lost []loss
	folders := m.Folders()
	for name, mode := range o.foreign {
		link := mode&fs.ModeSymlink != 0
		taken := folders[name] && !mode.IsDir() || m.Lists(name) && !mode.IsRegular() && !link
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			taken = taken || m.Lists(dir)
		}
		if taken {
			lost = append(lost, loss{path: name})
		}
	}
	return lost
}

// losses returns the files in out that would be lost, because they have neither the content that old records nor the one that
// they will get. It looks at those that put names for each folder and at those of old that are not in next.
func losses(out *os.Root, old, next *manifest.Manifest, put map[string][]string) []loss {
	var lost []loss
	for dir := range next.Files {
		lost = append(lost, folderLosses(out, dir, old, next, put[dir])...)
	}
	for dir := range old.Files {
		if next.Files[dir] == nil {
			lost = append(lost, folderLosses(out, dir, old, next, nil)...)
		}
	}
	return lost
}

// folderLosses is [losses] for one folder.
func folderLosses(out *os.Root, folder string, old, next *manifest.Manifest, put []string) []loss {
	goes := make(map[string]bool, len(put))
	for _, name := range put {
		goes[name] = true
	}
	for name := range old.Files[folder] {
		if _, stays := next.Files[folder][name]; !stays {
			goes[name] = true
		}
	}
	if len(goes) == 0 || checkPlain(out, folder) != nil {
		return nil // nothing is there, or it is not ours
	}
	dir, err := openFolder(out, folder)
	if err != nil {
		return []loss{{path: folder}}
	}
	defer dir.close()
	entries, err := dir.entries()
	if err != nil {
		return []loss{{path: folder}}
	}
	var lost []loss
	var buf []byte
	for _, e := range entries {
		name := e.Name()
		if !goes[name] || !e.Type().IsRegular() {
			continue
		}
		buf, err = dir.readWhole(name, buf, maxFile)
		switch {
		case notExist(err):
		case err == nil && (old.Written(folder, name, buf) || next.Written(folder, name, buf)):
		default:
			file := path.Join(folder, name)
			lost = append(lost, loss{path: file, edited: old.Lists(file) && next.Lists(file)})
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
