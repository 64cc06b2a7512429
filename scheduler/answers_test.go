package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/chart"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/scheduler"
)

// memory keeps answers in memory.
type memory struct {
	mu   sync.Mutex
	kept map[krm.Digest]function.Output
}

func (m *memory) Lookup(_ context.Context, key krm.Digest) (function.Output, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out, ok := m.kept[key]
	return out, ok
}

func (m *memory) Store(_ context.Context, key krm.Digest, out function.Output) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[krm.Digest]function.Output{}
	}
	m.kept[key] = out
}

// A machine is an executor that records its calls. Functions with a name that begins with "absent"
// cannot be prepared.
type machine struct {
	mu                 sync.Mutex
	prepared, executed []string
	answer             func(f function.Function, list []byte) (function.Output, error)
}

func (m *machine) Prepare(_ context.Context, f function.Function) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prepared = append(m.prepared, f.Name)
	if strings.HasPrefix(f.Name, "absent") {
		return &function.Error{Code: function.Retrieval, Msg: f.Name + " is not there"}
	}
	return nil
}

func (m *machine) Execute(_ context.Context, f function.Function, list yaml.Chunks) (function.Output, error) {
	m.mu.Lock()
	m.executed = append(m.executed, f.Name)
	m.mu.Unlock()
	return m.answer(f, list.Join())
}

const emptyList = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

// stamped answers with its input after replacing old with new, and writes to stderr.
func stamped(old, new string) func(function.Function, []byte) (function.Output, error) {
	return func(f function.Function, list []byte) (function.Output, error) {
		if f.Runtime == function.RuntimeHelm {
			list = []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: chart}}\n")
		}
		text := bytes.ReplaceAll(list, []byte(old), []byte(new))
		return function.Output{List: yaml.Chunks{text}, Stderr: []byte("stamped\n")}, nil
	}
}

// load returns a node that loads the resources in text.
func load(text string) *graph.Node {
	return &graph.Node{ID: "load", Op: graph.Load{Source: &yaml.Source{File: "f.yaml", Data: []byte(text)}}}
}

