package scheduler

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Reuse configures the reuse of answers from earlier runs. An answer replaces a call with the
// same key if [graph.Call.Reusable] is set. The zero Reuse runs every function.
type Reuse struct {
	// Answers stores the answers of earlier runs and of this one. If it is nil, nothing is reused.
	Answers Answers
	// Version is the version of krmflow. It is part of every key.
	Version string
	// Secrets also reuses, and therefore stores, answers with a Secret in the function's input,
	// configuration or output.
	Secrets bool
	// Verify runs every function even if there is a stored answer. A differing answer is an error.
	Verify bool
}

// Answers is a store for the output of functions. Implementations must be safe for concurrent
// use. They report their own errors; a failing store does not fail the run.
type Answers interface {
	// Lookup returns the output stored under a key.
	Lookup(ctx context.Context, key krm.Digest) (out function.Output, ok bool)
	// Store saves an output under a key.
	Store(ctx context.Context, key krm.Digest, out function.Output)
}

// Has reports whether an answer is stored for a call without an input list. Only for such calls
// is the key known before the run starts. For all other calls, and for calls that are never
// reused, known is false.
func (u Reuse) Has(ctx context.Context, op graph.Call) (there, known bool) {
	if u.Answers == nil || !u.may(op, nil) || op.Role != function.GeneratorRole {
		return false, false
	}
	return u.has(ctx, newRequest(op, nil)), true
}

// may reports whether a stored answer may replace a call with the input list in.
func (u Reuse) may(op graph.Call, in *krm.List) bool {
	return op.Reusable && !op.Function.Digest.IsZero() && (u.Secrets || !op.Follows && !holdsSecrets(op, in))
}

// A request is a call with its input list.
type request struct {
	op   graph.Call
	in   *krm.List // nil for a generator
	wire function.WireOptions
	sent yaml.Chunks // encoded input of the executor, nil until encoded
	// keys contains the keys for looking up and storing the answer, see Reuse.find. The second, if
	// any, is for answers with Secrets.
	keys []krm.Digest
}

func newRequest(op graph.Call, list *krm.List) *request {
	c := &request{op: op, in: list}
	if op.Role == function.GeneratorRole {
		c.in = nil
	}
	c.wire = function.WireOptions{Role: op.Role, Version: op.Version, Name: op.Function.Name, Pos: op.ConfigPos, Schema: op.Schema,
		Seed:   seed(op),
		Output: op.Function.Limits.Output, Files: op.Files != nil}
	if op.Files != nil {
		c.wire.Comments = op.Files
	}
	return c
}

// seed returns the seed for the ids of a call's resources. Equal calls get equal lists wherever
// they are in a graph, and a function does not see the ids of the function before it.
func seed(op graph.Call) krm.Digest {
	w := newKeyWriter("krmflow ids 1")
	w.program(op.Function)
	w.bytes(yaml.AppendJSON(nil, op.Config)) // without style, which functions do not see
	w.text(op.Version, string(rune(op.Role)))
	return w.sum()
}

// encode encodes the input of the executor: a ResourceList for a function, or the chart for
// helm.
func (c *request) encode() (err error) {
	if c.sent != nil {
		return nil
	}
	if c.op.Chart != nil {
		c.sent, err = c.op.Chart.Pack()
		return err
	}
	c.sent = function.EncodeResourceList(c.in, c.op.Config, c.wire)
	return nil
}

// read decodes the output of a function or of helm.
func (c *request) read(printed yaml.Chunks) (*function.Reply, error) {
	if c.op.Chart != nil {
		return readChart(c.op, printed)
	}
	return function.DecodeResourceList(printed, c.in, c.wire)
}

// keyVersion must change with the format of stored answers and with the composition of keys.
const keyVersion = "krmflow answer 2"

// key returns the digest of everything that determines the answer of a function (K03): the
// program, its input, its capabilities and a third-party executor. The location of the program and
// of the tree, and the rest of the graph, are not part of the key, so that an answer is valid in
// every checkout and for every root.
//
// Answers with a Secret have separate keys, marked by secret. A run without [Reuse.Secrets]
// never computes such a key and so never reads one of these answers.
//
// A key must include a new field of [function.Function] if that field can change the answer. A
// missing field makes krmflow reuse a wrong answer; a superfluous one only costs a call.
func (u Reuse) key(c *request, secret bool) krm.Digest {
	f := c.op.Function
	w := newKeyWriter(keyVersion)
	w.text(u.Version, runtime.GOOS, runtime.GOARCH, c.op.Version)
	w.flag(secret)
	w.program(f)
	w.text(f.Network)
	w.uint(uint64(len(f.Mounts)))
	for _, m := range f.Mounts {
		w.text(m.Type, m.Source, m.Dest)
		w.flag(m.Writable)
	}
	w.list(f.Env)
	w.flag(f.Unverified)
	w.flag(f.AsCurrentUser)
	w.flag(f.Unsandboxed)
	for _, n := range []int64{f.Limits.Output, f.Limits.Memory, int64(f.Limits.Procs), int64(c.op.Role)} {
		w.uint(uint64(n))
	}
	w.h.Write(f.Executor[:])
	// krmflow's executor for programs does not provide the text of the configuration as a file.
	if f.Runtime != function.RuntimeExec || !f.Executor.IsZero() {
		w.bytes(f.Config)
	}
	if chart := c.op.Chart; chart != nil {
		w.text("chart", chart.Folder)
		w.h.Write(chart.Digest[:])
		w.uint(uint64(len(chart.Values)))
		for _, file := range chart.Values {
			w.text(file.Name)
			w.bytes(file.Data)
		}
		return w.sum()
	}
	w.text("list")
	w.uint(uint64(c.sent.Len()))
	for _, part := range c.sent {
		w.h.Write(part)
	}
	return w.sum()
}

