package trust

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// decider is the state of a single decision.
type decider struct {
	Policy
	r Request
	d Decision
	// unavailable is the first trusted catalog that could not be read, if the search had to stop
	// there.
	unavailable *Trusted
	// fn is the function of the decision. It is returned only if there is no denial.
	fn function.Function
}

// Decide returns the decision on r. It has no side effects and is safe for concurrent use.
func (p Policy) Decide(r Request) Decision {
	x := decider{Policy: p, r: r}
	x.fn = function.Function{Name: functionName(r.ID), Node: r.Node, Limits: p.Limits, Dir: r.Dir}
	x.decide()
	return x.decision()
}

// decision returns the completed decision.
func (x *decider) decision() Decision {
	if len(x.d.Denials) == 0 {
		x.fn.Executor = x.Executors[x.fn.Runtime].Digest
		x.d.Allowed, x.d.Function = true, x.fn
	} else {
		x.d.Warnings = nil // they explain why the function runs anyway
	}
	x.d.Executor, x.d.Inline, x.d.NotReused = x.Executors[x.d.Runtime].Name, x.r.Inline, x.notReused()
	for _, denial := range x.d.Denials {
		x.d.Worst = max(x.d.Worst, denial.Reason)
	}
	return x.d
}

func functionName(id krm.ID) string {
	if id.Name == "" {
		return id.GVK.String()
	}
	return diag.OneLine(id.GVK.String() + "/" + id.Name)
}

// deny records a reason against the function. allow lists the flags that would lift it.
func (x *decider) deny(reason Reason, allow []string, format string, args ...any) *diag.Error {
	err := x.errorf(format, args)
	x.d.Denials = append(x.d.Denials, Denial{Reason: reason, Err: err, Allow: allow})
	if len(allow) > 0 {
		err.Hint("to allow it add %s", words(allow))
	}
	return err
}

// words returns flags quoted for a command line.
func words(flags []string) string {
	list := make([]string, len(flags))
	for i, flag := range flags {
		list[i] = diag.ShellWord(flag)
	}
	return strings.Join(list, " ")
}

// errorf returns an error about the function. Strings in args are escaped to a single line.
func (x *decider) errorf(format string, args []any) *diag.Error {
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = diag.OneLine(s)
		}
	}
	err := diag.Errorf(x.r.Pos, "", format, args...)
	err.Msg = x.fn.Name + ": " + err.Msg
	return err
}

func (x *decider) warn(code diag.Code, format string, args ...any) {
	if x.Discover {
		return
	}
	err := x.errorf(format, args).With(code)
	x.d.Warnings = append(x.d.Warnings, err)
}

func (x *decider) decide() {
	if x.r.Conflict != nil {
		err := *x.r.Conflict.Err
		err.Msg = x.fn.Name + ": " + err.Msg
		x.d.Denials = append(x.d.Denials, Denial{Reason: Untrusted, Err: &err})
		return
	}
	if in := x.r.Inline; in != nil && in.Starlark != "" {
		x.deny(Invalid, nil, "starlark is not supported: %s cannot run", diag.Redact(in.Starlark)).With(diag.Unsupported).
			Hint("use a container that runs the script, for instance StarlarkRun")
		return
	}
	if in := x.r.Inline; in != nil && in.Exec != nil {
		x.d.Args = in.Exec.Args
		if x.denyRuntime(in.Exec.Runtime) {
			return
		}
	}
	entry := x.search()
	switch in := x.r.Inline; {
	case in == nil && entry == nil:
		x.unknown()
	case in == nil:
		x.catalogued(entry)
	case entry == nil:
		x.uncatalogued(nil)
	default:
		if diffs := x.differences(entry); len(diffs) > 0 {
			x.uncatalogued(x.explain(entry, diffs))
		} else {
			x.catalogued(entry)
		}
	}
}

// denyRuntime denies a function of a third-party runtime, unless there is an executor for it.
func (x *decider) denyRuntime(r function.Runtime) bool {
	if r == "" || x.Executors[r].Name != "" {
		return false
	}
	err := x.deny(Untrusted, nil, "no executor runs functions of the runtime %q", string(r)).With(diag.NoEngine)
	err.Hint("to have a program run them add %s=%s=PROGRAM@sha256:HEX", FlagExecutor, r)
	return true
}

