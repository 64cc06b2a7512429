package filestat

import (
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// Trees are directories that the authors of rendered files can write to, up to the top of a
// repository. The user does not control a folder in a tree alone: a pull request can add it,
// and a file of the repository can set a variable that names it.
type Trees struct {
	tops []place
}

// TreesOf returns the trees of rendered directories, which are absolute paths. The trees of a
// directory are its git repository and, if that is a submodule or a worktree, the repositories
// around it. A directory outside of git is its own tree. The repository of the working
// directory wd is a tree as well; wd may be empty.
func (d *Dirs) TreesOf(rendered []string, wd string) Trees {
	var t Trees
	looked := map[string]bool{}
	for _, dir := range rendered {
		real := d.Real(dir)
		if real == "" || looked[real] {
			continue
		}
		if tops, found := d.repositories(real, looked); found {
			t.tops = append(t.tops, tops...)
		} else if real, info := d.Find(dir); real != "" {
			t.tops = append(t.tops, place{real, info})
		}
	}
	if real := d.Real(wd); wd != "" && real != "" && !looked[real] {
		tops, _ := d.repositories(real, looked)
		t.tops = append(t.tops, tops...)
	}
	return t
}

// repositories returns the tops of git working trees among a real path and the directories
// above it. It stops at the first top that is neither a submodule nor a worktree; both have a
// file .git instead of a folder. It also stops at a directory in looked, whose parents have
// been searched. found reports whether the path is in a repository. The results are recorded in
// looked.
func (d *Dirs) repositories(dir string, looked map[string]bool) (tops []place, found bool) {
	var chain []string
	for at := dir; ; at = filepath.Dir(at) {
		inside, again := looked[at]
		if again {
			found = found || inside
			if inside {
				note(looked, chain)
			}
			break
		}
		chain = append(chain, at)
		looked[at] = false
		var info fs.FileInfo
		err := fs.ErrNotExist
		if !d.Lacks(at, ".git") {
			info, err = os.Lstat(filepath.Join(at, ".git"))
		}
		if err == nil {
			if top, err := os.Lstat(at); err == nil {
				tops, found = append(tops, place{at, top}), true
			}
			note(looked, chain)
		}
		if filepath.Dir(at) == at || err == nil && info.IsDir() {
			break
		}
	}
	return tops, found
}

func note(looked map[string]bool, inside []string) {
	for _, dir := range inside {
		looked[dir] = true
	}
}

// Around returns the tree that contains path, or "" if none does. The path need not exist.
// Directories are compared by their identity in the file system, so a symbolic link, a
// different case or a second mount cannot hide a tree. For a path in the user's home directory,
// a tree that is or contains the home directory is ignored: a user can keep the home directory
// in a repository, and anyone who can write files there can do more harm than this check
// prevents.
func (t Trees) Around(path string) string {
	real := Resolve(path)
	for at := real; ; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil {
			for _, top := range t.tops {
				if os.SameFile(info, top.info) && !inHome(real, at) {
					return top.real
				}
			}
		}
		if filepath.Dir(at) == at {
			return ""
		}
	}
}

// inHome reports whether the user's home directory is one of the directories from a path up to
// top.
func inHome(path, top string) bool {
	home := home()
	if !filepath.IsAbs(home) {
		return false
	}
	own, err := os.Stat(home)
	for at := path; err == nil; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && os.SameFile(info, own) {
			return true
		}
		if at == top {
			return false
		}
	}
	return false
}

// home returns the user's home directory from the system's user database, or "" if it is
// unknown. A file of a repository cannot set it, unlike the variable HOME.
func home() string {
	find := user.Current // on systems with numeric user ids, this may trust HOME
	if uid := os.Getuid(); uid >= 0 {
		find = func() (*user.User, error) { return user.LookupId(strconv.Itoa(uid)) }
	}
	u, err := find()
	if err != nil {
		return ""
	}
	return u.HomeDir
}
