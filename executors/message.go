package executors

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors/internal/wire"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// chunk is the number of bytes of a list in one message, well below gRPC's limit of 4 MiB.
const chunk = 1 << 20

// parts returns an iterator over the parts of a list, one per message.
func parts(list yaml.Chunks) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, c := range list {
			for part := range slices.Chunk(c, chunk) {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// keep appends a part to a list. Small parts are merged into the previous one. krmflow does not
// send such parts, but other executors may.
func keep(list yaml.Chunks, part []byte) yaml.Chunks {
	switch n := len(list); {
	case len(part) == 0:
		return list
	case n > 0 && len(part) < chunk/16:
		list[n-1] = append(list[n-1], part...)
		return list
	}
	return append(list, part)
}

// toWire returns the message for f.
func toWire(f function.Function) *wire.Function {
	w := &wire.Function{
		Name: f.Name, Node: f.Node, Runtime: string(f.Runtime), Unverified: f.Unverified,
		Program: f.Program, Root: f.Root, Bin: f.Bin, Args: f.Args, Dir: f.Dir, Image: f.Image,
		Network: f.Network, Env: f.Env, AsCurrentUser: f.AsCurrentUser, Unsandboxed: f.Unsandboxed,
		Limits: &wire.Limits{
			TimeoutNs: int64(f.Limits.Timeout), Output: f.Limits.Output, Memory: f.Limits.Memory, Procs: int64(f.Limits.Procs),
		},
		Config: f.Config,
	}
	if f.Digest != (krm.Digest{}) {
		w.Digest = f.Digest[:]
	}
	for _, m := range f.Mounts {
		w.Mounts = append(w.Mounts, &wire.Mount{Type: m.Type, Source: m.Source, Dest: m.Dest, Writable: m.Writable})
	}
	return w
}

// fromWire is the inverse of toWire.
func fromWire(w *wire.Function) function.Function {
	l := w.GetLimits()
	f := function.Function{
		Name: w.GetName(), Node: w.GetNode(), Runtime: function.Runtime(w.GetRuntime()), Unverified: w.GetUnverified(),
		Program: w.GetProgram(), Root: w.GetRoot(), Bin: w.GetBin(), Args: w.GetArgs(), Dir: w.GetDir(), Image: w.GetImage(),
		Network: w.GetNetwork(), Env: w.GetEnv(), AsCurrentUser: w.GetAsCurrentUser(), Unsandboxed: w.GetUnsandboxed(),
		Limits: function.Limits{
			Timeout: time.Duration(l.GetTimeoutNs()), Output: l.GetOutput(), Memory: l.GetMemory(), Procs: int(l.GetProcs()),
		},
		Config: w.GetConfig(),
	}
	copy(f.Digest[:], w.GetDigest())
	for _, m := range w.GetMounts() {
		f.Mounts = append(f.Mounts, function.Mount{Type: m.GetType(), Source: m.GetSource(), Dest: m.GetDest(), Writable: m.GetWritable()})
	}
	return f
}

// errToWire returns the message for err, nil for nil.
func errToWire(err error) *wire.Error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		code := wire.Code(e.Code)
		if e.Code == Retrieval {
			code = wire.Code_RETRIEVAL
		}
		msg, hints := e.Msg, e.Hints
		if err != error(e) {
			msg, hints = diag.Parts(err)
		}
		return &wire.Error{Code: code, Msg: msg, Hints: hints, Stderr: e.Stderr}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &wire.Error{Code: wire.Code_CANCELLED, Msg: err.Error()}
	}
	return &wire.Error{Code: wire.Code_INTERNAL, Msg: err.Error()}
}

// errFromWire is the inverse of errToWire. Third-party executors may send hints as additional
// lines of the message, each indented by two spaces.
func errFromWire(w *wire.Error) error {
	lines := strings.Split(w.GetMsg(), "\n  ")
	e := &Error{Msg: lines[0], Hints: append(lines[1:], w.GetHints()...), Stderr: w.GetStderr()}
	switch code := w.GetCode(); {
	case w == nil:
		return nil
	case code == wire.Code_CANCELLED:
		return context.Canceled
	case code == wire.Code_RETRIEVAL:
		e.Code = Retrieval
	case code < 0 || code > wire.Code(Limit): // from a newer executor
		e.Code = Failed
	default:
		e.Code = Code(code)
	}
	return e
}