// A keyWriter hashes a sequence of values. It writes the length before each value, so that
// different sequences have different encodings.
type keyWriter struct{ h hash.Hash }

func newKeyWriter(what string) keyWriter {
	w := keyWriter{sha256.New()}
	w.text(what)
	return w
}

func (w keyWriter) sum() krm.Digest { return krm.Digest(w.h.Sum(nil)) }

func (w keyWriter) uint(n uint64) { w.h.Write(binary.BigEndian.AppendUint64(nil, n)) }

func (w keyWriter) bytes(b []byte) {
	w.uint(uint64(len(b)))
	w.h.Write(b)
}

func (w keyWriter) text(texts ...string) {
	for _, s := range texts {
		w.bytes([]byte(s))
	}
}

func (w keyWriter) list(texts []string) {
	w.uint(uint64(len(texts)))
	w.text(texts...)
}

func (w keyWriter) flag(on bool) {
	if on {
		w.uint(1)
	} else {
		w.uint(0)
	}
}

// program writes the identity of a function's program and its arguments. The directory of the
// program is not part of it, but the name is: some programs behave differently depending on the
// name by which they are called.
func (w keyWriter) program(f function.Function) {
	w.text(string(f.Runtime))
	w.h.Write(f.Digest[:])
	w.list(f.Args)
	address, _, _ := strings.Cut(f.URI, "?")
	switch {
	case f.Runtime == function.RuntimeContainer:
	// The digest of an image identifies the program.
	case f.URI != "" || f.Archive != "":
		w.text(f.Program, f.Bin, path.Base(address))
	case f.Bin != "":
		w.text("", f.Bin, "")
	default:
		w.text("", filepath.Base(f.Program), "")
	}
}

// holdsSecrets reports whether the input or the configuration of a call contains a Secret.
func holdsSecrets(op graph.Call, in *krm.List) bool { return in.HoldsSecrets() || secret.In(op.Config) }

// maxHeld is the maximum size in bytes of an encoded list that is kept in memory while its call
// waits. A larger list is encoded a second time.
const maxHeld = 64 << 10

// find sets the keys of a request. There are none if a stored answer may not replace the call.
func (u Reuse) find(c *request) {
	if u.Answers == nil || !u.may(c.op, c.in) || c.op.Chart == nil && c.encode() != nil {
		return
	}
	if c.keys = append(c.keys, u.key(c, false)); u.Secrets {
		c.keys = append(c.keys, u.key(c, true))
	}
	if c.sent.Len() > maxHeld {
		c.sent = nil
	}
}

// has reports whether an answer to a request is stored.
func (u Reuse) has(ctx context.Context, c *request) bool {
	u.find(c)
	return slices.ContainsFunc(c.keys, func(key krm.Digest) bool {
		_, ok := u.Answers.Lookup(ctx, key)
		return ok
	})
}

// kept returns the stored answer to a request, or nil if there is none that may replace the
// call.
func (r *run) kept(ctx context.Context, n *graph.Node, c *request, wait func(func())) (a *answer) {
	r.o.Reuse.find(c)
	for i, key := range c.keys {
		var out function.Output
		var ok bool
		if wait(func() { out, ok = r.o.Reuse.Answers.Lookup(ctx, key) }); ok {
			a = &answer{report: &CallReport{Node: n, Stderr: out.Stderr, Cached: true}}
			if a.read(c, out.List); mayKeep(a, i > 0) {
				return a
			}
		}
	}
	return nil
}

// keep stores a new answer to a request if it may be reused (K04, K05).
func (r *run) keep(ctx context.Context, c *request, a *answer, out function.Output) {
	if len(c.keys) == 0 || a.err != nil {
		return
	}
	which := 0
	if holdsSecrets(c.op, c.in) || a.reply.List.HoldsSecrets() {
		which = 1
	}
	if which < len(c.keys) && mayKeep(a, which > 0) {
		r.o.Reuse.Answers.Store(ctx, c.keys[which], out)
	}
}

// mayKeep reports whether an answer may be stored and reused: it is complete, has no results
// with severity error, and contains no Secret unless secret is true.
func mayKeep(a *answer, secret bool) bool {
	return a.err == nil && (secret || !a.reply.List.HoldsSecrets()) &&
		!slices.ContainsFunc(a.reply.Results, func(x function.Result) bool { return x.Severity == function.SeverityError })
}

// compare returns an error if two answers of a function to the same request differ.
func compare(f function.Function, now, before *answer) error {
	a, b := now.reply, before.reply
	if bytes.Equal(a.List.AppendYAML(nil), b.List.AppendYAML(nil)) && reflect.DeepEqual(a.Results, b.Results) {
		return nil
	}
	err := function.Wrap(function.Failed,
		fmt.Errorf("%s is not deterministic: it returned two different answers for the same list and configuration",
			f.Name)).With(diag.NotDeterministic)
	if f.Runtime == function.RuntimeHelm {
		return err.Hint("pass values for everything that its templates generate at random")
	}
	return err.Hint("fix the function, or set idempotent: false in its catalog entry so that it runs each time")
}
