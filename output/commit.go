package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"golang.org/x/sync/errgroup"
)

// Commit makes the output folder what was put and kept, in one step, and returns what changed. If nothing changes, nothing is
// written, and with [Options.Check] in no case. After an error the folder is as it was, unless the text says otherwise. It always
// closes o.
func (o *Dir) Commit() (Changes, error) {
	defer o.Abort()
	if o.failed != nil {
		return Changes{}, o.failed
	}
	c := o.changes()
	if o.opts.Check || c.None() {
		return c, nil
	}
	if err := o.commit(); err != nil {
		return Changes{}, writeError(o.dir, err)
	}
	o.made = nil
	return c, nil
}

func (o *Dir) changes() Changes {
	c := Changes{Created: o.out == nil}
	if o.pending {
		c.Changed = []string{journalName}
		return c
	}
	for root, st := range o.roots {
		for _, name := range st.added {
			c.Added = append(c.Added, path.Join(root, name))
		}
		for _, name := range st.changed {
			c.Changed = append(c.Changed, path.Join(root, name))
		}
		c.Unchanged += len(st.same)
	}
	next := o.next()
	for root, files := range o.old {
		for name := range files {
			if _, stays := next[root][name]; !stays {
				c.Removed = append(c.Removed, path.Join(root, name))
			}
		}
	}
	slices.Sort(c.Added)
	slices.Sort(c.Changed)
	slices.Sort(c.Removed)
	return c
}

// next returns what the folder will have.
func (o *Dir) next() manifest {
	m := manifest{}
	for root, st := range o.roots {
		if len(st.files) > 0 {
			m[root] = st.files
		}
	}
	return m
}

func (o *Dir) commit() error {
	m := o.next()
	if dir := m.conflict(); dir != "" {
		return o.refuse("%s would be a folder of one root and a file of another", showPath(dir))
	}
	text := m.encode()
	if !m.fits(text) {
		return o.refuse("has more files or folders than %s can list", manifestName)
	}
	stage, err := o.staging()
	if err != nil {
		return err
	}
	if !o.inside {
		if err := o.linkSame(stage); err != nil {
			return err
		}
	}
	if err := finishStage(stage, text, m.perm()); err != nil {
		return err
	}
	if !o.inside {
		if err := stage.Chmod(".", o.mode); err != nil {
			return err
		}
	}
	o.closeStage()
	if o.out == nil {
		return o.install()
	}
	if err := o.rescan(); err != nil {
		return err
	}
	if err := o.checkLosses(m); err != nil {
		return err
	}
	if o.inside {
		return o.commitJournal(o.out, journalName)
	}
	return o.swap()
}

// finishStage adds the manifest and brings everything to the disk.
func finishStage(stage *os.Root, text []byte, perm fs.FileMode) error {
	dir, err := openFolder(stage, ".")
	if err != nil {
		return err
	}
	defer dir.close()
	if err := dir.create(manifestName, text, perm); err != nil {
		return err
	}
	return syncTree(stage)
}

// rescan refuses if files of others came into the folder while the run was rendering: an exchange would remove them.
func (o *Dir) rescan() error {
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
	if err := o.scan(); err != nil {
		return err
	}
	if len(o.foreign) > 0 && !(o.opts.Force && o.inside) {
		return o.refuseForeign(true)
	}
	return nil
}

// linkSame gives the files that did not change a second name in the staging folder.
func (o *Dir) linkSame(stage *os.Root) error {
	g, ctx := errgroup.WithContext(context.Background())
	g.SetLimit(4)
	for root, st := range o.roots {
		if len(st.same) == 0 || ctx.Err() != nil {
			continue
		}
		g.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = diag.Panicked("the output folder", p)
				}
			}()
			return o.linkRoot(stage, root, st)
		})
	}
	return g.Wait()
}

func (o *Dir) linkRoot(stage *os.Root, root string, st *rootState) error {
	from, err := openFolder(o.out, root)
	if notExist(err) && st.kept {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.close()
	to, err := makeFolder(stage, root)
	if err != nil {
		return err
	}
	defer to.close()
	for _, name := range st.same {
		// A kept file that the user removed stays removed: there is no newer one.
		if err := to.take(from, name); err != nil && !(st.kept && notExist(err)) {
			return writeError(path.Join(o.dir, root, name), err)
		}
	}
	return nil
}

// install gives the staging folder its final name, which nobody has yet.
func (o *Dir) install() error {
	err := renameNew(o.parent, o.stageName, o.base)
	if errors.Is(err, fs.ErrExist) {
		return o.refuse("was made by another program while krmflow was running")
	}
	if err == nil {
		o.stageName = ""
	}
	return err
}

// swap exchanges the staging folder with the output and removes what was there.
func (o *Dir) swap() error {
	err := exchange(o.parent, o.stageName, o.base)
	if errors.Is(err, errors.ErrUnsupported) {
		return o.commitJournal(o.parent, o.base+"/"+journalName)
	}
	if err != nil {
		return err
	}
	old := o.stageName
	o.stageName = ""
	if err := o.parent.RemoveAll(old); err != nil {
		return fmt.Errorf("the new files are in place, but %s with the previous ones cannot be removed: %w", old, withoutPath(err))
	}
	return nil
}
