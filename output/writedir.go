package output

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
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

// Options configure [Open].
type Options struct {
	// Context makes [Dir.Put] fail with its cause when it is done; nil means never.
	Context context.Context
	// Inputs are the rendered folders and the files read for them. None of them may be the output
	// folder or inside of it.
	Inputs []string
	// Places has the resolved locations of Inputs, if they are known already; it may be nil.
	Places *filestat.Dirs
	// Layout determines the files of a root.
	Layout names.Layout
	// Roots are the folders that the run will put or keep, if known in advance. [Open] then
	// refuses the run for the same reasons as [Dir.Commit].
	Roots []string
	// Base is the directory that root folders are relative to, or "" if unknown. The output
	// folder records it, so that roots from a different directory are not mistaken for its own.
	Base string
	// Prune removes existing roots that the run neither puts nor keeps, and OnlyThese keeps them.
	// Without either, such roots are a reason to refuse. Command is the command line of the run,
	// for suggesting these flags in the message.
	Prune, OnlyThese bool
	Command          string
	// Shard makes the folder a partial folder. Its manifest then has this record, with the Roots
	// and Failed of the run. Others are the root folders of the other shards. With Check and a
	// complete folder, only the roots of this shard are compared, and the first shard also reports
	// the roots that no shard has.
	Shard  *manifest.Shard
	Others []string
	// Force permits foreign files in the folder. They are preserved, and a render with files of
	// the same names is refused. Force also replaces files that were edited since krmflow wrote
	// them, if the render still has them.
	Force bool
	// Check compares without writing; [Dir.Commit] returns the changes that a run would make.
	// Roots that would need pruning are reported as removed.
	Check bool
	// Known has the metadata of unchanged files from earlier runs, or nil; see [Dir.Reuse].
	Known *known.Files
	// Again is for a process that writes the folder repeatedly with the same Known. Folders
	// without added or removed entries are not listed again, unchanged files are not read unless
	// they are to be replaced, and changes become visible before they are synced to disk. A power
	// failure at that moment can leave torn files of the last run.
	Again bool
	// Wait is the time to wait for another run that writes the folder; 0 means five seconds.
	Wait time.Duration
}

// A Dir is an output folder during one run. The run writes to a staging folder, which replaces
// the output folder in one step at [Dir.Commit]. Until then, and if the process dies at any
// moment, the folder keeps its old content. Unchanged files are not rewritten, so a run without
// changes writes nothing.
//
// Files that krmflow did not write, and files edited since, are neither replaced nor removed. A
// commit that would have to do so is refused (but see [Options.Force]). A symbolic link in the
// place of a file has no content to lose; it is replaced and never followed.
//
// [Dir.Put] and [Dir.Keep] are safe for concurrent use. All other methods must be called after
// these have returned.
type Dir struct {
	dir   string // as named by the user
	opts  Options
	began time.Time

	parent *os.Root
	made   []string // created parents of the output, innermost first
	base   string   // name in parent
	out    *os.Root // nil if the folder does not exist
	top    *folder  // same as out, opened by Reuse
	path   string   // resolved absolute path
	lock   *outputLock

	// inside is true if the folder cannot be exchanged, because it is a mount point or has
	// foreign files. The staging folder is then inside of it, and a journal replaces the
	// exchange.
	inside  bool
	pending bool // an interrupted run must be completed first; only with Check
	old     *manifest.Manifest
	from    string // opts.Base relative to the folder; "" if unknown
	foreign map[string]fs.FileMode
	lost    map[string]bool // foreign files that may be krmflow's, from a lost manifest

	mu        sync.Mutex
	roots     map[string]*rootState
	found     map[string]bool // files of lost with the content that the run would write
	stage     *os.Root        // created for the first file
	stageName string
	mode      fs.FileMode // final mode of the folder
	changed   string      // the folder exchanged by Commit
	shownAt   time.Time   // when the new content became visible
	failed    error
}

// rootState is the new state of a root. It is owned by the call of Put or Keep that registered
// it.
type rootState struct {
	folders map[string]*folderState // by path in the output
	kept    bool
	mended  bool // the manifest must be rewritten
}

// folderState is the new state of one folder of a root.
type folderState struct {
	files          map[string]manifest.Record
	same           []string // already in the output; all others are in the staging folder
	added, changed []string
}

// Changes are the changes of a run to the output folder. Paths are relative to the folder and
// sorted.
type Changes struct {
	Added, Changed, Removed []string
	// Unchanged is the number of unchanged files.
	Unchanged int
	// Created is true if the folder did not exist.
	Created bool
}

// None reports whether there are no changes.
func (c Changes) None() bool {
	return !c.Created && len(c.Added)+len(c.Changed)+len(c.Removed) == 0
}

// Put adds the resources of l as the files of root, a slash-separated path inside the output
// folder ("." or "" for the folder itself). It writes new and changed files. After an error,
// Commit fails.
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

// A File is a file of a root, for [Dir.PutFiles]. Path is relative to the folder of the root.
// Secret has the meaning of [manifest.Record.Secret]. Data is not used after the next file was
// returned.
type File struct {
	Path   string
	Data   []byte
	Secret bool
}

// PutFiles adds a root whose files were rendered before, like [Dir.Put].
func (o *Dir) PutFiles(root string, files iter.Seq2[File, error]) error {
	root, st, err := o.claim(root)
	if err != nil {
		return err
	}
	if err := o.putFiles(root, st, files); err != nil {
		err = writeError(path.Join(o.dir, root), err)
		o.fail(err)
		return err
	}
	return nil
}

// Keep preserves the files that earlier runs wrote for root. It is for a root that cannot be
// rendered.
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

// claim registers root. A second call for the same root is an error.
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
