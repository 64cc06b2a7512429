package records

import (
	"bytes"
	"reflect"
	"slices"
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
	k, none := &dir{"/k", "/real/k"}, &dir{"/none", ""}
	r.trace = trace{
		dirs: []*dir{k, none},
		files: []*file{
			{dir: k, name: "kustomization.yaml", kind: loaders.SawFile, sum: krm.DigestOf([]byte("a")), link: "/x",
				stat: filestat.Stat{Dev: 1 << 63, Ino: 3, Size: 4, Mtime: -5, Ctime: 1 << 62, Mode: 0o644}},
			{dir: k, name: "empty", kind: loaders.SawFile},
			{dir: none, name: "kustomization.yml", kind: loaders.SawNothing},
			{dir: k, name: "dir", kind: loaders.SawNoDir},
			{dir: k, name: "templates", kind: loaders.SawFolder, sum: krm.DigestOf([]byte("names"))},
		},
		fetches: []fetch{{"https://x.example/r?ref=v1", reference.Dir, remote.FromUser, "sha256:00"}},
	}
	r.inputs = inputsOf(r.settings, &r.trace)
	return r
}

// A file outside of the tables causes no panic.
func TestRecordWithoutFile(t *testing.T) {
	text := example().Bytes()
	for i := range text {
		for _, c := range []byte{0, 7, 0x7f, 0xff} {
			changed := slices.Clone(text)
			changed[i] = c
			p, err := decodePack(changed)
			if err != nil {
				continue
			}
			for _, s := range p {
				for _, r := range s.records {
					for _, f := range r.trace.files {
						f.path()
					}
				}
			}
		}
	}
}

// The digest of a root's inputs covers everything except times.
func TestInputsDigestIgnoresTimes(t *testing.T) {
	of := func(r *Record) krm.Digest { return inputsOf(r.settings, &r.trace) }
	want := of(example())
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
		if of(r) == want {
			t.Errorf("change %d does not show", i)
		}
	}
	r := example()
	r.trace.files[0].stat = filestat.Stat{}
	if of(r) != want {
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

func FuzzPack(f *testing.F) {
	f.Add(example().Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decodePack(bytes.Clone(text))
		if err != nil {
			return
		}
		if again, err := decodePack(p.bytes()); err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%+v, want %+v; %v", again, p, err)
		}
	})
}
