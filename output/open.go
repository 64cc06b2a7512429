package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/internal/sys/swap"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/output/names"
)

const (
	stageSuffix = ".krmflow-" // followed by 16 random hexadecimal digits
	lockSuffix  = ".krmflow-lock"
	defaultWait = 5 * time.Second
)

// Open prepares for writing the folder dir, before anything is rendered. It locks the folder
// against other runs, cleans up after killed runs, and refuses folders that must not be written
// to. The caller must call [Dir.Commit] or [Dir.Abort].
//
// Errors are a [*RefusedError], a [*LockedError] or a [*WriteError].
func Open(dir string, opts Options) (*Dir, error) {
	o := &Dir{dir: dir, opts: opts, began: time.Now(), roots: map[string]*rootState{}, foreign: map[string]fs.FileMode{},
		found: map[string]bool{}, old: manifest.New()}
	if opts.Wait == 0 {
		o.opts.Wait = defaultWait
	}
	if err := o.open(); err != nil {
		o.Abort()
		return nil, err
	}
	return o, nil
}

func (o *Dir) refuse(format string, args ...any) error {
	return &RefusedError{Path: o.dir, Reason: fmt.Sprintf(format, args...)}
}

// refuseInput refuses a folder that contains input, because output files would be mixed with it.
func (o *Dir) refuseInput(format, in string) error {
	return &RefusedError{Path: o.dir, Reason: fmt.Sprintf(format, names.Show(in)),
		Hint: "choose a folder of its own for the output, for instance out/"}
}

func (o *Dir) open() error {
	if err := o.checkPlace(); err != nil {
		return err
	}
	if err := o.openParent(); err != nil || o.parent == nil {
		return err
	}
	if err := o.takeLock(); err != nil {
		return err
	}
	if !o.opts.Check && !o.inside {
		sweep(o.parent, o.base)
	}
	if err := o.openOut(); err != nil || o.out == nil {
		return err
	}
	if err := o.finishInterrupted(); err != nil || o.pending {
		return err
	}
	return o.readState()
}

// checkPlace refuses a folder for reasons that follow from its path alone.
func (o *Dir) checkPlace() error {
	if o.dir == "" {
		return o.refuse("the output folder has no name")
	}
	abs, err := filepath.Abs(o.dir)
	if err != nil {
		return o.refuse("%v", err)
	}
	if filepath.Dir(abs) == abs {
		return o.refuse("is the root of the file system")
	}
	if info, err := os.Lstat(abs); err == nil {
		if err := o.checkFolder(info, abs); err != nil {
			return err
		}
	}
	o.path = filepath.Join(filestat.Resolve(filepath.Dir(abs)), filepath.Base(abs))
	o.base = filepath.Base(abs)
	o.from = o.relative(o.opts.Base)
	out, _ := os.Stat(o.path) // nil if it does not exist
	places := cmp.Or(o.opts.Places, &filestat.Dirs{})
	wd, err := os.Getwd()
	for _, in := range o.opts.Inputs {
		abs := filepath.Join(wd, in)
		if filepath.IsAbs(in) || err != nil {
			abs = in
		}
		if err := o.checkInput(in, filepath.Clean(abs), out, places); err != nil {
			return err
		}
	}
	if err == nil && diag.Within(filestat.Resolve(wd), o.path) {
		return &RefusedError{Path: o.dir, Reason: "is or contains the current folder, which a render would replace",
			Hint: "run krmflow from a different folder"}
	}
	return nil
}

func (o *Dir) checkFolder(info fs.FileInfo, path string) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		return o.refuse("is a symbolic link to %s; name the folder itself", names.Show(target))
	case !info.IsDir():
		return o.refuse("is a file, not a folder")
	}
	return nil
}

func (o *Dir) checkInput(in, abs string, out fs.FileInfo, places *filestat.Dirs) error {
	real, info := places.Find(abs)
	if real == "" { // a file, or missing
		real = filestat.Resolve(abs)
		info, _ = os.Stat(real)
	}
	switch {
	case real == o.path, info != nil && out != nil && os.SameFile(info, out):
		return o.refuse("is the input folder %s", names.Show(in))
	case diag.Within(real, o.path) && info != nil && !info.IsDir():
		return o.refuseInput("holds the input %s", in)
	case diag.Within(real, o.path):
		return o.refuseInput("holds the input folder %s", in)
	}
	return nil
}