func value(t *testing.T, text string) yaml.Value {
	t.Helper()
	v, err := (&yaml.Source{File: "config.yaml", Data: []byte(text)}).Value()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func call(name string, role function.Role) graph.Call {
	return graph.Call{Reusable: true, Role: role,
		Function: function.Function{Name: name, Runtime: function.RuntimeExec, Program: "/x/" + name, Digest: krm.DigestOf([]byte(name))}}
}

// chain returns a graph of one root, in which each node continues the list of the previous node.
func chain(nodes ...*graph.Node) *graph.Graph {
	g := &graph.Graph{}
	var last []graph.NodeID
	for _, n := range nodes {
		last = []graph.NodeID{then(g, last, n)}
	}
	g.Roots = []graph.Root{{Dir: "root", Node: last[0]}}
	return g
}

// then adds n to g, so that its result continues the list of last. It returns the node with the new
// list.
func then(g *graph.Graph, last []graph.NodeID, n *graph.Node) graph.NodeID {
	if op, ok := n.Op.(graph.Call); ok && op.Role == function.GeneratorRole {
		return g.Add(&graph.Node{ID: n.ID + ".absorb", Op: graph.Absorb{}, Inputs: append(slices.Clip(last), g.Add(n))})
	}
	n.Inputs = last
	return g.Add(n)
}

func steps(config yaml.Value, prefix string) []*graph.Node {
	stamp, check, made := call("stamp", function.TransformerRole), call("check", function.ValidatorRole),
		call("make", function.GeneratorRole)
	helm := graph.Call{Reusable: true, Role: function.GeneratorRole,
		Function: function.Function{Name: "chart", Runtime: function.RuntimeHelm, Digest: krm.DigestOf([]byte("helm"))},
		Chart:    &chart.Chart{Digest: krm.DigestOf([]byte("chart"))}}
	stamp.Config, made.Config = config, config
	return []*graph.Node{{ID: prefix + "make", Op: made}, {ID: prefix + "chart", Op: helm}, {ID: prefix + "stamp", Op: stamp},
		{ID: prefix + "check", Op: check}}
}

// run runs a graph and returns its output and the reports of its functions.
func run(t *testing.T, g *graph.Graph, o scheduler.Options) (text string, reports []scheduler.CallReport, errs []error) {
	t.Helper()
	var mu sync.Mutex
	o.Jobs = 2
	o.Root = func(_ graph.Root, list *krm.List) error {
		mu.Lock()
		defer mu.Unlock()
		text += string(list.AppendYAML(nil))
		return nil
	}
	o.Call = func(r scheduler.CallReport) {
		mu.Lock()
		defer mu.Unlock()
		reports = append(reports, r)
	}
	errs = scheduler.Run(t.Context(), g, o)
	return text, reports, errs
}

func on(m *machine) func(function.Runtime) (scheduler.Executor, error) {
	return func(function.Runtime) (scheduler.Executor, error) { return m, nil }
}

// nobody fails the test if a run requests an executor.
func nobody(t *testing.T) func(function.Runtime) (scheduler.Executor, error) {
	return func(r function.Runtime) (scheduler.Executor, error) {
		t.Errorf("the executor for %s was asked for", r)
		return nil, errors.New("no executor")
	}
}

// TestAnswersAreReused checks that a second run of the same calls, in a different graph, requests
// no executor and reports the same results.
func TestAnswersAreReused(t *testing.T) {
	config := value(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: old}}")
	known := &memory{}
	m := &machine{answer: stamped("old", "new")}
	want, before, errs := run(t, chain(append([]*graph.Node{load("{apiVersion: v1, kind: Service, metadata: {name: s, labels: {a: old}}}")},
		steps(config, "a#")...)...),
		scheduler.Options{Executor: on(m), Reuse: scheduler.Reuse{Answers: known}})
	if len(errs) > 0 || len(m.executed) != 4 || len(known.kept) != 4 || !strings.Contains(want, "a: new") ||
		!strings.Contains(want, "name: chart") {
		t.Fatalf("errors %v, executed %q, %d kept:\n%s", errs, m.executed, len(known.kept), want)
	}
	var mu sync.Mutex
	var events []scheduler.Event
	got, after, errs := run(t, chain(append([]*graph.Node{load("{apiVersion: v1, kind: Service, metadata: {name: s, labels: {a: old}}}")},
		steps(config, "b#")...)...),
		scheduler.Options{Executor: nobody(t), Reuse: scheduler.Reuse{Answers: known},
			Event: func(e scheduler.Event) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, e)
			}})
	if len(errs) > 0 || got != want {
		t.Errorf("errors %v:\n%s\nwant\n%s", errs, got, want)
	}
	for i := range after {
		if !after[i].Cached || before[i].Cached || after[i].Node.ID[2:] != before[i].Node.ID[2:] {
			t.Errorf("reports %+v and %+v", before[i], after[i])
		}
		a, b := after[i], before[i]
		a.Node, b.Node, a.Cached, a.Hide, b.Hide = nil, nil, false, nil, nil
		if !reflect.DeepEqual(a, b) || string(a.Stderr) != "stamped\n" {
			t.Errorf("reports %+v and %+v", b, a)
		}
	}
	for _, e := range events {
		if _, ok := e.Node.Op.(graph.Call); e.Cached != ok {
			t.Errorf("%s: cached is %t", e.Node.ID, e.Cached)
		}
	}
	if len(after) != 4 || len(events) != 7 {
		t.Errorf("%d reports, %d events", len(after), len(events))
	}
}

