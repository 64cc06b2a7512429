package output

import (
	"context"
	"io/fs"
	"path"
	"runtime"
	"sync"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output/manifest"
)

// rootFolders are the folders of a root in the output and in the staging folder. They are safe for concurrent use.
type rootFolders struct {
	o    *Dir
	root string
	open chan struct{} // holds an item for each of the files that are open

	mu       sync.Mutex
	old, new map[string]*folder // by path; made when they are needed
}

// maxOpen is how many files of a root are read or written at the same time: systems make those of one folder one after the other, and a
// process may have few open files.
const maxOpen = 2

// output returns a folder of what earlier runs wrote.
func (f *rootFolders) output(dir string) (_ *folder, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.old[dir] == nil {
		var d *folder
		if d, err = openFolder(f.o.out, dir); err == nil {
			f.old[dir] = d
		}
	}
	return f.old[dir], err
}

// staging returns a folder of what this run writes, and makes it if need be.
func (f *rootFolders) staging(dir string) (*folder, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.new[dir]; d != nil {
		return d, nil
	}
	stage, err := f.o.staging()
	if err != nil {
		return nil, err
	}
	d, err := makeFolder(stage, dir)
	if err == nil {
		f.new[dir] = d
	}
	return d, err
}

func (f *rootFolders) close() {
	for _, folders := range []map[string]*folder{f.old, f.new} {
		for _, d := range folders {
			d.close()
		}
	}
}

// A rootWriter puts files of one root.
type rootWriter struct {
	*rootFolders
	buf, cmp []byte
}

// buffers holds rootWriters without their folders, so that roots share buffers.
var buffers sync.Pool

func (f *rootFolders) writer() *rootWriter {
	w, _ := buffers.Get().(*rootWriter)
	if w == nil {
		w = &rootWriter{}
	}
	w.rootFolders = f
	return w
}

// end keeps the buffers for other roots.
func (w *rootWriter) end() {
	if cap(w.buf) < 1<<20 {
		buffers.Put(&rootWriter{buf: w.buf[:0], cmp: w.cmp})
	}
}

// A putFile is what is known about a file that was put.
type putFile struct {
	dir, name string
	manifest.Record
	had, same bool // whether krmflow wrote the file before, and whether the output has this content
}

// put puts the files of a root.
func (o *Dir) put(root string, st *rootState, l *krm.List) error {
	paths, err := o.opts.Layout.Files(l)
	if err != nil {
		return &RefusedError{Path: path.Join(o.dir, root), Reason: err.Error()}
	}
	folders := &rootFolders{o: o, root: root, open: make(chan struct{}, maxOpen), old: map[string]*folder{}, new: map[string]*folder{}}
	defer folders.close()
	var files []putFile
	if o.opts.Layout.Shared() {
		files, err = folders.putShared(paths, l)
	} else {
		files, err = folders.putEach(paths, l)
	}
	if err == nil {
		o.note(root, st, files)
	}
	return err
}

// putEach puts a file for each resource: those of a long list on several cores.
func (f *rootFolders) putEach(paths []string, l *krm.List) ([]putFile, error) {
	files := make([]putFile, len(paths))
	err := l.Clone().Parts(func(part *krm.List) error { // l itself may be put for another root meanwhile
		w := f.writer()
		defer w.end()
		for i, r := range part.All() {
			at := part.From() + i
			w.buf = yaml.AppendFile(w.buf[:0], r.Value())
			var err error
			if files[at], err = w.put(paths[at], secret.Perm(secret.In(r.Value()))); err != nil {
				return err
			}
		}
		return nil
	})
	return files, err
}

// putShared puts files that may hold several resources, each a stream as `build` prints it.
func (f *rootFolders) putShared(paths []string, l *krm.List) ([]putFile, error) {
	w := f.writer()
	defer w.end()
	content := map[string][]*krm.Resource{}
	var order []string
	for i, r := range l.All() {
		if content[paths[i]] == nil {
			order = append(order, paths[i])
		}
		content[paths[i]] = append(content[paths[i]], r)
	}
	files := make([]putFile, len(order))
	for i, file := range order {
		part := krm.NewList(content[file]...)
		w.buf = part.AppendYAML(w.buf[:0])
		var err error
		if files[i], err = w.put(file, secret.Perm(part.HoldsSecrets())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// note makes the state of a root that of the files that were put.
func (o *Dir) note(root string, st *rootState, files []putFile) {
	st.mended = o.old.Torn[root]
	for _, file := range files {
		at := st.folders[file.dir]
		if at == nil {
			at = &folderState{files: make(map[string]manifest.Record, len(files))}
			st.folders[file.dir] = at
		}
		at.files[file.name] = file.Record
		switch {
		case file.same:
			at.same = append(at.same, file.name)
		case file.had:
			at.changed = append(at.changed, file.name)
		default:
			at.added = append(at.added, file.name)
		}
		if file.same && !file.had {
			st.mended = true
			o.mu.Lock()
			o.found[path.Join(file.dir, file.name)] = true
			o.mu.Unlock()
		}
	}
}

// put makes w.buf the content of a file of the root.
func (w *rootWriter) put(file string, perm fs.FileMode) (putFile, error) {
	if ctx := w.o.opts.Context; ctx != nil && ctx.Err() != nil {
		return putFile{}, context.Cause(ctx)
	}
	at := path.Join(w.root, file)
	f := putFile{Record: manifest.RecordOf(at, w.buf, perm == secret.PrivatePerm)}
	f.dir, f.name = manifest.Split(at)
	w.open <- struct{}{}
	defer func() { <-w.open }()
	f.had = w.o.old.Lists(at)
	f.same = (w.o.old.Is(f.dir, f.name, f.Record) || w.o.lost[at]) && w.onDisk(f, perm)
	if f.same || w.o.opts.Check {
		return f, nil
	}
	return f, writeError(path.Join(w.o.dir, at), w.write(f, perm))
}

// onDisk reports whether the output has the content of w.buf; the manifest alone does not know of edits. Only what is to be written
// needs the permissions of a Secret: repositories do not keep them.
func (w *rootWriter) onDisk(f putFile, perm fs.FileMode) bool {
	old, err := w.output(f.dir)
	if err != nil {
		return false
	}
	// One byte more than needed shows a longer file.
	if need := len(w.buf) + 1; cap(w.cmp) < need {
		w.cmp = make([]byte, need+need/4)
	}
	n, has, err := old.read(f.name, w.cmp[:len(w.buf)+1])
	if perm == secret.PrivatePerm && has&0o077 != 0 && runtime.GOOS != "windows" && !w.o.opts.Check {
		return false
	}
	return err == nil && string(w.cmp[:n]) == string(w.buf)
}

func (w *rootWriter) write(f putFile, perm fs.FileMode) error {
	stage, err := w.staging(f.dir)
	if err != nil {
		return err
	}
	return stage.create(f.name, w.buf, perm)
}
