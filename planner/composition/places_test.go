package composition

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/report"
)

// TestBeginningsOfLists checks the names of nodes that Compositions share, on random trees. A name
// identifies one beginning of a list, independent of other planned Compositions and of the way the
// list is written (CE-08). Equal beginnings share nodes.
func TestBeginningsOfLists(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	shared, joined := 0, 0
	for range 600 {
		files := randomTree(r)
		cwd := t.TempDir()
		var dirs []string
		for i, f := range files {
			dirs = append(dirs, fmt.Sprintf("d%d", i))
			put(t, cwd, dirs[i]+"/composition.yaml", f.yaml())
		}
		together := NewSet(newFiles(cwd), false)
		means := map[string]string{}
		for _, dir := range dirs {
			names, beginnings := beginnings(t, together, dir)
			for i, name := range names {
				if was, ok := means[name]; ok && was != beginnings[i] {
					t.Fatalf("%s is both\n%sand\n%s\n%s", name, was, beginnings[i], show(files))
				} else if ok {
					shared++
				}
				means[name] = beginnings[i]
				if strings.Contains(name, " + ") {
					joined++
				}
			}
			alone, _ := beginningsAlone(t, cwd, dir)
			if !slices.Equal(names, alone) {
				t.Fatalf("%s alone: %q, with others: %q\n%s", dir, alone, names, show(files))
			}
		}
		before, _ := beginningsAlone(t, cwd, "d0")
		v, err := consolidated(t, cwd, "d0")
		if err != nil {
			continue
		}
		put(t, cwd, "d0/composition.yaml", string(yaml.AppendYAML(nil, v)))
		if after, _ := beginningsAlone(t, cwd, "d0"); !slices.Equal(before, after) {
			t.Fatalf("written out: %q, before: %q\n%s\n%s", after, before, show(files), yaml.AppendYAML(nil, v))
		}
	}
	if shared < 100 || joined < 8 {
		t.Errorf("%d shared nodes, %d of several lists: the test is too easy", shared, joined)
	}
}

func beginningsAlone(t *testing.T, cwd, dir string) (names, lists []string) {
	return beginnings(t, NewSet(newFiles(cwd), false), dir)
}

// beginnings returns, for each item of the Composition in dir, the name of its node and the list up
// to the item.
func beginnings(t *testing.T, s *Set, dir string) (names, lists []string) {
	t.Helper()
	l, _, _ := consolidate(t, s, dir)
	if l.Failed {
		return nil, nil
	}
	list := ""
	for i, p := range s.Places(l, &report.Warnings{}) {
		it := l.Items[i]
		if of := p.Of.Items[p.At]; !of.same(it) {
			t.Fatalf("%s is planned as %s", it.ID, of.ID)
		}
		list += fmt.Sprintf("%s %s of %s", it.ID, yaml.AppendJSON(nil, it.Value), it.Dir.Real)
		for _, by := range it.changes {
			list += " changed in " + by.dir.Real
		}
		list += "\n"
		names, lists = append(names, p.Layer+"#"+p.Of.Label(it)), append(lists, list)
	}
	return names, lists
}
