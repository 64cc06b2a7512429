package output

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/krmflow/krmflow/output/manifest"
)

// checkLosses refuses a commit of m that would replace or remove foreign or edited files.
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

// A loss is a foreign or edited file that would be replaced or removed.
type loss struct {
	path string
	// edited is true for a file of krmflow that was edited since and that the render still
	// produces. --force permits replacing it, because its replacement is known. No flag permits
	// removing foreign content.
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
	err := &RefusedError{Path: dir, Reason: "the run would replace or remove files that krmflow did not write, or that were changed since",
		Hint: "remove or move them yourself: no flag does this"}
	if !slices.ContainsFunc(lost, func(l loss) bool { return !l.edited }) {
		err.Reason, err.Hint = "files were changed since krmflow wrote them", "to replace them, add --force"
	}
	for _, l := range lost {
		err.Names = append(err.Names, l.path)
	}
	slices.Sort(err.Names)
	return err
}

// taken returns the foreign entries at paths where m has folders or files. It omits regular
// files, which [losses] checks, and symbolic links at paths of files, which are replaced.
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

// losses returns the files in out whose content would be lost: they have neither the recorded
// content in old nor the content in next. It checks the files in put, which are to be written,
// and the files of old that are not in next.
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
		return nil // missing, or not a folder of ours
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

// checkPlain returns an error unless root and all its parents in dir are directories and not, for
// example, symbolic links.
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
