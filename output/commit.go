package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/swap"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/output/names"
	"golang.org/x/sync/errgroup"
)

// Commit makes the folder equal to the files that were put and kept, in one step, and returns the
// changes. If there are none, or with [Options].Check, it writes nothing. After an error the
// folder is unchanged unless the message says otherwise. Commit always closes o.
func (o *Dir) Commit() (Changes, error) {
	defer o.Abort()
	if o.failed != nil {
		return Changes{}, o.failed
	}
	next, err := o.next()
	if err != nil {
		return Changes{}, err
	}
	c := o.changes(next)
	if o.opts.Check || c.None() {
		return c, nil
	}
	if err := o.commit(next); err != nil {
		return Changes{}, writeError(o.dir, err)
	}
	if o.made = nil; o.opts.Again && !o.inside {
		if err := swap.Sync(o.parent); err != nil {
			return Changes{}, writeError(o.dir, err)
		}
	}
	return c, o.learn(o.changed)
}

// next returns the manifest of the folder after the commit. It refuses roots whose files would
// overlap.
func (o *Dir) next() (*manifest.Manifest, error) {
	runs := map[string]bool{}
	for root := range o.roots {
		runs[root] = true
	}
	if err := o.refuseDropped(runs); err != nil {
		return nil, err
	}
	for _, root := range o.dropped(func(root string) bool { return runs[root] || !o.opts.OnlyThese && !o.isElsewhere(root) }) {
		if err := o.Keep(root); err != nil {
			return nil, err
		}
	}
	m := manifest.New()
	m.Shard = o.shard()
	m.Base = cmp.Or(o.from, o.old.Base)
	owner := map[string]string{}
	for root, st := range o.roots {
		if st.kept && o.old.Roots[root] {
			m.Keep(o.old, root)
		}
		for dir, files := range st.folders {
			if other, twice := owner[dir]; twice {
				return nil, o.refuse("%s: the roots %s and %s would both have files there", names.Show(dir), names.Show(root),
					names.Show(other))
			}
			owner[dir] = root
			m.Roots[root], m.Files[dir] = true, files.files
		}
	}
	for dir, root := range owner {
		if inner, _ := m.Owner(dir); inner != root {
			return nil, o.refuse("%s: the root %s would have files in the folder of the root %s", names.Show(dir), names.Show(root),
				names.Show(inner))
		}
	}
	if dir := m.Conflict(); dir != "" {
		return nil, o.refuse("%s would be a folder of one root and a file of another", names.Show(dir))
	}
	return m, nil
}

// isComplete reports whether a shard is compared with the folder of all shards.
func (o *Dir) isComplete() bool {
	return o.opts.Shard != nil && o.opts.Check && o.old.Shard == nil && len(o.old.Roots) > 0
}

// isElsewhere reports whether a root of a complete folder belongs to another shard.
func (o *Dir) isElsewhere(root string) bool {
	return o.isComplete() && (o.opts.Shard.Index > 1 || slices.Contains(o.opts.Others, root))
}

// shard returns the record of the shard for the manifest, or nil.
func (o *Dir) shard() *manifest.Shard {
	if o.opts.Shard == nil || o.isComplete() {
		return nil
	}
	s := *o.opts.Shard
	for _, root := range slices.Sorted(maps.Keys(o.roots)) {
		if o.roots[root].kept {
			s.Failed = append(s.Failed, root)
		} else {
			s.Roots = append(s.Roots, root)
		}
	}
	return &s
}

func (o *Dir) changes(next *manifest.Manifest) Changes {
	c := Changes{Created: o.out == nil}
	if o.pending {
		c.Changed = []string{journalName}
		return c
	}
	mended := map[string]bool{".": len(o.old.Roots) > 0 && (o.old.Text(".") == "" || o.old.Base != "" && o.old.Base != next.Base) ||
		o.out != nil && !o.old.Shard.Equal(next.Shard)}
	for root, st := range o.roots {
		for dir, files := range st.folders {
			for _, name := range files.added {
				c.Added = append(c.Added, path.Join(dir, name))
			}
			for _, name := range files.changed {
				c.Changed = append(c.Changed, path.Join(dir, name))
			}
			c.Unchanged += len(files.same)
		}
		mended[root] = mended[root] || st.mended
	}
	for root, yes := range mended {
		if yes {
			c.Changed = append(c.Changed, path.Join(root, manifest.Name))
		}
	}
	for dir, files := range o.old.Files {
		for name := range files {
			if _, stays := next.Files[dir][name]; !stays {
				c.Removed = append(c.Removed, path.Join(dir, name))
			}
		}
	}
	slices.Sort(c.Added)
	slices.Sort(c.Changed)
	slices.Sort(c.Removed)
	return c
}

func (o *Dir) commit(m *manifest.Manifest) error {
	texts := m.Encode()
	for root, text := range texts {
		if len(text) > manifest.MaxSize {
			return o.refuse("%s has more files than its %s can list", names.Show(root), manifest.Name)
		}
	}
	stage, err := o.staging()
	if err != nil {
		return err
	}
	part := o.part(m, texts)
	o.changed = part
	if !o.inside {
		if err := o.linkSame(stage, texts, part); err != nil {
			return err
		}
	}
	if err := o.finishStage(stage, m, texts, part); err != nil {
		return err
	}
	o.closeStage()
	o.shownAt = time.Now()
	if o.out == nil {
		return o.install()
	}
	if err := o.rescan(part); err != nil {
		return err
	}
	if err := o.checkLosses(m); err != nil {
		return err
	}
	if o.inside {
		return o.commitJournal(o.out, journalName)
	}
	if part != "." {
		return o.swapPart(m, part)
	}
	return o.swap(m)
}

