package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	execfn "github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm/yaml"
)

var regenerated = flag.Int("regenerated", longtest.Sample(1, 3, 3), "how many directories TestEditsOutliveRuns makes, of 25 resources each")

// scalars maps paths of names to the fields of a resource. "list:x" is the item x of a list.
type scalars map[string]string

// scalarNames are the possible fields of a resource. Fields named k prevent the removal of whole
// mappings and items.
var scalarNames = func() (list []string) {
	for _, a := range []string{"a", "b.c", "b.d", "list:x.e", "list:x.f", "list:w.e", "b.deep.list:z.g", "b.deep.h"} {
		for i := range 3 {
			list = append(list, fmt.Sprint(a, i))
		}
	}
	return list
}()

func fewScalars() scalars {
	return scalars{"a.k": "k", "b.c.k": "k", "b.k": "k", "list:x.k": "k", "list:w.k": "k", "b.deep.list:z.k": "k", "b.deep.k": "k"}
}

// edited returns s with changes to fields that may allows.
func (s scalars) edited(r *rand.Rand, side string, may func(string) bool) scalars {
	out := maps.Clone(s)
	for _, name := range scalarNames {
		switch _, there := out[name]; {
		case !may(name) || r.IntN(3) > 0:
		case there && r.IntN(3) == 0:
			delete(out, name)
		default:
			out[name] = side + fmt.Sprint(r.IntN(100))
		}
	}
	return out
}

// print writes the fields below prefix with an indent. If r is not nil, it writes like a person: in
// a different order and with a comment on each line.
func (s scalars) print(b *strings.Builder, r *rand.Rand, prefix, indent string) {
	kids := map[string]bool{}
	for name := range s {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			first, _, _ := strings.Cut(rest, ".")
			kids[strings.SplitAfter(first, ":")[0]] = true
		}
	}
	order := slices.Sorted(maps.Keys(kids))
	if r != nil {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	for _, key := range order {
		at := prefix + key
		text, isScalar := s[at]
		list, isList := strings.CutSuffix(key, ":")
		switch {
		case isScalar && r != nil:
			fmt.Fprintf(b, "%s%s: %s # %s\n", indent, key, text, at)
		case isScalar:
			fmt.Fprintf(b, "%s%s: %s\n", indent, key, text)
		case isList:
			fmt.Fprintf(b, "%s%s:\n", indent, list)
			items := map[string]bool{}
			for name := range s {
				if rest, ok := strings.CutPrefix(name, at); ok {
					item, _, _ := strings.Cut(rest, ".")
					items[item] = true
				}
			}
			for _, item := range slices.Sorted(maps.Keys(items)) {
				fmt.Fprintf(b, "%s- name: %s\n", indent, item)
				s.print(b, r, at+item+".", indent+"  ")
			}
		default:
			fmt.Fprintf(b, "%s%s:\n", indent, key)
			s.print(b, r, at+".", indent+"  ")
		}
	}
}

func (s scalars) resource(r *rand.Rand, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: t%d\nspec:\n", n)
	s.print(&b, r, "", "  ")
	return b.String()
}

// scalarsOf reads the fields below v.
func scalarsOf(s scalars, prefix string, v yaml.Value) scalars {
	for _, f := range v.Fields() {
		switch at := prefix + f.Key; {
		case f.Value.Type() == yaml.Seq:
			for _, x := range f.Value.Items() {
				scalarsOf(s, at+":"+x.Get("name").Text()+".", x.Without("name"))
			}
		case f.Value.Type() == yaml.Map:
			scalarsOf(s, at+".", f.Value)
		default:
			s[at] = f.Value.Text()
		}
	}
	return s
}