// search looks the function up in the trusted catalogs, in order. It stops at a catalog that
// cannot be read: skipping it could select a later definition that the catalog overrides.
func (x *decider) search() *catalog.Entry {
	var list []*catalog.Catalog
	for i := range x.r.Catalogs {
		t := &x.r.Catalogs[i]
		if t.Catalog == nil {
			x.unavailable = t
			break
		}
		list = append(list, t.Catalog)
	}
	m := catalog.Search(x.r.ID.GVK, list)
	if m.Entry == nil {
		return nil
	}
	x.unavailable = nil
	x.d.Shadowed = m.Shadowed
	for _, e := range m.Shadowed {
		if x.trustedBy(e) == ByShipped {
			continue // the user has chosen a different program
		}
		msg := "%s is used; %s defines it differently and is shadowed"
		if x.Strict {
			x.deny(Untrusted, nil, msg, m.Entry, e).With(diag.UntrustedCatalog)
		} else {
			x.warn(diag.UntrustedCatalog, msg, m.Entry, e)
		}
	}
	return m.Entry
}

// trustedBy returns the origin of the trust in the catalog of e.
func (x *decider) trustedBy(e *catalog.Entry) string {
	if t := x.trusted(e); t != nil {
		return t.By
	}
	return ""
}

// trusted returns the catalog of e as the user trusts it.
func (x *decider) trusted(e *catalog.Entry) *Trusted {
	for i, t := range x.r.Catalogs {
		if t.Catalog == e.Catalog {
			return &x.r.Catalogs[i]
		}
	}
	return nil
}

// unknown denies a function that is neither in a trusted catalog nor named by its configuration.
func (x *decider) unknown() {
	if x.denyUnavailable() {
		return
	}
	var list []*catalog.Catalog
	var searched []string
	for _, t := range x.r.Catalogs {
		list = append(list, t.Catalog)
		searched = append(searched, t.Ref.String())
	}
	var err *diag.Error
	if len(list) == 0 {
		err = x.deny(Untrusted, nil, "the function is not known: no catalog is trusted").With(diag.Uncatalogued)
	} else {
		err = x.deny(Untrusted, nil, "no trusted catalog defines %s; searched: %s", x.r.ID.GVK,
			strings.Join(searched, ", ")).With(diag.Uncatalogued)
		err.Hints = append(err.Hints, catalog.Search(x.r.ID.GVK, list).Hints...)
	}
	err.Hint("it is needed by %s", x.r.Node)
	last := &x.d.Denials[len(x.d.Denials)-1]
	for _, n := range x.r.Named {
		err.Hint("%s names catalog %s, which is not trusted; %s", n.Pos, n.Ref, n.hint())
		if !n.Fetched {
			last.Allow = append(last.Allow, n.flag())
		}
	}
	if len(x.r.Named) == 0 {
		flag := FlagTrust + "=CATALOG"
		err.Hint("add %s with a catalog that defines it", flag)
		last.Allow = append(last.Allow, flag)
	}
	if hint := function.LegacyHint(x.r.Config); hint != "" {
		err.Hint("%s", hint)
	} else if x.r.Facts.Legacy != "" {
		err.Hint("%s is a legacy plugin, and these are not supported: name a program below the directory of the configuration, "+
			"as runtime: {exec: {path: ./program}}, or list it in a catalog", x.r.Facts.Legacy)
	}
}

func (x *decider) denyUnavailable() bool {
	t := x.unavailable
	if t == nil {
		return false
	}
	if t.Denial != nil {
		x.d.Denials = append(x.d.Denials, *t.Denial)
		return true
	}
	var all []error
	if many, ok := t.Err.(interface{ Unwrap() []error }); ok {
		all = many.Unwrap()
	} else {
		all = []error{t.Err}
	}
	why, hints := diag.Parts(all[0])
	err := x.deny(Invalid, nil, "cannot read catalog %s, which must be searched for it: %s", t.Ref, why).With(diag.BadCatalog)
	err.Err = t.Err
	err.Hints = append(err.Hints, hints...)
	for _, more := range all[1:] {
		text, hints := diag.Parts(more)
		err.Hints = append(append(err.Hints, text), hints...)
	}
	return true
}

// catalogued decides on a function with a trusted entry.
func (x *decider) catalogued(e *catalog.Entry) {
	x.d.Entry, x.d.By = e, x.trustedBy(e)
	prefer := x.Prefer
	if in := x.r.Inline; in != nil && in.Exec != nil {
		prefer = function.RuntimeExec
	} else if in != nil && (len(in.Container.Mounts) > 0 || in.Container.Network != nil && *in.Container.Network) {
		prefer = function.RuntimeContainer // it asks for capabilities that only a container gets
	}
	sel, err := e.Select(x.r.OS, x.r.Arch, prefer)
	if err != nil {
		reason := Invalid
		if errors.Is(err, catalog.ErrNoPlatform) {
			reason = Untrusted
		}
		x.deny(reason, nil, "%v", err).Hint("the entry is at %s", e.Pos())
		return
	}
	x.d.Runtime, x.d.Reason, x.fn.Runtime = sel.Runtime, sel.Reason, sel.Runtime
	if sel.Runtime != function.RuntimeContainer && x.denyRuntime(e.ExecRuntime) {
		return
	}
	x.confusedDeputy(e, sel)
	x.requirements(e)
	if sel.Runtime == function.RuntimeContainer {
		x.image(e)
		x.entryGrants(e)
	} else {
		x.program(e, sel.Platform)
		x.sandbox()
	}
}