// TestChangesAreExecuted checks that a call is executed again after a change of the function, its
// arguments, its program name, its configuration, the list, its limits, or the version.
func TestChangesAreExecuted(t *testing.T) {
	const item = "{apiVersion: v1, kind: Service, metadata: {name: s}}"
	known := &memory{}
	m := &machine{answer: stamped("", "")}
	try := func(name, item string, version string, change func(*graph.Call), want int) {
		t.Helper()
		op := call("f", function.TransformerRole)
		op.Config = value(t, "{a: 1}")
		if change != nil {
			change(&op)
		}
		m.executed = nil
		_, _, errs := run(t, chain(load(item), &graph.Node{ID: name, Op: op}),
			scheduler.Options{Executor: on(m), Reuse: scheduler.Reuse{Answers: known, Version: version}})
		if len(errs) > 0 || len(m.executed) != want {
			t.Errorf("%s: executed %d times, want %d: %v", name, len(m.executed), want, errs)
		}
	}
	try("first", item, "v1", nil, 1)
	try("again", item, "v1", nil, 0)
	try("elsewhere", item, "v1", func(c *graph.Call) { c.Function.Program, c.Function.Root, c.Function.Dir = "/y/f", "/y", "/z" }, 0)
	try("another name", item, "v1", func(c *graph.Call) { c.Function.Name, c.Function.Node = "g", "other#x" }, 0)
	try("list", "{apiVersion: v1, kind: Service, metadata: {name: t}}", "v1", nil, 1)
	try("version", item, "v2", nil, 1)
	for i, change := range []func(*graph.Call){
		func(c *graph.Call) { c.Function.Digest[0]++ },
		func(c *graph.Call) { c.Function.Args = []string{"x"} },
		func(c *graph.Call) { c.Function.Program = "/x/g" },
		func(c *graph.Call) { c.Config = value(t, "{a: 2}") },
		func(c *graph.Call) { c.Version = function.ResourceListV1beta1 },
		func(c *graph.Call) { c.Role = function.ValidatorRole },
		func(c *graph.Call) { c.Function.Limits.Memory = 1 },
		func(c *graph.Call) { c.Function.AsCurrentUser = true },
		func(c *graph.Call) { c.Function.Runtime = function.RuntimeContainer },
		func(c *graph.Call) {
			c.Function.Runtime, c.Function.Config = function.RuntimeContainer, []byte("# comments\na: 1")
		},
	} {
		try(fmt.Sprint("change ", i), item, "v1", change, 1)
		try(fmt.Sprint("change ", i, " again"), item, "v1", change, 0)
	}
	try("never", item, "v1", func(c *graph.Call) { c.Reusable = false }, 1)
	try("without a digest", item, "v1", func(c *graph.Call) { c.Function.Digest = krm.Digest{} }, 1)
}

// TestFailuresAreNotKept checks that failed calls and answers with error results are not stored,
// even if the user allows error results.
func TestFailuresAreNotKept(t *testing.T) {
	for name, answer := range map[string]func(function.Function, []byte) (function.Output, error){
		"failed": func(function.Function, []byte) (function.Output, error) {
			return function.Output{}, &function.Error{Code: function.Failed, Msg: "failed"}
		},
		"no list": func(function.Function, []byte) (function.Output, error) {
			return function.Output{List: yaml.Chunks{[]byte("{")}}, nil
		},
		"error result": func(function.Function, []byte) (function.Output, error) {
			return function.Output{List: yaml.Chunks{[]byte(emptyList + "results: [{message: m, severity: error}]\n")}}, nil
		},
	} {
		known := &memory{}
		m := &machine{answer: answer}
		for range 2 {
			run(t, chain(load(""), &graph.Node{ID: "f", Op: call("f", function.TransformerRole)}),
				scheduler.Options{Executor: on(m), AllowErrorResults: true, Reuse: scheduler.Reuse{Answers: known}})
		}
		if len(m.executed) != 2 || len(known.kept) > 0 {
			t.Errorf("%s: executed %d times, %d kept", name, len(m.executed), len(known.kept))
		}
	}
}

