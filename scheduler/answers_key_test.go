package scheduler

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/chart"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// TestKeysTellCalls checks that two calls have the same key if and only if they are equal, except
// for file locations and names in messages. The calls are random and often equal or almost equal.
func TestKeysTellCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	same := 0
	for range 50_000 {
		seed := r.Uint64()
		a, b := randomCall(rand.New(rand.NewPCG(seed, 0))), randomCall(rand.New(rand.NewPCG(seed, 0)))
		if r.IntN(4) > 0 {
			b.change(r, r.IntN(fields))
		}
		ka, kb := a.key(), b.key()
		if equal := a.describe() == b.describe(); equal != (ka == kb) {
			t.Fatalf("equal is %t, but the keys are %s and %s:\n%s\n%s", equal, ka, kb, a.describe(), b.describe())
		} else if equal {
			same++
		}
	}
	if same < 10_000 || same > 40_000 {
		t.Errorf("%d of 50,000 pairs were the same", same)
	}
}

// A trial is a call with everything its key depends on, and more.
type trial struct {
	op      graph.Call
	list    *krm.List
	version string
	secret  bool
}

// fields is the number of properties that change can set.
const fields = 25

func randomCall(r *rand.Rand) *trial {
	c := &trial{}
	for i := range fields {
		c.change(r, i)
	}
	return c
}

func (c *trial) key() krm.Digest {
	req := newRequest(c.op, c.list)
	if c.op.Chart == nil && req.encode() != nil {
		panic("it cannot be encoded")
	}
	return Reuse{Version: c.version}.key(req, c.secret)
}

// change sets property i of c to a random value, which may be the same.
func (c *trial) change(r *rand.Rand, i int) {
	text := func() string { return []string{"", "a", "ab", "b", "a,b", "a\x00b"}[r.IntN(6)] }
	texts := func() (list []string) {
		for range r.IntN(3) {
			list = append(list, text())
		}
		return list
	}
	half := func() bool { return r.IntN(2) == 0 }
	digest := func() krm.Digest { return krm.DigestOf([]byte(text())) }
	f := &c.op.Function
	switch i {
	case 0:
		f.Digest = digest()
	case 1:
		f.Runtime = []function.Runtime{function.RuntimeExec, function.RuntimeContainer, function.RuntimeHelm}[r.IntN(3)]
	case 2:
		f.Program = []string{"/x/a", "/y/a", "/x/b", ""}[r.IntN(4)]
	case 3:
		f.Bin = text()
	case 4:
		f.URI = []string{"", "https://a/b", "https://c/b?x=y", "https://a/c"}[r.IntN(4)]
	case 5:
		f.Archive = []string{"", "/a.tgz", "/b.tgz"}[r.IntN(3)]
	case 6:
		f.Args = texts()
	case 7:
		f.Config = []byte(text())
	case 8:
		f.Limits.Output, f.Limits.Memory = int64(r.IntN(2)), int64(r.IntN(2))
	case 9:
		f.Limits.Procs = r.IntN(2)
	case 10:
		f.AsCurrentUser = half()
	case 11:
		f.Unsandboxed, f.Unverified = half(), half()
	case 12:
		f.Env = texts()
	case 13:
		f.Network = text()
	case 14:
		if f.Mounts = nil; half() {
			f.Mounts = []function.Mount{{Type: text(), Source: text(), Dest: text(), Writable: half()}}
		}
	case 15:
		c.op.Role = function.Role(r.IntN(3))
	case 16:
		c.op.Version = []string{"", function.ResourceListV1beta1}[r.IntN(2)]
	case 17:
		c.op.Config = yaml.MapOf(yaml.Field{Key: text() + "k",
			Value: []yaml.Value{yaml.Str(text()), yaml.QuotedStr("1"), yaml.Number(yaml.Int, "1")}[r.IntN(3)]})
	case 18:
		c.list = krm.NewList()
		for range r.IntN(3) {
			_ = c.list.Append(krm.NewResource(yaml.MapOf(yaml.Field{Key: "kind", Value: yaml.Str("K" + text())}), nil))
		}
	case 19:
		if c.op.Chart = nil; half() {
			c.op.Chart = &chart.Chart{Digest: digest(), Folder: text()}
			for range r.IntN(3) {
				c.op.Chart.Values = append(c.op.Chart.Values, chart.File{Name: text(), Data: []byte(text())})
			}
		}
	case 20:
		c.version = text()
	case 21:
		c.secret = half()
	case 22: // not part of the key
		f.Name, f.Node, f.Root, f.Dir, f.Image = text(), text(), text(), text(), text()
		f.Limits.Timeout = 1
	case 24:
		if f.Executor = (krm.Digest{}); half() {
			f.Executor = digest()
		}
	case 23: // not part of the key
		c.op.ConfigPos.File, c.op.Origin = text(), &krm.Origin{}
	}
}

// describe prints the properties that determine the key. It does not use the encoding of keys.
func (c *trial) describe() string {
	f := c.op.Function
	s := fmt.Sprintf("%q %t %s %q %q env %q net %q", c.version, c.secret, f.Runtime, f.Digest, f.Args, f.Env, f.Network)
	s += fmt.Sprintf(" mounts %q %d %d %d %t %t %t role %d version %q", fmt.Sprintf("%#v", f.Mounts), f.Limits.Output, f.Limits.Memory,
		f.Limits.Procs,
		f.AsCurrentUser, f.Unsandboxed, f.Unverified, c.op.Role, c.op.Version)
	if f.Runtime != function.RuntimeContainer {
		switch {
		case f.URI != "" || f.Archive != "":
			s += fmt.Sprintf(" fetched %q %q", f.Program, f.Bin)
			if f.URI != "" {
				s += " as " + f.URI[len("https://a/"):len("https://a/b")]
			}
		case f.Bin != "":
			s += fmt.Sprintf(" called %q", f.Bin)
		default:
			s += fmt.Sprintf(" called %q", filepath.Base(f.Program))
		}
	}
	if !f.Executor.IsZero() {
		s += fmt.Sprintf(" executor %s", f.Executor)
	}
	if f.Runtime != function.RuntimeExec || !f.Executor.IsZero() {
		s += fmt.Sprintf(" text %q", f.Config)
	}
	if x := c.op.Chart; x != nil {
		s += fmt.Sprintf(" chart %s %q", x.Digest, x.Folder)
		for _, v := range x.Values {
			s += fmt.Sprintf(" %q=%q", v.Name, v.Data)
		}
		return s
	}
	s += fmt.Sprintf(" config %s", yaml.AppendJSON(nil, c.op.Config))
	if c.op.Role != function.GeneratorRole {
		for i := range c.list.Len() {
			s += fmt.Sprintf(" %s", yaml.AppendJSON(nil, c.list.At(i).Value()))
		}
	}
	return s
}
