package filestat

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// Trees are directories that the authors of rendered files can write to, as far as a repository
// reaches. A folder in one of them is not the user's own: a pull request can bring it along, and a
// variable that a file of the repository sets can name it.
type Trees struct {
	tops []place
}

// TreesOf returns the trees of directories that are rendered, absolute paths. The tree of a
// directory is the repository of git that it is in, with those that this one is a submodule or a
// worktree of, else the directory itself; several of the latter are one tree with the directory
// that all have in common. So is the repository that the working directory is in, which may be
// empty.
func (d *Dirs) TreesOf(rendered []string, wd string) Trees {
	var t Trees
	var alone []string
	looked := map[string]bool{}
	for _, dir := range rendered {
		real, info := d.Find(dir)
		if real == "" || looked[real] {
			continue
		}
		if tops, found := repositories(real, looked); found {
			t.tops = append(t.tops, tops...)
		} else {
			t.tops = append(t.tops, place{real, info})
			alone = append(alone, real)
		}
	}
	if real := d.Real(wd); wd != "" && real != "" && !looked[real] {
		tops, _ := repositories(real, looked)
		t.tops = append(t.tops, tops...)
	}
	if top := commonDir(alone); len(alone) > 1 && filepath.Dir(top) != top {
		if info, err := os.Lstat(top); err == nil {
			t.tops = append(t.tops, place{top, info})
		}
	}
	return t
}

// repositories returns the directories above a real path, and the path itself, that are the top of
// a working tree of git. It stops at the first that is neither a submodule nor a worktree, both of
// which have a file where others have the folder .git, and at a directory that was looked at
// before: what is above that is known. It reports whether the path is in a repository, and notes
// that of all that it looks at.
func repositories(dir string, looked map[string]bool) (tops []place, found bool) {
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
		info, err := os.Lstat(filepath.Join(at, ".git"))
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

// commonDir returns the deepest directory that is, or is above, all of the paths.
func commonDir(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	common := paths[0]
	for _, path := range paths[1:] {
		for !within(path, common) && filepath.Dir(common) != common {
			common = filepath.Dir(common)
		}
	}
	return common
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Around returns the tree that a path is in, "" if it is in none. The path need not exist.
// Directories are compared by what the file system says about them, so neither a symbolic link nor
// another case or a second mount of the tree hides it. What is in the user's home directory is in no
// tree that is this directory, or above it: a user can keep it in a repository, and who writes files
// there can do more than that.
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

// inHome reports whether the user's home directory is one of the directories from a path up to top.
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

// home returns the user's home directory as the system's list of users has it, "" if it does not
// say: unlike the variable HOME, no file of a repository sets that.
func home() string {
	find := user.Current // which knows no better than HOME where there are numbers of users
	if uid := os.Getuid(); uid >= 0 {
		find = func() (*user.User, error) { return user.LookupId(strconv.Itoa(uid)) }
	}
	u, err := find()
	if err != nil {
		return ""
	}
	return u.HomeDir
}