// finishStage adds the changed manifests to the staging folder and syncs it.
func (o *Dir) finishStage(stage *os.Root, m *manifest.Manifest, texts map[string]string, part string) error {
	private := m.Secret()
	maps.DeleteFunc(texts, func(root, text string) bool { return text == o.old.Text(root) })
	if err := inParallel(maps.Keys(texts), func(root string) error {
		return addFile(stage, root, manifest.Name, texts[root], secret.Perm(private[root]))
	}); err != nil {
		return err
	}
	if o.inside {
		return addNext(stage, m)
	}
	mode := o.mode
	if part != "." {
		info, err := o.out.Lstat(part)
		if err != nil {
			return err
		}
		mode = info.Mode()
	}
	if err := stage.Chmod(part, mode); err != nil {
		return err
	}
	if o.opts.Again {
		return nil
	}
	return swap.Sync(stage)
}

// addNext prepares a staging folder for use as a journal.
func addNext(stage *os.Root, m *manifest.Manifest) error {
	if err := addFile(stage, ".", nextName, m.Together(), secret.PrivatePerm); err != nil {
		return err
	}
	return swap.Sync(stage)
}

func addFile(stage *os.Root, folder, name, text string, perm fs.FileMode) error {
	dir, err := makeFolder(stage, folder)
	if err != nil {
		return err
	}
	defer dir.close()
	return dir.create(name, []byte(text), perm)
}

// rescan checks that no foreign files were added to part during the run, because the exchange
// would remove them.
func (o *Dir) rescan(part string) error {
	now, err := o.parent.Lstat(o.base)
	if err != nil {
		return err
	}
	then, err := o.out.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(now, then) {
		return o.refuse("was replaced by something else while krmflow was running")
	}
	if err := o.scan(part, nil); err != nil {
		return err
	}
	was := o.inside
	if err := o.refuseStrangers(o.found); err != nil {
		return err
	}
	if o.inside != was {
		return o.refuse("received files from another program while krmflow was running; run it again")
	}
	return nil
}

// linkSame hard-links the unchanged files and manifests of part into the staging folder.
func (o *Dir) linkSame(stage *os.Root, texts map[string]string, part string) error {
	same := map[string][]string{}
	for root, text := range texts {
		if o.out != nil && text == o.old.Text(root) {
			same[root] = []string{manifest.Name}
		}
	}
	kept := map[string]bool{}
	for _, st := range o.roots {
		for dir, files := range st.folders {
			same[dir] = append(same[dir], files.same...)
			kept[dir] = st.kept
		}
	}
	maps.DeleteFunc(same, func(dir string, files []string) bool { return len(files) == 0 || !isIn(dir, part) })
	return inParallel(maps.Keys(same), func(dir string) error { return o.linkFolder(stage, dir, same[dir], kept[dir]) })
}

// inParallel calls f for each element of list, several at a time, until an error. Use it for files
// in different folders. In a serial loop, they would be the largest part of a run that more cores
// cannot shorten.
func inParallel(list iter.Seq[string], f func(string) error) error {
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(4)
	for x := range list {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = diag.Panicked("the output folder", p)
				}
			}()
			return f(x)
		})
	}
	return g.Wait()
}

func (o *Dir) linkFolder(stage *os.Root, dir string, files []string, kept bool) error {
	from, err := openFolder(o.out, dir)
	if notExist(err) && kept {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.close()
	to, err := makeFolder(stage, dir)
	if err != nil {
		return err
	}
	defer to.close()
	for _, name := range files {
		// A kept file that the user removed stays removed: there is no newer version of it.
		if err := to.take(from, name); err != nil && !(kept && notExist(err)) {
			return writeError(path.Join(o.dir, dir, name), err)
		}
	}
	return nil
}

// install renames the staging folder to the output folder, which must not exist.
func (o *Dir) install() error {
	err := swap.RenameNew(o.parent, o.stageName, o.base)
	if errors.Is(err, fs.ErrExist) {
		return o.refuse("was created by another program while krmflow was running")
	}
	if err == nil {
		o.stageName = ""
	}
	return err
}

// swap exchanges the staging folder with the output folder and removes the old content.
func (o *Dir) swap(m *manifest.Manifest) error {
	return o.exchanged(m, swap.Exchange(o.parent, o.stageName, o.base))
}

// exchanged completes an exchange of folders that returned err.
func (o *Dir) exchanged(m *manifest.Manifest, err error) error {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return o.swapByJournal(m)
	case err != nil:
		return err
	}
	return o.removeOld()
}

// removeOld removes the old content, which is under the name of the staging folder after the
// exchange.
func (o *Dir) removeOld() error {
	old := o.stageName
	o.stageName = ""
	if err := o.parent.RemoveAll(old); err != nil {
		return fmt.Errorf("the new files are in place, but %s with the previous ones cannot be removed: %w", old, withoutPath(err))
	}
	return nil
}

// swapPart is [Dir.swap] for a folder inside the output. The rest of the output is not touched.
func (o *Dir) swapPart(m *manifest.Manifest, part string) error {
	up, name := path.Split(part)
	from, err := o.parent.OpenRoot(path.Join(o.stageName, up))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := o.out.OpenRoot(path.Clean(up))
	if err != nil {
		return err
	}
	defer to.Close()
	return o.exchanged(m, swap.ExchangeBetween(from, to, name))
}

// swapByJournal replaces [Dir.swap] on systems that cannot exchange folders.
func (o *Dir) swapByJournal(m *manifest.Manifest) error {
	stage, err := o.parent.OpenRoot(o.stageName)
	if err != nil {
		return err
	}
	err = addNext(stage, m)
	stage.Close()
	if err != nil {
		return err
	}
	return o.commitJournal(o.parent, o.base+"/"+journalName)
}