// TestSecretsAreNotKept checks that calls with a Secret are not stored or looked up unless the user
// enables that, and that runs without this option do not reuse them.
func TestSecretsAreNotKept(t *testing.T) {
	const secret = "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {p: hunter2}}"
	const other = "{apiVersion: x.io/v1, kind: Secret, metadata: {name: s}}"
	const template = "{apiVersion: x.io/v1, kind: Template, metadata: {name: t}, objects: [" + secret + "]}"
	for _, tt := range []struct {
		name, item, config string
		role               function.Role
		answer             func(function.Function, []byte) (function.Output, error)
		secret             bool
	}{
		{"in the list", secret, "a: 1", function.TransformerRole, stamped("", ""), true},
		{"in the configuration", other, "{a: [" + secret + "]}", function.TransformerRole, stamped("", ""), true},
		{"in the answer", other, "a: 1", function.GeneratorRole, func(function.Function, []byte) (function.Output, error) {
			return function.Output{List: yaml.Chunks{[]byte(strings.ReplaceAll(emptyList, "[]", "["+secret+"]"))}}, nil
		}, true},
		{"in a resource", template, "a: 1", function.TransformerRole, stamped("", ""), true},
		{"in a resource of the answer", other, "a: 1", function.GeneratorRole, func(function.Function, []byte) (function.Output, error) {
			return function.Output{List: yaml.Chunks{[]byte(strings.ReplaceAll(emptyList, "[]", "["+template+"]"))}}, nil
		}, true},
		{"of another group", other, "{target: {kind: Secret}}", function.TransformerRole, stamped("", ""), false},
	} {
		known := &memory{}
		m := &machine{answer: tt.answer}
		try := func(with bool) int {
			op := call("f", tt.role)
			op.Config = value(t, tt.config)
			m.executed = nil
			if _, _, errs := run(t, chain(load(tt.item), &graph.Node{ID: "f", Op: op}),
				scheduler.Options{Executor: on(m), Reuse: scheduler.Reuse{Answers: known, Secrets: with}}); len(errs) > 0 {
				t.Fatal(tt.name, errs)
			}
			return len(m.executed)
		}
		got := []int{try(false), try(false), len(known.kept), try(true), try(true), try(false)}
		if want := []int{1, 1, 0, 1, 0, 1}; tt.secret && !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tt.name, got, want)
		}
		if want := []int{1, 0, 1, 0, 0, 0}; !tt.secret && !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tt.name, got, want)
		}
	}
}

// TestDamagedAnswers checks that an unreadable stored answer is treated as missing.
func TestDamagedAnswers(t *testing.T) {
	for _, text := range []string{"", "{", emptyList + "results: [{message: m, severity: error}]\n",
		strings.ReplaceAll(emptyList, "[]", "[{apiVersion: v1, kind: Secret, metadata: {name: s}}]")} {
		known := &memory{}
		m := &machine{answer: stamped("", "")}
		for range 2 {
			m.executed = nil
			_, _, errs := run(t, chain(load("{apiVersion: v1, kind: Service, metadata: {name: s}}"),
				&graph.Node{ID: "f", Op: call("f", function.TransformerRole)}),
				scheduler.Options{Executor: on(m), Reuse: scheduler.Reuse{Answers: known}})
			if len(errs) > 0 || len(m.executed) != 1 || len(known.kept) != 1 {
				t.Errorf("%q: executed %q, %v", text, m.executed, errs)
			}
			for key := range known.kept {
				known.kept[key] = function.Output{List: yaml.Chunks{[]byte(text)}}
			}
		}
	}
}

// TestVerifyReportsDifferentAnswers checks that with Verify functions run even if their answers are
// stored. A different answer is an error with a hint.
func TestVerifyReportsDifferentAnswers(t *testing.T) {
	known := &memory{}
	try := func(answer func(function.Function, []byte) (function.Output, error), verify bool) (int, error) {
		m := &machine{answer: answer}
		_, _, errs := run(t, chain(load("{apiVersion: v1, kind: Service, metadata: {name: s, labels: {a: old}}}"),
			&graph.Node{ID: "f", Op: call("f", function.TransformerRole)}),
			scheduler.Options{Executor: on(m), Reuse: scheduler.Reuse{Answers: known, Verify: verify}})
		return len(m.executed), errors.Join(errs...)
	}
	reordered := func(f function.Function, list []byte) (function.Output, error) {
		return function.Output{List: yaml.Chunks{append(list, "# printed otherwise\n"...)}, Stderr: []byte("now")}, nil
	}
	for _, step := range []struct {
		answer func(function.Function, []byte) (function.Output, error)
		verify bool
		n      int
		want   string
	}{
		{stamped("", ""), false, 1, ""},
		{stamped("", ""), true, 1, ""},
		{reordered, true, 1, ""},
		{stamped("old", "new"), false, 0, ""},
		{stamped("old", "new"), true, 1, "f is not deterministic: it returned two different answers for the same list and configuration"},
	} {
		n, err := try(step.answer, step.verify)
		if n != step.n || (err == nil) != (step.want == "") ||
			err != nil && (!strings.Contains(err.Error(), step.want) || !strings.Contains(err.Error(), "idempotent: false")) {
			t.Errorf("executed %d times, %v, want %d and %q", n, err, step.n, step.want)
		}
	}
}

