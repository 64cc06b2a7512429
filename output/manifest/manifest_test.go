package manifest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
)

const sum = "0000000000000000000000000000000000000000000000000000000000000000"

// example returns a Manifest of several roots, one of them with files in its own subfolder.
func example() *Manifest {
	m := New()
	m.Base = "../overlays"
	m.add(".", "v1_configmap_x.yaml", RecordOf("v1_configmap_x.yaml", []byte("x"), false))
	m.add(".", "line\nbreak.yaml", Record{})
	m.add(".", "quote\".yaml", Record{})
	m.add("a", "\xff.yaml", Record{Sum: krm.Digest{1}})
	m.add("a", "ns/x.yaml", Record{Sum: krm.Digest{2}, Secret: true})
	m.add("a/b\n/x", "x.yml", Record{Sum: krm.Digest{3}})
	return m
}

// readAll returns the combined manifests of a folder.
func readAll(t *testing.T, texts map[string]string) *Manifest {
	t.Helper()
	m := New()
	for _, dir := range slices.Sorted(maps.Keys(texts)) {
		if err := m.Read(dir, texts[dir]); err != nil {
			t.Fatalf("%s: %v\n%s", dir, err, texts[dir])
		}
	}
	return m
}

func same(m, o *Manifest) bool {
	return m.Base == o.Base && maps.Equal(m.Roots, o.Roots) && reflect.DeepEqual(m.Files, o.Files) && reflect.DeepEqual(m.also, o.also)
}

func TestRoundTrip(t *testing.T) {
	m := example()
	texts := m.Encode()
	if len(texts) != 3 {
		t.Errorf("%d manifests: %q", len(texts), texts)
	}
	if got := readAll(t, texts); !same(got, m) || len(got.Torn) > 0 || !reflect.DeepEqual(got.Encode(), texts) {
		t.Errorf("%+v\n%q", got, texts)
	}
	if got := readAll(t, map[string]string{".": m.Together()}); !same(got, m) {
		t.Errorf("%+v\n%s", got, m.Together())
	}
	if secret := m.Secret(); !secret["a"] || len(secret) != 1 {
		t.Errorf("roots with Secrets: %v", secret)
	}
	if text := New().Encode()["."]; text != header+"\n" {
		t.Errorf("an empty folder has %q", text)
	}
}

// The folder of a root may be inside the folder of a different root. Each file has one owner.
func TestEachFileHasOneOwner(t *testing.T) {
	m := New()
	m.add("a", "x.yaml", Record{})
	m.add("a/b", "ns/x.yaml", Record{})
	for dir, want := range map[string]string{"a": "a", "a/c": "a", "a/b": "a/b", "a/b/ns": "a/b", "b": ""} {
		if root, ok := m.Owner(dir); ok != (want != "") || ok && root != want {
			t.Errorf("%s belongs to %q, want %q", dir, root, want)
		}
	}
	if got := m.Of("a/b"); !slices.Equal(got, []string{"a/b/ns"}) {
		t.Errorf("the folders of a/b are %q", got)
	}
}

// Manifests of earlier versions list all roots.
func TestReadOld(t *testing.T) {
	old := oldHeader + "\nroot \".\"\n" + sum + " \"x.yaml\"\nroot \"a/b\"\nsecret " + sum + " \"x.yaml\"\n" +
		sum + " \"y.yaml\"\nfiles 3\n"
	m := readAll(t, map[string]string{".": old})
	if !m.Roots["."] || !m.Roots["a/b"] || len(m.Files["a/b"]) != 2 || !m.Is("a/b", "x.yaml", Record{Secret: true}) || len(m.Torn) > 0 {
		t.Errorf("%+v", m)
	}
	for _, cut := range []string{"files 3\n", sum + " \"y.yaml\"\n", "3\n", "\n"} {
		if New().Read(".", strings.TrimSuffix(strings.Replace(old, cut, "", 1), cut)) == nil {
			t.Errorf("accepted without %q", cut)
		}
	}
	if New().Read("a", old) == nil {
		t.Error("accepted as the manifest of a root")
	}
}

