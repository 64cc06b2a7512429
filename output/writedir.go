package output

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/known"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/output/names"
)

// Options says how [Open] treats the folder.
type Options struct {
	// Context makes [Dir.Put] fail with its cause when it ends; nil means never.
	Context context.Context
	// Inputs are the folders that are rendered and the files that were read for it: none may be the output or inside of it.
	Inputs []string
	// Places knows where they are, if the run has looked for that; it may be nil.
	Places *filestat.Dirs
	// Layout says which files a root has.
	Layout names.Layout
	// Roots are the folders that the run will put or keep, if that is known before: then [Open] refuses what [Dir.Commit] would.
	Roots []string
	// Base is the directory that the folders of the roots are relative to. A folder remembers it, so that other roots are
	// not taken for those that it has. "" if it is not known.
	Base string
	// Prune removes roots that the folder has and that the run neither puts nor keeps, and OnlyThese keeps them. Otherwise they are a
	// reason to refuse, in which Command, the command line of the run, is what the flags are shown with.
	Prune, OnlyThese bool
	Command          string
	// Force allows a folder that holds files that krmflow did not write. They stay; a render that has files of the same
	// names is refused. It also replaces files that were changed since krmflow wrote them, if the render still has them.
	Force bool
	// Check only compares: nothing is written, and [Dir.Commit] returns what would change. Roots that would have to be pruned are removed.
	Check bool
	// Known has what is known of the files of the folder, nil if nothing is: see [Dir.Reuse].
	Known *known.Files
	// Again tells that this process wrote the folder before, with the same Known, and will again. Then folders in which nothing has come or gone
	// since are not read, files in them not looked at unless they are to be replaced, and what is new is visible before it is brought to the disk:
	// if the machine loses power in that moment, files of the last run may be torn.
	Again bool
	// Wait is how long to wait for another run that writes the same folder; 0 means five seconds.
	Wait time.Duration
}

// A Dir is a folder that is about to receive the files of one run, in a folder per root. What
// the run writes is collected beside the folder and takes its place in one step at [Dir.Commit]; until then, and if
// the process dies at any moment, the folder holds what it held before. Files that are the same already are kept, so a
// run that changes nothing writes nothing.
//
// A file that was changed since krmflow wrote it, or that it never wrote, is neither replaced nor removed: a commit that would
// have to is refused (but see [Options.Force]). A symbolic link has no content that could be lost; one in the place of a file is replaced, never followed.
//
// [Dir.Put] and [Dir.Keep] are safe for concurrent use; every other method must be called when they have returned.
type Dir struct {
	dir   string // as the user named it
	opts  Options
	began time.Time

	parent *os.Root
	made   []string // folders above the output that did not exist, innermost first
	base   string   // the name in parent
	out    *os.Root // nil if the folder does not exist
	top    *folder  // the same, if Reuse has looked into it
	path   string   // the resolved absolute path
	lock   *outputLock

	// inside is true if the folder itself cannot be exchanged (a mount point) or holds files of others: staging happens
	// inside it, and a journal takes the place of the exchange.
	inside  bool
	pending bool // only with Check: an interrupted run must be completed first
	old     *manifest.Manifest
	from    string // opts.Base relative to the folder, "" if it is not known
	foreign map[string]fs.FileMode
	lost    map[string]bool // of foreign: files that may be krmflow's, although no manifest says so any more

	mu        sync.Mutex
	roots     map[string]*rootState
	found     map[string]bool // of lost: those that are what the run makes
	stage     *os.Root        // made when the first file must be written
	stageName string
	mode      fs.FileMode // what the folder will have
	changed   string      // the folder that Commit has exchanged
	shownAt   time.Time   // when others could see what it has there
	failed    error
}

// rootState is what one root will consist of. It is owned by the call of Put or Keep that registered it.
type rootState struct {
	folders map[string]*folderState // by their paths in the output
	kept    bool
	mended  bool // the manifest must be written in any case
}

// folderState is what one root has in one folder.
type folderState struct {
	files          map[string]manifest.Record
	same           []string // on disk already; the others are in the staging folder
	added, changed []string
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
	if !o.old.Roots[root] {
		return nil
	}
	for _, dir := range o.old.Of(root) {
		files := o.old.Files[dir]
		st.folders[dir] = &folderState{files: files, same: slices.Sorted(maps.Keys(files))}
	}
	return nil
}

// claim registers root, which may happen once.
func (o *Dir) claim(root string) (string, *rootState, error) {
	if root == "" {
		root = "."
	}
	if err := manifest.ValidRoot(root); err != nil {
		return "", nil, &RefusedError{Path: o.dir, Reason: err.Error()}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.roots[root] != nil {
		return "", nil, &RefusedError{Path: o.dir, Reason: fmt.Sprintf("two roots would be written to %s", names.Show(root))}
	}
	st := &rootState{folders: map[string]*folderState{}}
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