// two returns a graph of two roots: a with the first calls and b with the others. If images is
// true, each call comes after a fetch of its image.
func two(images bool, a, b []graph.Call) *graph.Graph {
	g := &graph.Graph{}
	for dir, calls := range map[string][]graph.Call{"a": a, "b": b} {
		last := g.Add(&graph.Node{ID: dir,
			Op: graph.Load{Source: &yaml.Source{File: dir, Data: []byte("{apiVersion: v1, kind: Service, metadata: {name: s}}")}}})
		for i, op := range calls {
			n := &graph.Node{ID: fmt.Sprint(dir, i), Op: op}
			if images {
				f := op.Function
				f.Name = strings.Replace(f.Name, "absent", "absent image", 1)
				n.After = []graph.NodeID{g.Add(&graph.Node{ID: "image of " + n.ID, Op: graph.Fetch{Function: f}})}
			}
			last = then(g, []graph.NodeID{last}, n)
		}
		g.Roots = append(g.Roots, graph.Root{Dir: dir, Node: last})
	}
	return g
}

// TestPreparedBeforeTheFirst checks that nothing runs if a function that may have to run cannot be
// obtained. A function whose answer is stored does not need to be obtained.
func TestPreparedBeforeTheFirst(t *testing.T) {
	f, g, absent := call("f", function.TransformerRole), call("g", function.TransformerRole), call("absent", function.TransformerRole)
	made, absentMade, never := call("made", function.GeneratorRole), call("absent made", function.GeneratorRole),
		call("never", function.TransformerRole)
	never.Reusable = false
	for _, tt := range []struct {
		name      string
		a, b      []graph.Call
		known     []graph.Call // have run before
		keepGoing bool
		executed  string // sorted
		failed    bool
		rendered  int
	}{
		{"all are known", []graph.Call{f, absent}, []graph.Call{absentMade}, []graph.Call{f, absent, absentMade}, false, "", false, 2},
		{"one is not", []graph.Call{f, absent}, []graph.Call{made}, []graph.Call{f, made}, false, "", true, -1},
		{"the first has to run", []graph.Call{g, absent}, nil, nil, false, "", true, -1},
		{"one that is never reused", []graph.Call{never, absent}, nil, nil, false, "", true, -1},
		{"a generator that is known", []graph.Call{absentMade, f}, []graph.Call{g}, []graph.Call{absentMade}, false, "f g", false, 2},
		{"the other root is not concerned", []graph.Call{absent, f}, []graph.Call{g}, nil, true, "g", true, 1},
		{"nothing that serves the failed root runs", []graph.Call{f, absent}, []graph.Call{g}, []graph.Call{g}, true, "", true, 1},
	} {
		for _, images := range []bool{false, true} {
			known := &memory{}
			all := &machine{answer: stamped("", "")}
			if len(tt.known) > 0 {
				there := slices.Clone(tt.known)
				for i := range there {
					there[i].Function.Name = "there"
				}
				for _, op := range there {
					if _, _, errs := run(t, two(false, []graph.Call{op}, nil),
						scheduler.Options{Executor: on(all), Reuse: scheduler.Reuse{Answers: known}}); len(errs) > 0 {
						t.Fatal(tt.name, errs)
					}
				}
			}
			m := &machine{answer: stamped("", "")}
			text, _, errs := run(t, two(images, tt.a, tt.b),
				scheduler.Options{Executor: on(m), KeepGoing: tt.keepGoing, Reuse: scheduler.Reuse{Answers: known}})
			slices.Sort(m.executed)
			if got := strings.Join(m.executed, " "); got != tt.executed || (len(errs) > 0) != tt.failed {
				t.Errorf("%s, images %t: executed %q, want %q; errors %v", tt.name, images, got, tt.executed, errs)
			}
			for _, err := range errs {
				if !strings.Contains(err.Error(), "is not there") {
					t.Errorf("%s: %v", tt.name, err)
				}
			}
			if n := strings.Count(text, "kind: Service"); tt.rendered >= 0 && n != tt.rendered {
				t.Errorf("%s: %d roots are rendered, want %d", tt.name, n, tt.rendered)
			}
			if tt.executed == "" && !tt.failed && len(m.prepared) > 0 {
				t.Errorf("%s: prepared %q", tt.name, m.prepared)
			}
		}
	}
}
