package trust

import (
	"path"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// FuzzDecide checks that a configuration never gets more than the trusted entry grants, whatever it
// says about its runtime.
func FuzzDecide(f *testing.F) {
	for _, inline := range []string{
		"{exec: {path: fn.sh}}", "{exec: {path: ./ln.sh, args: [a]}}", "{exec: {path: fn.sh, envs: [A=b, HOME]}}",
		"{exec: {path: ../../bin/sh}}",
		"{container: {image: 'e/f:v1', network: true, mounts: [{type: bind, src: data, dst: /data, rw: true}], envs: [A=b]}}",
		"{container: {image: 'docker.io/e/f@sha256:" + hexA +
			"', mounts: [{type: bind, src: ./., dst: /x/../y}, {type: tmpfs, dst: /t}, {type: volume, src: v, dst: /v}]}}",
		"{starlark: x}", "{container: {image: 'e/f:v1', mounts: [{type: bind, src: 'a,b', dst: '/proc/x'}, {type: '', src: ., dst: /d}]}}",
	} {
		f.Add(inline)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := (&yaml.Source{File: "fn.yaml", Data: []byte("runtime: " + text)}).Strict()
		if err != nil {
			return
		}
		inline, err := function.ReadInline(doc.Value, nil)
		if err != nil {
			return
		}
		for _, runtime := range []string{execA, imageA, "{container: {image: 'e/f:v1', sha256: " +
			hexA + ", requireNetwork: true, requireStorageMount: true}}"} {
			r := request(t, "", trusted(t, "/w/c.yaml", runtime))
			r.Inline = inline
			needs := Policy{}.Needs(r)
			for _, path := range needs.Mounts {
				if path != "/w" && !strings.HasPrefix(path, "/w/") {
					t.Errorf("%s would be looked at", path)
				}
				r.Facts.Mounts[path] = Mount{Real: path}
			}
			d := Policy{}.Decide(r)
			if d.Allowed != (d.Worst == 0) || d.Allowed != (len(d.Denials) == 0) {
				t.Fatalf("%+v", d)
			}
			if d.Allowed {
				checkGrants(t, d, runtime)
			}
		}
	})
}

// checkGrants checks that an allowed function is the function of the entry and has no more than its
// rights.
func checkGrants(t *testing.T, d Decision, runtime string) {
	f := d.Function
	if d.Entry == nil || f.Digest != digest(hexA) || len(f.Args)+len(f.Env) > 0 || f.Unverified || f.Unsandboxed || f.AsCurrentUser {
		t.Errorf("%s: %+v", runtime, f)
	}
	more := strings.Contains(runtime, "require")
	if f.Network != "" && (!more || f.Network != DefaultNetwork) || len(f.Mounts) > 0 && !more {
		t.Errorf("%s: %+v", runtime, f)
	}
	switch f.Runtime {
	case function.RuntimeExec:
		if runtime != execA || f.Program != "/w/fn.sh" || f.Root != "/w" {
			t.Errorf("%s: %+v", runtime, f)
		}
	case function.RuntimeContainer:
		if runtime == execA || f.Image != "e/f:v1" {
			t.Errorf("%s: %+v", runtime, f)
		}
	}
	for _, m := range f.Mounts {
		if m.Writable || path.Clean(m.Dest) != m.Dest || !path.IsAbs(m.Dest) || reservedDest(m.Dest) ||
			strings.ContainsAny(m.Source+m.Dest, ",\"\n\\") {
			t.Errorf("%+v", m)
		}
		if m.Type == "bind" && m.Source != "/w" && !strings.HasPrefix(m.Source, "/w/") ||
			m.Type != "bind" && (m.Type != "tmpfs" || m.Source != "") {
			t.Errorf("%+v", m)
		}
	}
}
