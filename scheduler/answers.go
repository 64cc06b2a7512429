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

// Reuse says how answers of earlier runs take the place of calls: those of [graph.Call.Reusable] with the same key. The zero Reuse has every
// function run.
type Reuse struct {
	// Answers has the answers of earlier runs, and takes those of this one. Nil stands for none.
	Answers Answers
	// Version is that of the program. It is part of every key.
	Version string
	// Secrets has also answers reused, and therefore kept, that have a Secret, and those to a list or a configuration with one.
	Secrets bool
	// Verify has functions run all the same. An answer that differs from the kept one is an error.
	Verify bool
}

// Answers are what functions have answered. They are called from several goroutines at the same time. What goes wrong with them is for
// them to tell: it fails no run.
type Answers interface {
	// Lookup returns the answer that was stored for a key.
	Lookup(ctx context.Context, key krm.Digest) (out function.Output, ok bool)
	// Store keeps the answer for a key.
	Store(ctx context.Context, key krm.Digest, out function.Output)
}

// Has reports whether there is an answer to a call that gets no list, so that this is known before anything runs. It reports false twice for all
// other calls, and for those that are never reused.
func (u Reuse) Has(ctx context.Context, op graph.Call) (there, known bool) {
	if u.Answers == nil || !u.may(op, nil) || op.Role != function.GeneratorRole {
		return false, false
	}
	return u.has(ctx, newRequest(op, nil)), true
}

// may reports whether an answer may take the place of a call with the list in.
func (u Reuse) may(op graph.Call, in *krm.List) bool {
	return op.Reusable && !op.Function.Digest.IsZero() && (u.Secrets || !holdsSecrets(op, in))
}

// A request is a call with its list.
type request struct {
	op   graph.Call
	in   *krm.List // nil for a generator
	wire function.WireOptions
	sent yaml.Chunks  // what the executor gets, once that is encoded
	keys []krm.Digest // what answers may be kept for, see Reuse.find; the second one, if any, is for those with Secrets
}

func newRequest(op graph.Call, list *krm.List) *request {
	c := &request{op: op, in: list}
	if op.Role == function.GeneratorRole {
		c.in = nil
	}
	c.wire = function.WireOptions{Role: op.Role, Version: op.Version, Name: op.Function.Name, Pos: op.ConfigPos, Schema: op.Schema, Seed: seed(op),
		Output: op.Function.Limits.Output, Files: op.Files != nil}
	if op.Files != nil {
		c.wire.Comments = op.Files
	}
	return c
}

// seed makes the ids of a call's resources: equal calls get equal lists, wherever they are in a graph, and functions that come after each
// other do not see each other's ids.
func seed(op graph.Call) krm.Digest {
	w := newKeyWriter("krmflow ids 1")
	w.program(op.Function)
	w.bytes(yaml.AppendJSON(nil, op.Config)) // not its style, which functions do not see
	w.text(op.Version, string(rune(op.Role)))
	return w.sum()
}

// encode makes what the executor gets: the list for a function, or the chart for helm.
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

// read decodes what a function or helm has answered.
func (c *request) read(printed yaml.Chunks) (*function.Reply, error) {
	if c.op.Chart != nil {
		return readChart(c.op, printed)
	}
	return function.DecodeResourceList(printed, c.in, c.wire)
}

// keyVersion changes with what is kept, and with what a key is made of.
const keyVersion = "krmflow answer 1"

// key returns a digest of all that decides what a function answers (K03): the program, what it gets, and what it may do. It does not depend on
// where the program and the tree are, nor on the graph. Answers in which there is a Secret have keys of their own: who does not ask for them
// gets none.
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
	if f.Runtime != function.RuntimeExec { // others find the text of the configuration in a file
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

// A keyWriter writes texts so that different ones are written differently.
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

// program writes which program a function is, and how it is called. Where it lies does not count, but what it is called does: some programs are
// several, by name.
func (w keyWriter) program(f function.Function) {
	w.text(string(f.Runtime))
	w.h.Write(f.Digest[:])
	w.list(f.Args)
	address, _, _ := strings.Cut(f.URI, "?")
	switch {
	case f.Runtime == function.RuntimeContainer:
	case f.URI != "" || f.Archive != "": // the digest may be that of an archive
		w.text(f.Program, f.Bin, path.Base(address))
	case f.Bin != "":
		w.text("", f.Bin, "")
	default:
		w.text("", filepath.Base(f.Program), "")
	}
}

// holdsSecrets reports whether the input of a call contains a Secret.
func holdsSecrets(op graph.Call, in *krm.List) bool { return in.HoldsSecrets() || secret.In(op.Config) }

// maxHeld is how many bytes of an encoded list are held while a call waits for its turn. A longer one is encoded twice.
const maxHeld = 64 << 10

// find makes the keys of a request, none if no answer may take its place.
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

// has reports whether there is an answer to a request.
func (u Reuse) has(ctx context.Context, c *request) bool {
	u.find(c)
	return slices.ContainsFunc(c.keys, func(key krm.Digest) bool {
		_, ok := u.Answers.Lookup(ctx, key)
		return ok
	})
}

// kept returns the answer of an earlier run to a request, nil if there is none that may take its place.
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

// keep stores what a function has just answered to a request, if it may be reused (K04, K05).
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

// mayKeep reports whether an answer is one that is kept: whole, without errors among its results, and with no Secret unless that is known.
func mayKeep(a *answer, secret bool) bool {
	return a.err == nil && (secret || !a.reply.List.HoldsSecrets()) &&
		!slices.ContainsFunc(a.reply.Results, func(x function.Result) bool { return x.Severity == function.SeverityError })
}

// compare returns an error if a function has not answered what it did before.
func compare(f function.Function, now, before *answer) error {
	a, b := now.reply, before.reply
	if bytes.Equal(a.List.AppendYAML(nil), b.List.AppendYAML(nil)) && reflect.DeepEqual(a.Results, b.Results) {
		return nil
	}
	err := function.Wrap(function.Failed, fmt.Errorf("%s is not deterministic: it has answered two things to the same list and configuration", f.Name)).With(diag.NotDeterministic)
	if f.Runtime == function.RuntimeHelm {
		return err.Hint("set what its templates make up by values")
	}
	return err.Hint("write idempotent: false in its catalog entry, so that it runs each time, or correct the function")
}
