package lock

import (
	"fmt"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

const (
	head   = "apiVersion: krmflow.dev/v1alpha1\nkind: Lock\nentries:\n"
	commit = "0123456789012345678901234567890123456789"
)

var digest = krm.DigestOf([]byte("x"))

func parse(text string) (*File, error) {
	return Parse(&yaml.Source{File: Name, Data: []byte(text)})
}

// TestRoundTrip checks that a written file parses and is written again with the same bytes,
// regardless of the order in which the entries were found.
func TestRoundTrip(t *testing.T) {
	entries := []Entry{
		{Name: "https://example.com/a.yaml", Kind: Content, Digest: digest},
		{Name: "git@example.com:org/repo?ref=v1", Kind: Git, Commit: commit},
		{Name: "oci://example.com/a:latest", Kind: Artifact, Digest: digest},
		{Name: "https://example.com/é \"x\": y", Kind: Program, Digest: digest},
		{Name: "https://example.com/c.yaml", Kind: Catalog, Digest: digest, Serial: 7},
		{Name: "https://example.com/c.yaml#sha256=" + strings.Repeat("1", 64), Kind: Content, Digest: digest},
	}
	var f, reversed File
	f.Learn(entries, Learning{})
	for i := range entries {
		reversed.Set(entries[len(entries)-1-i])
	}
	text := string(f.Text())
	if got := string(reversed.Text()); got != text {
		t.Errorf("another order: %s", got)
	}
	read, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if changes := Compare(&f, read); len(changes) > 0 || string(read.Text()) != text {
		t.Errorf("%v\n%s", changes, read.Text())
	}
	if e, ok := read.Get("https://example.com/c.yaml"); !ok || e.Serial != 7 || e.Pos.Line == 0 {
		t.Errorf("%+v", e)
	}
	if read, err := parse(string((&File{}).Text())); err != nil || len(read.Entries()) != 0 {
		t.Errorf("an empty file: %v", err)
	}
}

// TestMistakesNameLines checks that all errors are reported, each with its line.
func TestMistakesNameLines(t *testing.T) {
	good := "- name: https://a\n  kind: file\n  digest: " + digest.String() + "\n"
	for text, want := range map[string]string{
		"":                                "krmflow.lock.yaml: the lock file is empty",
		"# nothing\n":                     "krmflow.lock.yaml: the lock file is empty",
		"kind: Lock\nkind: Lock\n":        "krmflow.lock.yaml:2: ",
		"kind: Config\n":                  `krmflow.lock.yaml:1: kind: not a lock file: found kind "Config"`,
		"apiVersion: v2\nkind: Lock\n":    `krmflow.lock.yaml:1: apiVersion: "v2" is not krmflow.dev/v1alpha1`,
		head + good + good:                `krmflow.lock.yaml:7: entries[1]: "https://a" is already the name of the entry on line 4`,
		head + good + "<<<<<<< HEAD\n":    "krmflow.lock.yaml:7: found a merge conflict marker",
		head + "=======\r\n" + good:       "krmflow.lock.yaml:4: found a merge conflict marker",
		head + good + "  more: 1\n":       `krmflow.lock.yaml:7: entries[0].more: `,
		head + "- name: a\n  kind: dog\n": `krmflow.lock.yaml:5: entries[0].kind: unknown kind of entry "dog"`,
		head + "- name: a\n  kind: git\n  digest: " + digest.String() +
			"\n": "krmflow.lock.yaml:4: entries[0]: the commit is missing",
		head +
			"- name: a\n  kind: file\n": "krmflow.lock.yaml:4: entries[0]: a commit or a digest is required",
		head +
			"- name: a\n  kind: git\n  commit: main\n": `krmflow.lock.yaml:6: entries[0].commit: "main" is not a commit`,
		head +
			"- name: a\n  kind: file\n  digest: md5:1\n": `krmflow.lock.yaml:6: entries[0].digest: "md5:1" is not a digest`,
		head + "- name: a\n  kind: catalog\n  serial: x\n  digest: " + digest.String() +
			"\n": "krmflow.lock.yaml:6: entries[0].serial: must be an integer greater than 0",
		head + "- kind: file\n  digest: " + digest.String() + "\n": "krmflow.lock.yaml:4: entries[0].name: ",
	} {
		_, err := parse(text)
		if err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q\n%v\nwant %s", text, err, want)
		}
	}
}

// TestLearnKeepsExistingEntries checks that locking does not update: an existing entry stays unless
// Update selects it, and an unused entry stays unless Drop selects it.
func TestLearnKeepsExistingEntries(t *testing.T) {
	other := krm.DigestOf([]byte("y"))
	was := func() *File {
		f := &File{}
		f.Learn([]Entry{{Name: "a", Kind: Content, Digest: digest}, {Name: "b", Kind: Content, Digest: digest}}, Learning{})
		return f
	}
	found := []Entry{{Name: "a", Kind: Content, Digest: other}, {Name: "c", Kind: Git, Commit: commit}}
	all := func(Entry) bool { return true }
	for _, c := range []struct {
		how  Learning
		want string
	}{
		{Learning{}, "added    c  " + commit},
		{Learning{Update: all}, fmt.Sprintf("moved    a  %s -> %s|added    c  %s", digest, other, commit)},
		{Learning{Drop: all}, fmt.Sprintf("removed  b  %s|added    c  %s", digest, commit)},
	} {
		var lines []string
		for _, change := range was().Learn(found, c.how) {
			lines = append(lines, change.String())
		}
		if got := strings.Join(lines, "|"); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// TestCatalogsKeepSerials checks that a catalog stays a catalog and keeps its serial, even if a run
// only reports a fetched file. It also checks that an older edition is distinguished from a newer
// one.
func TestCatalogsKeepSerials(t *testing.T) {
	other := krm.DigestOf([]byte("y"))
	all := func(Entry) bool { return true }
	for _, c := range []struct {
		was, is    Entry
		want       string
		rolledBack bool
	}{
		{Entry{Kind: Content, Digest: digest}, Entry{Kind: Catalog, Digest: digest, Serial: 7}, "changed  c  " + digest.String(), false},
		{Entry{Kind: Catalog, Digest: digest, Serial: 7}, Entry{Kind: Content, Digest: digest}, "", false},
		{Entry{Kind: Catalog, Digest: digest, Serial: 7}, Entry{Kind: Catalog, Digest: other, Serial: 8},
			fmt.Sprintf("moved    c  %s -> %s", digest, other), false},
		{Entry{Kind: Catalog, Digest: digest, Serial: 7}, Entry{Kind: Catalog, Digest: other, Serial: 6},
			fmt.Sprintf("moved    c  %s -> %s", digest, other), true},
		{Entry{Kind: Catalog, Digest: digest, Serial: 7}, Entry{Kind: Catalog, Digest: other},
			fmt.Sprintf("moved    c  %s -> %s", digest, other), true},
		{Entry{Kind: Catalog, Digest: digest}, Entry{Kind: Catalog, Digest: other}, fmt.Sprintf("moved    c  %s -> %s", digest, other),
			false},
	} {
		c.was.Name, c.is.Name = "c", "c"
		f := &File{}
		f.Set(c.was)
		got, rolledBack := "", false
		for _, change := range f.Learn([]Entry{c.is}, Learning{Update: all}) {
			got, rolledBack = change.String(), change.RolledBack()
		}
		if got != c.want || rolledBack != c.rolledBack {
			t.Errorf("%+v, %+v: %q, %t", c.was, c.is, got, rolledBack)
		}
	}
}
