package trust

import "github.com/krmflow/krmflow/krm/function"

// notReused says why the answers of a function are never taken from an earlier run, "" if they may be (CA-06): the same input must give the
// same answer, and nobody but the function may have a part in that.
func (x *decider) notReused() string {
	switch f, e := &x.fn, x.d.Entry; {
	case len(x.d.Denials) > 0:
		return "denied"
	case x.Executors[f.Runtime] != "":
		return "executor of a third party"
	case f.Unverified || x.d.Digest.IsZero():
		return "unverified"
	case f.Network != "":
		return "network"
	case len(f.Mounts) > 0:
		return "mounts"
	case len(f.Env) > 0:
		return "variables"
	case f.Unsandboxed && f.Runtime != function.RuntimeContainer:
		return "not isolated"
	case f.Runtime == function.RuntimeHelm:
		return "" // who compiles the chart looks at its templates
	case e == nil:
		return "in no catalog"
	case !e.Idempotent:
		return "not declared idempotent"
	}
	return ""
}