// TestEditsOutliveRuns has a function regenerate resources many times. In between, people edit
// other fields of the files. The files must contain the changes of both. Each line of people stays
// as written unless the function changed its value (RL-13, IM-18).
func TestEditsOutliveRuns(t *testing.T) {
	t.Parallel()
	if ok, err := hasSandbox(execfn.Probe()); err != nil {
		t.Fatal(err)
	} else if !ok {
		t.Skip("this machine has not all of the sandbox of programs")
	}
	const resources, runs = 25, 4
	for seed := range uint64(*regenerated) {
		r := rand.New(rand.NewPCG(seed, 13))
		dir := t.TempDir()
		put(t, dir, "fn.yaml",
			"apiVersion: example.com/v1\nkind: Generator\nmetadata:\n  name: g\n  annotations:\n    config.kubernetes.io/function: 'exec: {path: fn.sh}'\n", 0o644)
		people, made, want := make([]scalars, resources), make([]scalars, resources), make([]scalars, resources)
		theirs := make([]map[string]bool, resources) // the fields set by the function
		for i := range resources {
			made[i], theirs[i] = fewScalars(), map[string]bool{}
			for _, name := range scalarNames {
				theirs[i][name] = r.IntN(2) == 0
			}
			made[i] = made[i].edited(r, "base", func(string) bool { return true })
		}
		for run := range runs {
			answer := "#!/bin/sh\nsed '/^functionConfig:/,$d;/^items:/,$d'\ncat <<'X'\nitems:\n- apiVersion: example.com/v1\n  kind: Generator\n  metadata:\n    name: g\n    annotations:\n      config.kubernetes.io/function: 'exec: {path: fn.sh}'\n"
			edits := make([]string, resources)
			for i := range resources {
				file := fmt.Sprintf("t%d_thing.yaml", i)
				if run > 0 {
					made[i] = made[i].edited(r, "made", func(name string) bool { return theirs[i][name] })
					if r.IntN(4) > 0 { // otherwise they did nothing
						people[i] = want[i].edited(r, "mine", func(name string) bool { return !theirs[i][name] })
						edits[i] = people[i].resource(r, i)
						put(t, dir, file, edits[i], 0o644)
					}
				}
				want[i] = maps.Clone(made[i])
				for _, name := range scalarNames {
					if text, there := people[i][name]; run > 0 && !theirs[i][name] && people[i] != nil {
						delete(want[i], name)
						if there {
							want[i][name] = text
						}
					}
				}
				answer += "- " + strings.ReplaceAll(strings.TrimSuffix(made[i].resource(nil, i), "\n"), "\n", "\n  ") + "\n"
			}
			put(t, dir, "fn.sh", answer+"X\n", 0o755)
			cmd := exec.Command("krmflow", "run", dir, "-q", "--enable-alpha-plugins", "--enable-exec")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("seed %d, run %d: %v\n%s", seed, run, err, out)
			}
			for i := range resources {
				checkRegenerated(t, filepath.Join(dir, fmt.Sprintf("t%d_thing.yaml", i)), edits[i], want[i],
					fmt.Sprintf("seed %d, run %d", seed, run))
			}
		}
	}
}

func put(t *testing.T, dir, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// checkRegenerated checks the content of a file, and that the lines of people with this content are
// unchanged.
func checkRegenerated(t *testing.T, file, edit string, want scalars, when string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := (&yaml.Source{File: file, Data: data}).Value()
	if err != nil {
		t.Fatal(err)
	}
	if got := scalarsOf(scalars{}, "", v.Get("spec")); !maps.Equal(got, want) {
		t.Fatalf("%s: %s\npeople wrote\n%s\nit became\n%s\ngot %v\nwant %v", when, filepath.Base(file), edit, data, got, want)
	}
	for line := range strings.Lines(edit) {
		said, at, isScalar := strings.Cut(line, " # ")
		if !isScalar || want[strings.TrimSpace(at)] != said[strings.LastIndexByte(said, ' ')+1:] {
			continue
		}
		if !strings.Contains(string(data), line) {
			t.Fatalf("%s: %s lost the line %q\npeople wrote\n%s\nit became\n%s", when, filepath.Base(file), line, edit, data)
		}
	}
}
