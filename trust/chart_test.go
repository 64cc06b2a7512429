package trust

import (
	"errors"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

func TestDecideChart(t *testing.T) {
	helm := Program{Real: "/usr/bin/helm", Digest: krm.DigestOf([]byte("helm"))}
	for _, c := range []struct {
		name     string
		policy   Policy
		helm     Program
		isolated bool
		denied   string // empty if allowed
	}{
		{"the zero policy", Policy{}, helm, true, "must specify --enable-helm"},
		{"other flags", Policy{AllowUncatalogued: true, AllowExec: true, AllowUnsandboxed: true}, helm, true, "must specify --enable-helm"},
		{"allowed", Policy{Helm: true}, helm, true, ""},
		{"no program", Policy{Helm: true}, Program{Err: errors.New("not found")}, true, "charts: not found"},
		{"no sandbox", Policy{Helm: true}, helm, false, "cannot isolate"},
		{"without a sandbox", Policy{Helm: true, AllowUnsandboxed: true}, helm, false, ""},
	} {
		r := ChartRequest{Name: "chart web", Command: "helm", Helm: func() Program {
			if !c.policy.Helm {
				t.Errorf("%s: somebody looks for helm", c.name)
			}
			return c.helm
		}}
		if c.isolated {
			r.Facts.Isolation = "landlock"
		}
		d := c.policy.DecideChart(r)
		if d.Allowed != (c.denied == "") || !d.Allowed && !strings.Contains(d.Denials[0].Err.Error(), c.denied) {
			t.Errorf("%s: %t, %v", c.name, d.Allowed, d.Denials)
		}
		f := d.Function
		if d.Allowed && (f.Program != helm.Real || f.Root != "/usr/bin" || f.Digest != helm.Digest || f.Runtime != function.RuntimeHelm ||
			f.Network != "" || len(f.Mounts) > 0) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