// Two branches changed a folder. The result of git's merge contains the files of both, and krmflow
// owns the files of both.
func TestReadMerged(t *testing.T) {
	digest := func(n byte) Record { return Record{Sum: krm.Digest{n}} }
	line := func(n byte) string { return strings.TrimSuffix(string(appendRecord(nil, digest(n))), "\n") }
	for name, text := range map[string]string{
		"marks": header + "\n\"a.yaml\"\n<<<<<<< ours\n" + line(1) + "\n\"b.yaml\"\n" + line(2) + "\n=======\n" +
			line(3) + "\n\"c.yaml\"\n" + line(4) + "\n>>>>>>> theirs\n",
		"diff3": header + "\n\"a.yaml\"\n<<<<<<< ours\n" + line(1) + "\n\"b.yaml\"\n" + line(2) + "\n||||||| base\n" + line(9) +
			"\n=======\n" + line(3) + "\n\"c.yaml\"\n" + line(4) + "\n>>>>>>> theirs\n",
		"union": header + "\n\"a.yaml\"\n" + line(1) + "\n" + line(3) + "\n\"b.yaml\"\n" + line(2) + "\n\"c.yaml\"\n" + line(4) +
			"\n",
		"twice": header + "\n\"a.yaml\"\n" + line(1) + "\n\"b.yaml\"\n" + line(2) + "\n" + header + "\n\"a.yaml\"\n" + line(3) +
			"\n\"c.yaml\"\n" + line(4) + "\n",
		"windows ends": strings.ReplaceAll(header+"\n\"a.yaml\"\n"+line(1)+"\n"+line(3)+"\n\"b.yaml\"\n"+line(2)+"\n\"c.yaml\"\n"+line(4)+
			"\n", "\n", "\r\n"),
	} {
		m := readAll(t, map[string]string{"r": text})
		for file, recs := range map[string][]Record{"a.yaml": {digest(1), digest(3)}, "b.yaml": {digest(2)}, "c.yaml": {digest(4)}} {
			for _, rec := range recs {
				if !m.Is("r", file, rec) {
					t.Errorf("%s: %s has not %x", name, file, rec.Sum[:1])
				}
			}
		}
		if m.Is("r", "b.yaml", digest(1)) || !m.Torn["r"] || len(m.Files["r"]) != 3 {
			t.Errorf("%s: %+v", name, m)
		}
		again := readAll(t, m.Encode())
		if !same(again, m) {
			t.Errorf("%s: written and read again: %+v", name, again)
		}
	}
}

func TestWrittenRecognisesMergeConflicts(t *testing.T) {
	m := New()
	m.add("r", "x.yaml", RecordOf("r/x.yaml", []byte("a\nb\n"), false))
	if !m.Written("r", "x.yaml", []byte("a\nb\n")) || m.Written("r", "x.yaml", []byte("a\nc\n")) || m.Written("r", "y.yaml", nil) {
		t.Error("a file is what its digest says")
	}
	conflict := []byte("a\n<<<<<<< ours\nb\n||||||| base\nz\n=======\nc\n>>>>>>> theirs\n")
	if m.Written("r", "x.yaml", conflict) {
		t.Error("one of the versions is not krmflow's")
	}
	m.add("r", "x.yaml", RecordOf("r/x.yaml", []byte("a\nc\n"), true))
	if !m.Written("r", "x.yaml", []byte("a\nc\n")) || !m.Written("r", "x.yaml", conflict) {
		t.Error("both of the versions are krmflow's")
	}
	if m.Written("r", "x.yaml", append(conflict, "mine\n"...)) {
		t.Error("a line is mine")
	}
}

