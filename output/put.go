package output

import (
	"context"
	"io/fs"
	"iter"
	"path"
	"runtime"
	"sync"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output/manifest"
)

// rootFolders are the open folders of a root, in the output and in the staging folder. They are
// safe for concurrent use.
type rootFolders struct {
	o    *Dir
	root string
	open chan struct{} // semaphore for open files

	mu       sync.Mutex
	old, new map[string]*folder // by path, opened on demand
}

// maxOpen is the number of files of a root that are read or written concurrently. More do not
// help, because file systems serialize the creation of files in one folder, and the number of
// open files is limited.
const maxOpen = 2

func (o *Dir) folders(root string) *rootFolders {
	return &rootFolders{o: o, root: root, open: make(chan struct{}, maxOpen), old: map[string]*folder{}, new: map[string]*folder{}}
}

// output returns a folder of the existing output.
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

// staging returns a folder of the staging folder and creates it if necessary.
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

// A rootWriter writes files of one root. It is not safe for concurrent use.
type rootWriter struct {
	*rootFolders
	buf, cmp []byte
}

// buffers pools rootWriters without folders, so that roots reuse buffers.
var buffers sync.Pool

func (f *rootFolders) writer() *rootWriter {
	w, _ := buffers.Get().(*rootWriter)
	if w == nil {
		w = &rootWriter{}
	}
	w.rootFolders = f
	return w
}

// end returns the buffers to the pool.
func (w *rootWriter) end() {
	if cap(w.buf) < 1<<20 {
		buffers.Put(&rootWriter{buf: w.buf[:0], cmp: w.cmp})
	}
}

// A putFile is the result of putting a file.
type putFile struct {
	dir, name string
	manifest.Record
	had, same bool // in the old manifest; unchanged in the output
}

// put writes the files of a root.
func (o *Dir) put(root string, st *rootState, l *krm.List) error {
	paths, err := o.opts.Layout.Files(l)
	if err != nil {
		return &RefusedError{Path: path.Join(o.dir, root), Reason: err.Error()}
	}
	folders := o.folders(root)
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

// putEach writes one file per resource, using several cores for a long list.
func (f *rootFolders) putEach(paths []string, l *krm.List) ([]putFile, error) {
	files := make([]putFile, len(paths))
	err := l.Clone().Parts(func(part *krm.List) error { // l may be put for another root at the same time
		w := f.writer()
		defer w.end()
		for i, r := range part.All() {
			at := part.From() + i
			w.buf = yaml.AppendFile(w.buf[:0], r.Value())
			var err error
			if files[at], err = w.put(paths[at], secret.Perm(r.HoldsSecret())); err != nil {
				return err
			}
		}
		return nil
	})
	return files, err
}

// putShared writes files with several resources each, in the format of `build`.
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

// putFiles writes the files of a root as they are.
func (o *Dir) putFiles(root string, st *rootState, files iter.Seq2[File, error]) error {
	folders := o.folders(root)
	defer folders.close()
	w := folders.writer()
	defer w.end()
	var all []putFile
	for f, err := range files {
		if err != nil {
			return err
		}
		w.buf = append(w.buf[:0], f.Data...)
		put, err := w.put(f.Path, secret.Perm(f.Secret))
		if err != nil {
			return err
		}
		all = append(all, put)
	}
	o.note(root, st, all)
	return nil
}

// note records the files that were put in the state of the root.
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

// put makes w.buf the content of a file of the root. It writes nothing if the output already has
// this content.
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

// onDisk reports whether the file in the output has the content of w.buf. The manifest alone is
// not sufficient, because the file may have been edited. A file with a Secret must also be
// private, except with Check: a checkout from a repository does not preserve permissions.
func (w *rootWriter) onDisk(f putFile, perm fs.FileMode) bool {
	old, err := w.output(f.dir)
	if err != nil {
		return false
	}
	// One additional byte detects a longer file.
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
