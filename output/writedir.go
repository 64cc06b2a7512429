package output

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Options says how [Open] treats the folder.
type Options struct {
	// Context makes [Dir.Put] fail with its cause when it ends; nil means never.
	Context context.Context
	// Inputs are the folders that are rendered; the output may not be one of them, inside one or above one.
	Inputs []string
	// Force allows a folder that holds files that krmflow did not write. They stay; a render that has files of the same
	// names is refused. It also replaces files that were changed since krmflow wrote them, if the render still has them.
	Force bool
	// Check only compares: nothing is written, and [Dir.Commit] returns what would change.
	Check bool
	// Wait is how long to wait for another run that writes the same folder; 0 means five seconds.
	Wait time.Duration
}

// A Dir is a folder that is about to receive the files of one run: one file per resource, in a folder per root. What
// the run writes is collected beside the folder and takes its place in one step at [Dir.Commit]; until then, and if
// the process dies at any moment, the folder holds what it held before. Files that are the same already are kept, so a
// run that changes nothing writes nothing.
//
// A file that was changed since krmflow wrote it, or that it never wrote, is neither replaced nor removed: a commit that would
// have to is refused (but see [Options.Force]). A symbolic link has no content that could be lost; one in the place of a file is replaced, never followed.
//
// [Dir.Put] and [Dir.Keep] are safe for concurrent use; every other method must be called when they have returned.
// A root that is neither put nor kept loses the files of earlier runs.
type Dir struct {
	dir  string // as the user named it
	opts Options

	parent *os.Root
	made   []string // folders above the output that did not exist, innermost first
	base   string   // the name in parent
	out    *os.Root // nil if the folder does not exist
	path   string   // the resolved absolute path
	lock   *outputLock

	// inside is true if the folder itself cannot be exchanged (a mount point) or holds files of others: staging happens
	// inside it, and a journal takes the place of the exchange.
	inside  bool
	pending bool // only with Check: an interrupted run must be completed first
	old     manifest
	foreign map[string]fs.FileMode

	mu        sync.Mutex
	roots     map[string]*rootState
	stage     *os.Root // made when the first file must be written
	stageName string
	mode      fs.FileMode // what the folder will have
	failed    error
}

// rootState is what one root will consist of. It is owned by the call of Put or Keep that registered it.
type rootState struct {
	files          map[string]record
	same           []string // on disk already; the others are in the staging folder
	added, changed []string
	kept           bool
}

// Changes tells what a run changes in the output folder; paths are relative to it and sorted.
type Changes struct {
	Added, Changed, Removed []string
	// Unchanged counts the files that stay as they are.
	Unchanged int
	// Created is true if the folder did not exist.
	Created bool
}

// None reports whether the folder already is what it would become.
func (c Changes) None() bool {
	return !c.Created && len(c.Added)+len(c.Changed)+len(c.Removed) == 0
}

// Put adds the resources of l as the files of root, a slash-separated path inside the output folder ("." or "" for the
// folder itself). It writes those that are new or different. After an error nothing will be committed.
func (o *Dir) Put(root string, l *krm.List) error {
	root, st, err := o.claim(root)
	if err != nil {
		return err
	}
	if err := o.put(root, st, l); err != nil {
		err = writeError(path.Join(o.dir, root), err)
		o.fail(err)
		return err
	}
	return nil
}

// Keep leaves the files that earlier runs wrote for root as they are: the root could not be rendered.
func (o *Dir) Keep(root string) error {
	root, st, err := o.claim(root)
	if err != nil {
		return err
	}
	st.kept = true
	st.files = o.old[root]
	st.same = slices.Sorted(maps.Keys(st.files))
	return nil
}

// claim registers root, which may happen once.
func (o *Dir) claim(root string) (string, *rootState, error) {
	if root == "" {
		root = "."
	}
	if err := validRoot(root); err != nil {
		return "", nil, &RefusedError{Path: o.dir, Reason: err.Error()}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.roots[root] != nil {
		return "", nil, &RefusedError{Path: o.dir, Reason: fmt.Sprintf("two roots would be written to %s", showPath(root))}
	}
	st := &rootState{}
	o.roots[root] = st
	return root, st, nil
}

func (o *Dir) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil {
		o.failed = err
	}
}

// rootFolders are the folder of a root in the output and in the staging folder. They are safe for concurrent use.
type rootFolders struct {
	o    *Dir
	root string
	open chan struct{} // holds an item for each of the files that are open

	mu       sync.Mutex
	old, new *folder // nil until needed
}

