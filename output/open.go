package output

import (
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
)

const (
	stageSuffix = ".krmflow-" // and 16 random hexadecimal digits
	lockSuffix  = ".krmflow-lock"
	defaultWait = 5 * time.Second
)

// Open prepares to write the folder dir. It takes the lock that keeps other runs away, clears up after runs that
// were killed, and refuses what must not be written to: all of that before anything is rendered. The caller must end
// with [Dir.Commit] or [Dir.Abort].
//
// Errors are a [*RefusedError], a [*LockedError] or a [*WriteError].
func Open(dir string, opts Options) (*Dir, error) {
	o := &Dir{dir: dir, opts: opts, roots: map[string]*rootState{}, old: manifest{}}
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

// checkPlace refuses what can be refused by looking at the path alone.
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
	o.path = filepath.Join(resolvePath(filepath.Dir(abs)), filepath.Base(abs))
	o.base = filepath.Base(abs)
	for _, in := range o.opts.Inputs {
		if err := o.checkInput(in); err != nil {
			return err
		}
	}
	if wd, err := os.Getwd(); err == nil && diag.Within(resolvePath(wd), o.path) {
		return &RefusedError{Path: o.dir, Reason: "is the current folder or holds it, and a render takes its place",
			Hint: "run krmflow from outside of it"}
	}
	return nil
}

func (o *Dir) checkFolder(info fs.FileInfo, path string) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		return o.refuse("is a symbolic link to %s; name the folder itself", showPath(target))
	case !info.IsDir():
		return o.refuse("is a file, not a folder")
	}
	return nil
}

func (o *Dir) checkInput(in string) error {
	abs, err := filepath.Abs(in)
	if err != nil {
		return o.refuse("%v", err)
	}
	real := resolvePath(abs)
	inInfo, inErr := os.Stat(real)
	outInfo, outErr := os.Stat(o.path)
	switch {
	case real == o.path, inErr == nil && outErr == nil && os.SameFile(inInfo, outInfo):
		return o.refuse("is the input folder %s", showPath(in))
	case diag.Within(o.path, real):
		return o.refuse("lies inside the input folder %s", showPath(in))
	case diag.Within(real, o.path):
		return o.refuse("holds the input folder %s", showPath(in))
	}
	return nil
}

// resolvePath resolves the links of the part of path that exists.
func resolvePath(path string) string {
	rest := ""
	for {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(path)
		if up == path {
			return filepath.Join(path, rest)
		}
		path, rest = up, filepath.Join(filepath.Base(path), rest)
	}
}

// openParent opens the folder that holds the output and makes it if need be. With Check it may be missing.
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
			return o.refuse("cannot make %s: %v", showPath(dir), withoutPath(err))
		}
	}
	parent, err := os.OpenRoot(dir)
	if o.opts.Check && notExist(err) {
		return nil
	}
	if err != nil {
		return o.refuse("cannot open %s: %v", showPath(dir), withoutPath(err))
	}
	o.parent = parent
	return nil
}

// takeLock locks the output. The lock file lies beside it, or, since beside a mount point is another file system that
// often cannot be written to, inside. Check makes no file: it only waits for a run that has one.
func (o *Dir) takeLock() error {
	o.inside = isMountPoint(o.path)
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

// openOut opens the output folder, which may have been exchanged while we waited for the lock.
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
	if err := checkWritable(o.path); err != nil && !o.opts.Check {
		return o.refuse("cannot write to it: %v", err)
	}
	o.mode = info.Mode()
	return nil
}

// finishInterrupted completes or removes what killed runs left. Only the holder of the lock may do that.
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

// sweep removes staging folders that killed runs left in dir. What cannot be removed does no harm.
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

// readState reads the manifest and looks for files that are not in it.
func (o *Dir) readState() error {
	m, err := readManifest(o.out)
	switch {
	case err == nil:
		o.old = m
	case !notExist(err):
		return badManifest(o.dir, err)
	}
	if err := o.scan(); err != nil {
		return err
	}
	if len(o.foreign) == 0 {
		return nil
	}
	if o.opts.Force {
		o.inside = true
		return nil
	}
	return o.refuseForeign(m != nil)
}

func (o *Dir) refuseForeign(hasManifest bool) error {
	names := slices.Sorted(maps.Keys(o.foreign))
	for i, name := range names {
		if o.foreign[name].IsDir() {
			names[i] = name + "/"
		}
	}
	reason := "holds files that krmflow did not write, and no " + manifestName
	if hasManifest {
		reason = "holds files that krmflow did not write"
	}
	return &RefusedError{Path: o.dir, Reason: reason, Names: names,
		Hint: "choose another folder, or keep them beside the output with --force"}
}

// scan walks the folder and records what the manifest does not list, or lists as what it is not.
func (o *Dir) scan() error {
	o.foreign = map[string]fs.FileMode{}
	return o.scanFolder(".", o.old.folders())
}

func (o *Dir) scanFolder(dir string, known map[string]bool) error {
	entries, err := listFolder(o.out, dir)
	if err != nil {
		return o.refuse("%s: %v", showPath(dir), withoutPath(err))
	}
	for _, e := range entries {
		if dir == "." && o.ours(e) {
			continue
		}
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && known[name]:
			if err := checkWritable(filepath.Join(o.path, filepath.FromSlash(name))); err != nil && !o.opts.Check {
				return o.refuse("%s: cannot write to it: %v", showPath(name), err)
			}
			if err := o.scanFolder(name, known); err != nil {
				return err
			}
		case !e.Type().IsRegular() && e.Type()&fs.ModeSymlink == 0, !o.old.lists(name):
			o.foreign[name] = e.Type()
		}
	}
	return nil
}

// ours reports whether an entry of the folder itself is one that krmflow keeps there.
func (o *Dir) ours(e fs.DirEntry) bool {
	switch e.Name() {
	case manifestName, lockSuffix:
		return e.Type().IsRegular()
	case journalName:
		return e.IsDir()
	}
	return e.IsDir() && isStageName(e.Name(), "")
}

// staging returns the folder that collects what will be written; the first call makes it. Only its owner can look into
// it: it holds Secrets, and not yet the final state.
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
		o.mode = info.Mode() // what the umask makes of a new folder
	}
	if o.stage, err = dir.OpenRoot(name); err != nil {
		return nil, err
	}
	return o.stage, o.stage.Chmod(".", 0o700)
}

// Abort gives up: nothing in the output folder changes. It does nothing after [Dir.Commit].
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
		os.Remove(dir) // fails if somebody uses it now
	}
	o.made = nil
}

// closeStage closes the staging folder: some systems do not rename or remove what is open.
func (o *Dir) closeStage() {
	if o.stage != nil {
		o.stage.Close()
		o.stage = nil
	}
}

// close releases the lock and the open folders.
func (o *Dir) close() {
	o.lock.release()
	o.lock = nil
	for _, dir := range []**os.Root{&o.out, &o.parent} {
		if *dir != nil {
			(*dir).Close()
			*dir = nil
		}
	}
}
