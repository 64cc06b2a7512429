package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// References is a tree of one Kustomization with n references to bases in a git repository,
// which is a sibling folder.
func References(n int) Tree {
	t := Tree{Name: fmt.Sprintf("references-%d", n), Title: fmt.Sprintf("%d references to one git repository", n), Roots: []string{"app"}}
	t.fill = func(w *treeWriter) {
		var bases []string
		for i := range n {
			base := fmt.Sprintf("base-%d", i)
			a := w.app(base)
			w.kustomization("repo/"+base, []string{"deployment.yaml", "service.yaml"}, "")
			w.write("repo/"+base, a, kinds(0, 2))
			bases = append(bases, base)
		}
		repo, err := filepath.Abs(filepath.Join(w.root.Name(), "repo"))
		if err == nil && w.err == nil {
			err = commit(repo)
		}
		if w.err == nil {
			w.err = err
		}
		w.file("app/kustomization.yaml", func(out printf) {
			header(out, "Kustomization")
			for i, base := range bases {
				bases[i] = "file://" + filepath.ToSlash(repo) + "/.git//" + base + "?ref=main"
			}
			list(out, "resources", bases)
		})
	}
	return t
}

// commit creates a git repository in dir and commits all files.
func commit(dir string) error {
	for _, args := range []string{"init -q -b main", "add .",
		"-c user.name=bench -c user.email=bench@example.com -c commit.gpgsign=false commit -q -m bases"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args, err, out)
		}
	}
	return nil
}
