package records

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/reference"
)

func example() *Record {
	r := &Record{
		settings:  []Setting{{"krmflow", "v1"}, {"--reorder", "legacy"}},
		Rendered:  true,
		Functions: []Setting{{"k#transformers[0]", "f sha256:00"}},
		Planned: []planner.Warning{{Pos: diag.Pos{File: "k/kustomization.yaml", Line: 7}, Field: "vars", Msg: "deprecated",
			Hints: []string{"a", ""},
			Code:  diag.Deprecated}},
		Ran:         []planner.Warning{{Msg: "x"}},
		Unavailable: []planner.Warning{{Msg: "y"}},
		Text:        krm.DigestOf([]byte("text")),
		forms:       []form{{krm.DigestOf([]byte("key")), krm.DigestOf([]byte("files"))}},
	}
	r.trace = trace{
		dirs: []dir{{"/k", "/real/k"}, {"/none", ""}},
		files: []file{
			{dir: 0, name: "kustomization.yaml", kind: loaders.SawFile, sum: krm.DigestOf([]byte("a")), link: "/x",
				stat: filestat.Stat{Dev: 1 << 63, Ino: 3, Size: 4, Mtime: -5, Ctime: 1 << 62, Mode: 0o644}},
			{dir: 0, name: "empty", kind: loaders.SawFile},
			{dir: 1, name: "kustomization.yml", kind: loaders.SawNothing},
			{dir: 0, name: "dir", kind: loaders.SawNoDir},
			{dir: 0, name: "templates", kind: loaders.SawFolder, sum: krm.DigestOf([]byte("names"))},
		},
		fetches: []fetch{{"https://x.example/r?ref=v1", reference.Dir, remote.FromUser, "sha256:00"}},
	}
	r.inputs = inputsOf(r)
	return r
}

func inputsOf(r *Record) krm.Digest { return krm.DigestOf(contentsOf(r.settings, &r.trace)) }

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	r := example()
	text := r.Bytes()
	d := &decoder{b: string(text)}
	if got := d.record(); d.err != nil || d.b != "" || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v, want %+v; %v, %d bytes left", got, r, d.err, len(d.b))
	}
	made := example() // by a run, not by reading
	made.contents = contentsOf(made.settings, &made.trace)
	if !bytes.Equal(made.Bytes(), text) {
		t.Error("a record is written otherwise when it is new")
	}
	for i := range text {
		d := &decoder{b: string(text[:i])}
		if d.record(); d.err == nil {
			t.Errorf("the first %d of %d bytes are a record", i, len(text))
		}
	}
}

// A file in a missing directory causes no panic.
func TestRecordWithoutDirectory(t *testing.T) {
	for _, dir := range []int{2, -1} {
		r := example()
		r.trace.files[0].dir = dir
		d := newDecoder(r.Bytes())
		if d.record(); d.err == nil {
			t.Errorf("there is a directory %d", dir)
		}
	}
}

// The digest of a root's inputs covers everything except times.
func TestInputsDigestIgnoresTimes(t *testing.T) {
	want := inputsOf(example())
	for i, change := range []func(*Record){
		func(r *Record) { r.settings[0].Value = "v2" },
		func(r *Record) { r.trace.dirs[0].real = "/elsewhere" },
		func(r *Record) { r.trace.files[0].sum = krm.DigestOf([]byte("b")) },
		func(r *Record) { r.trace.files[2].kind = loaders.SawNoDir },
		func(r *Record) { r.trace.files = r.trace.files[1:] },
		func(r *Record) { r.trace.fetches[0].came = "sha256:11" },
	} {
		r := example()
		change(r)
		if inputsOf(r) == want {
			t.Errorf("change %d does not show", i)
		}
	}
	r := example()
	r.trace.files[0].stat = filestat.Stat{}
	if inputsOf(r) != want {
		t.Error("what the file system says shows")
	}
}

func TestOldestFormIsDropped(t *testing.T) {
	r := &Record{}
	key := func(i int) krm.Digest { return krm.Digest{byte(i)} }
	for i := range maxForms + 2 {
		r.SetForm(key(i), krm.Digest{1})
	}
	r.SetForm(key(maxForms+1), krm.Digest{2})
	if files, ok := r.Form(key(maxForms + 1)); !ok || files != (krm.Digest{2}) || len(r.forms) != maxForms {
		t.Errorf("%v, %t of %d", files, ok, len(r.forms))
	}
	if _, ok := r.Form(key(0)); ok {
		t.Error("the oldest form is still there")
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(example().Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		d := &decoder{b: string(text)}
		if r := d.record(); d.err == nil {
			again := &decoder{b: string(r.Bytes())}
			if got := again.record(); !reflect.DeepEqual(got, r) {
				t.Errorf("%+v, want %+v", got, r)
			}
		}
	})
}
