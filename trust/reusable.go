package trust

import "github.com/krmflow/krmflow/krm/function"

// notReused returns the reason why answers of the function are never reused from an earlier run,
// "" if they may be (CA-06). The answer must depend only on the input, and only the verified
// function may have produced it. krmflow cannot check this for a third-party executor, so the user
// has to declare it.
func (x *decider) notReused() string {
	switch f, e := &x.fn, x.d.Entry; {
	case len(x.d.Denials) > 0:
		return "denied"
	case x.Executors[f.Runtime].Name != "" && !x.Executors[f.Runtime].Cached:
		return "executor of a third party"
	case f.Unverified || x.d.Digest.IsZero():
		return "unverified"
	case e != nil && len(e.Requires.Needs) > 0:
		return "has grants"
	case f.Network != "":
		return "network"
	case len(f.Mounts) > 0:
		return "mounts"
	case len(f.Env) > 0:
		return "variables"
	case f.Unsandboxed && f.Runtime != function.RuntimeContainer:
		return "not isolated"
	case f.Runtime == function.RuntimeHelm:
		return "" // the compiler of the chart examines its templates
	case e == nil:
		return "in no catalog"
	case !e.Idempotent:
		return "not declared idempotent"
	}
	return ""
}