// maxOpen is how many files of a root are read or written at the same time: systems make those of one folder one after the other, and a
// process may have few open files.
const maxOpen = 2

// output returns the folder of what earlier runs wrote.
func (f *rootFolders) output() (_ *folder, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.old == nil {
		f.old, err = openFolder(f.o.out, f.root)
	}
	return f.old, err
}

// staging returns the folder of what this run writes, and makes it if need be.
func (f *rootFolders) staging() (*folder, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.new != nil {
		return f.new, nil
	}
	stage, err := f.o.staging()
	if err == nil {
		f.new, err = makeFolder(stage, f.root)
	}
	return f.new, err
}

func (f *rootFolders) close() {
	f.old.close()
	f.new.close()
}

// A rootWriter puts files of one root.
type rootWriter struct {
	*rootFolders
	buf, cmp []byte
}

// buffers holds rootWriters without their folders, so that roots share buffers.
var buffers sync.Pool

// A putFile is what is known about the file of a resource that was put.
type putFile struct {
	record
	had, same bool // whether the output has the file, and this content
}

// put puts the files of a root: those of a long list on several cores.
func (o *Dir) put(root string, st *rootState, l *krm.List) error {
	names, err := FileNames(l)
	if err != nil {
		return &RefusedError{Path: path.Join(o.dir, root), Reason: err.Error()}
	}
	folders := &rootFolders{o: o, root: root, open: make(chan struct{}, maxOpen)}
	defer folders.close()
	files := make([]putFile, len(names))
	err = l.Clone().Parts(func(part *krm.List) error { // l itself may be put for another root meanwhile
		w, _ := buffers.Get().(*rootWriter)
		if w == nil {
			w = &rootWriter{}
		}
		w.rootFolders = folders
		defer w.end()
		for i, r := range part.All() {
			if ctx := o.opts.Context; ctx != nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			var err error
			at := part.From() + i
			if files[at], err = w.put(names[at], r); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		st.note(names, files)
	}
	return err
}

// note makes the state of a root that of the files that were put.
func (st *rootState) note(names []string, files []putFile) {
	st.files = make(map[string]record, len(names))
	for i, name := range names {
		st.files[name] = files[i].record
		switch {
		case files[i].same:
			st.same = append(st.same, name)
		case files[i].had:
			st.changed = append(st.changed, name)
		default:
			st.added = append(st.added, name)
		}
	}
}

// end keeps the buffers for other roots.
func (w *rootWriter) end() {
	if cap(w.buf) < 1<<20 {
		buffers.Put(&rootWriter{buf: w.buf[:0], cmp: w.cmp})
	}
}

func (w *rootWriter) put(name string, r *krm.Resource) (putFile, error) {
	w.buf = yaml.AppendFile(w.buf[:0], r.Value())
	perm := filePerm(r)
	f := putFile{record: recordOf(path.Join(w.root, name), w.buf, perm == secretPerm)}
	w.open <- struct{}{}
	defer func() { <-w.open }()
	var was record
	was, f.had = w.o.old[w.root][name]
	f.same = f.had && was == f.record && w.onDisk(name, perm)
	if f.same || w.o.opts.Check {
		return f, nil
	}
	return f, writeError(path.Join(w.o.dir, w.root, name), w.write(name, perm))
}

// secretPerm are the permissions of files with Secrets: they are for their owner alone.
const secretPerm fs.FileMode = 0o600

// filePerm returns the permissions of the file of r, before the umask.
func filePerm(r *krm.Resource) fs.FileMode {
	if r.ID().Kind == "Secret" {
		return secretPerm
	}
	return 0o666
}

// onDisk reports whether the output has the content of w.buf under name; the manifest alone does not know of edits.
func (w *rootWriter) onDisk(name string, perm fs.FileMode) bool {
	old, err := w.output()
	if err != nil {
		return false
	}
	// One byte more than needed shows a longer file.
	if need := len(w.buf) + 1; cap(w.cmp) < need {
		w.cmp = make([]byte, need+need/4)
	}
	n, has, err := old.read(name, w.cmp[:len(w.buf)+1])
	if perm == secretPerm && has&0o077 != 0 && runtime.GOOS != "windows" {
		return false
	}
	return err == nil && string(w.cmp[:n]) == string(w.buf)
}

func (w *rootWriter) write(name string, perm fs.FileMode) error {
	stage, err := w.staging()
	if err != nil {
		return err
	}
	return stage.create(name, w.buf, perm)
}