// openParent opens the parent of the output folder and creates it if necessary. With Check it may
// be missing.
func (o *Dir) openParent() error {
	dir := filepath.Dir(o.path)
	if !o.opts.Check {
		for d := dir; ; d = filepath.Dir(d) {
			if _, err := os.Lstat(d); !notExist(err) {
				break
			}
			o.made = append(o.made, d)
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return o.refuse("cannot make %s: %v", names.Show(dir), withoutPath(err))
		}
	}
	parent, err := os.OpenRoot(dir)
	if o.opts.Check && notExist(err) {
		return nil
	}
	if err != nil {
		return o.refuse("cannot open %s: %v", names.Show(dir), withoutPath(err))
	}
	o.parent = parent
	return nil
}

// takeLock locks the output. The lock file is next to the folder. For a mount point it is inside,
// because the parent is on a different file system and is often not writable. Check creates no
// lock file; it only waits for a run that holds one.
func (o *Dir) takeLock() error {
	o.inside = swap.IsMountPoint(o.path)
	dir, name := o.parent, o.base+lockSuffix
	if o.inside {
		mount, err := o.parent.OpenRoot(o.base)
		if err != nil {
			return o.refuse("%v", withoutPath(err))
		}
		o.out, dir, name = mount, mount, lockSuffix
	}
	if o.opts.Check {
		if _, err := dir.Lstat(name); err != nil {
			return nil
		}
	}
	lock, err := lockOutput(dir, name, o.dir, o.opts.Wait)
	o.lock = lock
	return err
}

// openOut opens the output folder. It does so after locking, because another run may have
// exchanged the folder before.
func (o *Dir) openOut() error {
	info, err := o.parent.Lstat(o.base)
	if notExist(err) {
		return nil
	}
	if err != nil {
		return o.refuse("%v", withoutPath(err))
	}
	if err := o.checkFolder(info, o.path); err != nil {
		return err
	}
	if o.out == nil {
		if o.out, err = o.parent.OpenRoot(o.base); err != nil {
			return o.refuse("%v", withoutPath(err))
		}
	}
	if err := swap.CheckWritable(o.path); err != nil && !o.opts.Check {
		return o.refuse("cannot write to it: %v", err)
	}
	o.mode = info.Mode()
	return nil
}

// finishInterrupted completes or removes the leftovers of killed runs. The caller must hold the
// lock.
func (o *Dir) finishInterrupted() error {
	if o.opts.Check {
		info, err := o.out.Lstat(journalName)
		o.pending = err == nil && info.IsDir()
		return nil
	}
	err := rollForward(o.out, o.dir, o.opts.Force)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return err
	case err != nil:
		return &WriteError{path.Join(o.dir, journalName), fmt.Errorf("cannot complete the run that was interrupted: %w", withoutPath(err))}
	}
	sweep(o.out, "")
	return nil
}

// sweep removes staging folders of killed runs from dir. Errors are ignored, because leftovers do
// no harm.
func sweep(dir *os.Root, base string) {
	entries, _ := listFolder(dir, ".")
	for _, e := range entries {
		if e.IsDir() && isStageName(e.Name(), base) {
			dir.RemoveAll(e.Name())
		}
	}
}

func newStageName(base string) string {
	return fmt.Sprintf("%s%s%016x", base, stageSuffix, rand.Uint64())
}

func isStageName(name, base string) bool {
	digits, ok := strings.CutPrefix(name, base+stageSuffix)
	return ok && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}

// readState reads the manifests and finds foreign files.
func (o *Dir) readState() error {
	now, err := discover(o.out, o.leading(), o.lists())
	if err != nil {
		return now.refuse(o.dir, err)
	}
	o.old = now.Manifest
	if err := o.scan(".", now); err != nil {
		return err
	}
	o.lost = o.mayBeOurs()
	if err := o.refuseStrangers(nil); err != nil {
		return err
	}
	if o.opts.Roots == nil {
		return nil
	}
	runs := map[string]bool{}
	for _, root := range o.opts.Roots {
		runs[path.Clean(root)] = true
	}
	return o.refuseDropped(runs)
}

// lists returns the folder listings known from earlier runs, nil without [Options].Known.
func (o *Dir) lists() *known.Listings {
	k := o.opts.Known
	if k == nil {
		return nil
	}
	if k.Lists == nil || k.Lists.Top() != o.path {
		k.Lists = known.NewListings(o.path)
	}
	return k.Lists
}