func TestReadRefuses(t *testing.T) {
	good := header + "\nbase \"../k\"\n\"x.yaml\"\n " + sum + "\n"
	if err := New().Read(".", good); err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat("/a", maxPath/2-20)
	var many strings.Builder
	many.WriteString(header + "\n")
	for i := range 3 * maxFolders / maxPath {
		fmt.Fprintf(&many, "root \"%d%s\"\n\"x.yaml\"\n %s\n", i, deep, sum)
	}
	if err := New().Read(".", many.String()); err == nil || !strings.Contains(err.Error(), "too many folders") {
		t.Errorf("too many folders: %v", err)
	}
	versions := header + "\n\"x.yaml\"\n"
	for i := range maxVersions + 2 {
		versions += fmt.Sprintf(" %064x\n", i)
	}
	for _, bad := range []string{
		versions, "", "\n", "a\n", oldHeader + "\n", oldHeader + "\nfiles 1\n", "krmflow-manifest 3\n", header,
		strings.Replace(good, `"x.yaml"`, `"../x.yaml"`, 1), strings.Replace(good, `"x.yaml"`, `"a/../x.yaml"`, 1),
		strings.Replace(good, `"x.yaml"`, `"/x.yaml"`, 1), strings.Replace(good, `"x.yaml"`, `"a//x.yaml"`, 1),
		strings.Replace(good, `"x.yaml"`, `".x.yaml"`, 1), strings.Replace(good, `"x.yaml"`, `"a/.git/x.yaml"`, 1),
		strings.Replace(good, `"x.yaml"`, `"x.sh"`, 1), strings.Replace(good, `"x.yaml"`, `""`, 1),
		strings.Replace(good, `"x.yaml"`, `"x\x00.yaml"`, 1), strings.Replace(good, `"x.yaml"`, `"x.yaml`, 1),
		strings.Replace(good, `"x`, `"`+strings.Repeat("x", 255), 1), strings.Replace(good, `"x`, `"a`+deep+deep+`/x`, 1),
		strings.Replace(good, sum, sum[2:], 1), strings.Replace(good, "000\n", "00g\n", 1), strings.Replace(good, "\"x.yaml\"\n", "", 1),
		strings.Replace(good, " "+sum, " secret secret "+sum, 1), strings.Replace(good, " "+sum, sum+` "y.yaml"`, 1),
		strings.Replace(good, `"../k"`, `"a/../k"`, 1), strings.Replace(good, `"../k"`, "k", 1), good + "files 1\n", good + "\n",
		good + "<<<<<<<\nmine\n",
		good + "root \"..\"\n", good + "root \"/a\"\n", good + "root \"a/../../b\"\n", good + "root \".krmflow-x\"\n",
		good + "root \"a" + deep + deep + "\"\n",
	} {
		if m := New(); m.Read(".", bad) == nil {
			t.Errorf("accepted %.200q: %v", bad, m)
		}
	}
	for _, bad := range []string{good, header + "\nroot \"b\"\n\"x.yaml\"\n " + sum + "\n"} {
		if New().Read("a", bad) == nil {
			t.Errorf("the manifest of a root may be %q", bad)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range example().Encode() {
		f.Add(text)
	}
	f.Add(example().Together())
	f.Add(oldHeader + "\nroot \"a\"\n" + sum + " \"x.yaml\"\nsecret " + sum + " \"y.yaml\"\nfiles 2\n")
	f.Add(header + "\n\"a.yaml\"\n<<<<<<< a\n " + sum + "\n=======\n secret " + sum + "\n>>>>>>> b\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, dir := range []string{".", "r"} {
			m := New()
			if m.Read(dir, text) != nil {
				continue
			}
			again := New()
			for root, text := range m.Encode() {
				if err := again.Read(root, text); err != nil {
					t.Fatalf("%q: %v", text, err)
				}
			}
			if !same(m, again) {
				t.Errorf("%q: %+v, then %+v", text, m, again)
			}
			for folder, files := range m.Files {
				if dir == "r" && folder != "r" && !strings.HasPrefix(folder, "r/") {
					t.Errorf("%q: the root r has %q", text, folder)
				}
				for name := range files {
					if file := folder + "/" + name; strings.Contains("/"+file, "/../") || strings.HasPrefix(name, ".") ||
						strings.ContainsRune(file, 0) {
						t.Errorf("%q: file %q", text, file)
					}
				}
			}
		}
	})
}