// confusedDeputy denies configurations from fetched trees the use of local programs and of
// functions with capabilities, unless the catalog allows it. The user catalogued them for local
// configurations; a fetched configuration could abuse them to reach local data.
func (x *decider) confusedDeputy(e *catalog.Entry, sel catalog.Selection) {
	if !x.r.Remote || e.AllowRemoteConfig {
		return
	}
	what := ""
	switch c := e.Container; {
	case sel.Runtime != function.RuntimeContainer && !catalog.IsAddress(sel.Platform.URI):
		what = "a local program"
	case len(e.Requires.Needs) > 0 || sel.Runtime == function.RuntimeContainer && (c.Network || c.Storage):
		what = "a function with capabilities"
	default:
		return
	}
	x.deny(Untrusted, nil, "a configuration from a remote tree may not use %s (%s)", what, e).With(diag.GrantDenied).
		Hint("to allow it, set allowRemoteConfig: true in the catalog")
}

// uncatalogued decides on a function that only its configuration names. mismatch explains why
// the trusted entry for the same GVK does not cover it.
func (x *decider) uncatalogued(mismatch []string) {
	in := x.r.Inline
	var missing []string
	if !x.AllowUncatalogued {
		missing = append(missing, FlagAlpha)
	}
	if in.Exec != nil && !x.AllowExec {
		missing = append(missing, FlagExec)
	}
	if missing != nil && x.denyUnavailable() {
		return
	}
	x.fn.Runtime = function.RuntimeContainer
	if in.Exec != nil {
		x.fn.Runtime = cmp.Or(in.Exec.Runtime, function.RuntimeExec)
	}
	x.d.Runtime = x.fn.Runtime
	switch {
	case in.Exec != nil && x.r.Remote:
		x.deny(Untrusted, nil, "a remote tree cannot bring its own program: %s is not in a trusted catalog",
			diag.Redact(in.Exec.Path)).With(diag.Uncatalogued)
		return // the program is not on this machine
	case missing != nil && mismatch != nil:
		err := x.deny(Untrusted, missing, "the configuration differs from what the trusted catalog allows: %s",
			strings.Join(mismatch, "; ")).With(diag.GrantDenied)
		err.Hint("or remove the runtime settings from the configuration")
	case missing != nil:
		err := x.deny(Untrusted, missing, "%s is not in a trusted catalog", in).With(diag.Uncatalogued)
		err.Hints = slices.Insert(err.Hints, 0, "list it in a catalog with 'krmflow edit generate-catalog DIR', and trust the catalog: "+
			FlagTrust+"=DIR/catalog.yaml")
		x.hintNamed(err)
	case mismatch != nil:
		x.warn(diag.Uncatalogued, "runs as the configuration says, uncatalogued, and differs from the trusted catalog: %s",
			strings.Join(mismatch, "; "))
	default:
		x.warn(diag.Uncatalogued, "%s is not in a trusted catalog and runs because of %s", in, x.flagsFor(in))
	}
	if in.Exec != nil {
		x.inlineProgram()
		x.sandbox()
	} else {
		x.inlineImage()
		x.inlineGrants()
	}
	x.inlineEnv()
}

func (x *decider) flagsFor(in *function.Inline) string {
	if in.Exec != nil {
		return FlagAlpha + " " + FlagExec
	}
	return FlagAlpha
}

func (x *decider) hintNamed(err *diag.Error) {
	for _, n := range x.r.Named {
		err.Hint("%s names catalog %s, which is not trusted; if it lists this function, %s is enough", n.Pos, n.Ref, n.flag())
	}
}

// sandbox denies a program that cannot be isolated, unless the user allows programs without
// isolation.
func (x *decider) sandbox() {
	x.fn.Unsandboxed = x.AllowUnsandboxed
	switch {
	case x.Executors[x.fn.Runtime].Name != "":
	case x.AllowUnsandboxed:
		x.d.Isolation = "none (" + FlagUnsandboxed + ")"
		x.warn(diag.Unsandboxed, "runs without isolation because of %s", FlagUnsandboxed)
	case x.r.Facts.Isolation == "":
		x.d.Isolation = "none"
		why := x.r.Facts.NotIsolated
		if why != "" {
			why = ": " + why
		}
		x.deny(Untrusted, []string{FlagUnsandboxed}, "this machine cannot isolate a program%s", why).With(diag.Unsandboxed)
	default:
		x.d.Isolation = x.r.Facts.Isolation
	}
}