// leading returns the folders of the run's roots and their parents.
func (o *Dir) leading() map[string]bool {
	dirs := map[string]bool{}
	for _, root := range o.opts.Roots {
		for dir := path.Clean(root); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	return dirs
}

// mayBeOurs returns the foreign files that may belong to a root with a missing or torn manifest.
// They are taken over only if Put finds that they have the content it would write.
func (o *Dir) mayBeOurs() map[string]bool {
	lost := map[string]bool{}
	for _, root := range o.opts.Roots {
		root = path.Clean(root)
		if o.old.Roots[root] && !o.old.Torn[root] {
			continue
		}
		for name, mode := range o.foreign {
			if dir, base := manifest.Split(name); dir == root && mode.IsRegular() && names.Valid(base) {
				lost[name] = true
			}
		}
	}
	return lost
}

// refuseStrangers refuses a folder with foreign files, unless they are permitted. Files in o.lost
// are permitted if they are in found, or provisionally if found is nil.
func (o *Dir) refuseStrangers(found map[string]bool) error {
	var strangers []string
	refuse := false
	for name, mode := range o.foreign {
		ours := o.lost[name] && (found == nil || found[name])
		switch {
		case o.companion(name), o.opts.Force && !ours:
			o.inside = true
			continue
		case ours && (found != nil || o.opts.Force):
			continue
		case mode.IsDir():
			name += "/"
		}
		refuse = refuse || !ours
		strangers = append(strangers, name)
	}
	if !refuse {
		return nil
	}
	slices.Sort(strangers)
	refused := &RefusedError{Path: o.dir, Reason: "holds files that krmflow did not write", Names: strangers,
		Hint: "choose another folder, or keep them beside the output with --force"}
	if len(o.old.Roots) == 0 && o.old.Text(".") == "" {
		refused.Reason += ", and no " + manifest.Name
	}
	if found != nil && len(o.lost) > 0 {
		refused.Hint = "if krmflow wrote them, restore the " + manifest.Name + " that lists them, for example from git\n" + refused.Hint
	}
	return refused
}

// companion reports whether a foreign file is always permitted next to the output: git's files at
// the top of a checkout, and the files that Argo CD writes in the hydrator layout.
func (o *Dir) companion(file string) bool {
	dir, name := manifest.Split(file)
	return dir == "." && strings.HasPrefix(name, ".git") || o.opts.Layout.Hydrator() && slices.Contains(names.Companions, name)
}

// refuseDropped refuses a run that does not render all roots of the folder, unless the options
// permit that.
func (o *Dir) refuseDropped(runs map[string]bool) error {
	moved := o.from != "" && o.old.Base != "" && o.from != o.old.Base
	dropped := o.dropped(func(root string) bool { return runs[root] && !moved })
	if o.opts.OnlyThese && o.old.Base == "" && len(dropped) > 0 && len(dropped) == len(o.old.Roots) {
		return &RefusedError{Path: o.dir,
			Reason: "does not record which directories its roots come from, and has none of the roots of this run", Names: dropped,
			Hint: "render all roots once without --only-these"}
	}
	again := o.opts.Shard != nil && o.old.Shard != nil // nothing but a join reads a partial folder
	if len(dropped) == 0 || o.opts.Prune || again || o.opts.Check && !o.opts.OnlyThese || o.opts.OnlyThese && !moved {
		return nil
	}
	refused := &RefusedError{Path: o.dir, Names: dropped}
	what := "roots"
	if len(dropped) == 1 {
		what = "root"
	}
	refused.Reason = fmt.Sprintf("holds %d %s that this run does not render", len(dropped), what)
	if moved {
		refused.Names = slices.DeleteFunc(dropped, func(root string) bool { return root == "." })
		refused.Reason = fmt.Sprintf("holds output rendered from %s, but this run renders %s", o.shown(o.old.Base), o.shown(o.from))
	}
	command := strings.TrimPrefix(o.opts.Command+" ", " ")
	command = strings.Replace(command, " --only-these ", " ", 1) // --prune excludes it
	refused.Hint = "to remove their files: " + command + "--prune"
	switch {
	case !moved && o.opts.Shard == nil:
		refused.Hint += "\nto keep them as they are: " + command + "--only-these"
	case within(o.old.Base, o.from):
		refused.Hint = "to keep the roots that this run does not render: " + command + "--only-these\n" + refused.Hint
	}
	return refused
}

// within reports whether path is dir or is below it. Both are slash-separated.
func within(dir, path string) bool {
	rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(path))
	return err == nil && filepath.IsLocal(rel)
}

// dropped returns the roots of the folder that are not in the run, sorted.
func (o *Dir) dropped(runs func(root string) bool) []string {
	var dropped []string
	for root := range o.old.Roots {
		if !runs(root) {
			dropped = append(dropped, root)
		}
	}
	slices.Sort(dropped)
	return dropped
}

// shown converts a path relative to the folder to a path relative to the working directory, for
// messages.
func (o *Dir) shown(base string) string {
	abs := filepath.Join(o.path, filepath.FromSlash(base))
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(filestat.Resolve(wd), abs); err == nil {
			abs = rel
		}
	}
	return names.Show(abs)
}

// relative returns the path of a directory relative to the folder. It returns "" if they only
// have the root of the file system in common, because such a path has no meaning on other
// machines.
func (o *Dir) relative(dir string) string {
	abs, err := filepath.Abs(dir)
	rel, relErr := filepath.Rel(o.path, filestat.Resolve(abs))
	if dir == "" || err != nil || relErr != nil {
		return ""
	}
	rel = filepath.ToSlash(rel)
	if up := strings.TrimSuffix(filepath.ToSlash(o.path), "/"); strings.HasPrefix(rel+"/", strings.Repeat("../", strings.Count(up, "/"))) {
		return ""
	}
	return rel
}

// scan walks a part of the folder and records the foreign entries: those that no manifest lists,
// and listed entries of a different type. Records for the rest of the folder are kept.
func (o *Dir) scan(part string, now *found) error {
	maps.DeleteFunc(o.foreign, func(name string, _ fs.FileMode) bool { return part == "." || strings.HasPrefix(name, part+"/") })
	known := o.leading()
	maps.Copy(known, o.old.Folders())
	return o.scanFolder(part, known, now)
}

func (o *Dir) scanFolder(dir string, known map[string]bool, now *found) error {
	seen, err := now.list(o.out, dir, o.lists())
	if err == nil && dir != "." && !seen.Writable && !o.opts.Check {
		if err = swap.CheckWritable(filepath.Join(o.path, filepath.FromSlash(dir))); err != nil {
			return o.refuse("%s: cannot write to it: %v", names.Show(dir), err)
		}
		seen.Writable = true
	}
	if err != nil {
		return o.refuse("%s: %v", names.Show(dir), withoutPath(err))
	}
	files := o.old.Files[dir]
	for _, e := range seen.Entries {
		if _, listed := files[e.Name()]; listed && e.Type().IsRegular() || o.ours(dir, e) {
			continue
		}
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && known[name]:
			if err := o.scanFolder(name, known, now); err != nil {
				return err
			}
		case !e.Type().IsRegular() && e.Type()&fs.ModeSymlink == 0, !o.old.Lists(name):
			o.foreign[name] = e.Type()
		}
	}
	return nil
}

// ours reports whether a directory entry belongs to krmflow itself, for example a manifest or the
// journal.
func (o *Dir) ours(dir string, e fs.DirEntry) bool {
	switch {
	case e.Name() == manifest.Name:
		return e.Type().IsRegular() && (dir == "." || o.old.Roots[dir])
	case dir != ".":
		return false
	case e.Name() == lockSuffix:
		return e.Type().IsRegular()
	case e.Name() == journalName:
		return e.IsDir()
	}
	return e.IsDir() && isStageName(e.Name(), "")
}

// staging returns the staging folder and creates it on the first call. Only its owner can read
// it, because it contains Secrets and does not have its final state yet.
func (o *Dir) staging() (*os.Root, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stage != nil {
		return o.stage, nil
	}
	dir, name := o.parent, newStageName(o.base)
	if o.inside {
		dir, name = o.out, newStageName("")
	}
	if err := dir.Mkdir(name, 0o777); err != nil {
		return nil, err
	}
	o.stageName = name
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if o.out == nil {
		o.mode = info.Mode() // as determined by the umask
	}
	if o.stage, err = dir.OpenRoot(name); err != nil {
		return nil, err
	}
	return o.stage, o.stage.Chmod(".", 0o700)
}

// Abort discards the run: the output folder does not change. It does nothing after [Dir.Commit].
func (o *Dir) Abort() {
	o.closeStage()
	if o.stageName != "" {
		if o.inside {
			o.out.RemoveAll(o.stageName)
		} else {
			o.parent.RemoveAll(o.stageName)
		}
		o.stageName = ""
	}
	o.close()
	for _, dir := range o.made {
		os.Remove(dir) // fails if it is used by now
	}
	o.made = nil
}

// closeStage closes the staging folder and the folder opened by [Dir.Reuse]. Some systems cannot
// rename or remove an open folder.
func (o *Dir) closeStage() {
	o.top.close()
	o.top = nil
	if o.stage != nil {
		o.stage.Close()
		o.stage = nil
	}
}

// close releases the lock and closes all folders.
func (o *Dir) close() {
	o.closeStage()
	o.lock.release()
	o.lock = nil
	for _, dir := range []**os.Root{&o.out, &o.parent} {
		if *dir != nil {
			(*dir).Close()
			*dir = nil
		}
	}
}

// Base returns the base directory of the roots in an output folder, which is [Options].Base of
// the run that wrote it. It returns "" if that is unknown.
func Base(dir string) string {
	out, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer out.Close()
	m := manifest.New()
	text, err := readText(out, manifest.Name)
	if err != nil || m.Read(".", text) != nil || m.Base == "" {
		return ""
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	return filepath.Join(abs, filepath.FromSlash(m.Base))
}
