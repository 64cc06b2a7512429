package trust

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// A Granted is a grant of the user: an entry of a trusted catalog may have some of the things that
// it requires. See [catalog.Requires].
type Granted struct {
	// Catalog is the only catalog, or the only place of catalogs, whose entries get the grant. Nil
	// means each catalog that the user trusts by its own reference.
	Catalog *Configured
	// Function is GROUP/KIND or GROUP/VERSION/KIND, without GROUP/ for the core group.
	Function string
	// Names lists what is granted: variables, [catalog.RequireTree], [catalog.RequireNetwork].
	Names []string
	// By is the origin in plans: [FlagGrant] or [ByConfig].
	By  string
	Pos diag.Pos // in the user's configuration
}

// place returns the place of a grant for messages.
func (g Granted) place() string {
	if g.Pos.File != "" {
		return "at " + g.Pos.String()
	}
	return g.String()
}

// String returns the value for the flag.
func (g Granted) String() string { return g.Function + "=" + strings.Join(g.Names, ",") }

// ParseGrant parses FUNCTION=NAME[,NAME...].
func ParseGrant(text string) (Granted, error) {
	fn, names, ok := strings.Cut(text, "=")
	g := Granted{Function: fn, Names: strings.Split(names, ","), By: FlagGrant}
	if !ok {
		return g, diag.BadValue.Errorf("%q has no =; expected FUNCTION=NAME[,NAME...], for example example.com/Decrypt=KEY_FILE,tree", text)
	}
	return g, g.check()
}

// check returns the mistakes in a grant.
func (g Granted) check() error {
	if parts := strings.Split(g.Function, "/"); len(parts) > 3 || slices.Contains(parts, "") {
		return diag.BadValue.Errorf("%q is not GROUP/KIND or GROUP/VERSION/KIND", g.Function)
	}
	for _, name := range g.Names {
		if !function.IsVariable(name) {
			return diag.BadValue.Errorf("%q is not a variable, %s or %s", name, catalog.RequireTree, catalog.RequireNetwork)
		}
	}
	return nil
}

// isFor reports whether the grant is for the function of e, in whatever catalog.
func (g Granted) isFor(e *catalog.Entry) bool {
	return g.Function == functionKey(e.GVK) || g.Function == fullKey(e.GVK)
}

// covers reports whether the grant is for e in the catalog t. A tree can choose among the catalogs
// below a trusted place or of a publisher, so these need a grant that names the catalog.
func (g Granted) covers(t *Trusted, e *catalog.Entry) bool {
	switch {
	case !g.isFor(e) || t == nil:
		return false
	case g.Catalog == nil:
		return !t.Named
	case !g.Catalog.Ref.Pin.IsZero() && g.Catalog.Ref.Pin != t.Digest:
		return false
	case g.Catalog.Covers(t.Ref):
		return true
	}
	given := t.Ref
	given.Location = t.Path // with symbolic links
	return t.Path != "" && g.Catalog.Covers(given)
}

// fullKey and functionKey return the forms of [Granted].Function, with and without the version.
func fullKey(k krm.GVK) string     { return strings.TrimPrefix(k.Group+"/"+k.Version+"/"+k.Kind, "/") }
func functionKey(k krm.GVK) string { return strings.TrimPrefix(k.Group+"/"+k.Kind, "/") }

// granted returns the origin of the grant of name to e, "" for none.
func (x *decider) granted(e *catalog.Entry, name string) string {
	t := x.trusted(e)
	for _, g := range x.Granted {
		if slices.Contains(g.Names, name) && g.covers(t, e) {
			return g.By
		}
	}
	return ""
}

// envValue returns the value of a variable given with --env.
func (p Policy) envValue(name string) (value string, ok bool) {
	for _, item := range p.Env {
		if n, v, _ := strings.Cut(item, "="); n == name {
			value, ok = v, true
		}
	}
	return value, ok
}

// variable returns the value of a granted variable.
func (p Policy) variable(name string) (string, bool) {
	if v, ok := p.envValue(name); ok {
		return v, true
	}
	if p.Variable == nil {
		return "", false
	}
	return p.Variable(name)
}

// grantedFiles returns the paths that e may read because of a grant.
func (x *decider) grantedFiles(e *catalog.Entry) (paths []string) {
	for _, name := range e.Requires.Files {
		if v, ok := x.variable(name); ok && v != "" && x.granted(e, name) != "" {
			paths = append(paths, x.path(v))
		}
	}
	return paths
}

// path returns the absolute path of the value of a variable.
func (p Policy) path(value string) string {
	if p.Absolute == nil {
		return value
	}
	return p.Absolute(value)
}

// requirements gives an entry what it requires and the user grants, and denies the function if
// something is missing.
func (x *decider) requirements(e *catalog.Entry) {
	x.unrequired(e)
	if t := x.trusted(e); t != nil && t.Changeable && len(e.Requires.Needs) > 0 {
		x.deny(Untrusted, []string{FlagTrust + "=" + t.Ref.Pinned(t.Digest)},
			"a catalog that others can change gets no grants: %s is not pinned", t.Ref.Show()).With(diag.GrantDenied)
		return
	}
	var missing []catalog.Need
	for _, need := range e.Requires.Needs {
		given := 0
		var unset []string
		for _, name := range need.Names {
			by := x.granted(e, name)
			if by == "" {
				continue
			}
			if x.give(e, name, by) {
				given++
			} else {
				unset = append(unset, name)
			}
		}
		switch {
		case given > 0 || need.Optional:
		case unset != nil:
			x.deny(Invalid, nil, "the function requires %s: granted, but not set in your environment", strings.Join(unset, ", ")).
				With(diag.GrantDenied)
		default:
			missing = append(missing, need)
		}
	}
	if missing == nil {
		return
	}
	var names, texts []string
	for _, need := range missing {
		names = append(names, x.likely(need))
		texts = append(texts, need.String())
	}
	err := x.deny(Untrusted, []string{FlagGrant + "=" + functionKey(e.GVK) + "=" + strings.Join(names, ",")},
		"the function requires %s, which you have not granted", strings.Join(texts, " and ")).With(diag.GrantDenied)
	for _, g := range x.Granted {
		if g.isFor(e) && !g.covers(x.trusted(e), e) {
			err.Hint("the grant %s is for a different catalog than %s: see 'krmflow explain %s'", g.place(), e.Catalog.Ref.Show(),
				diag.GrantDenied)
		}
	}
	if x.GrantsErr != nil {
		err.Hint("the grants in your configuration are ignored: %v", x.GrantsErr)
	}
}

// likely returns the alternative that the user probably wants to grant: the first one that is
// set.
func (x *decider) likely(n catalog.Need) string {
	for _, name := range n.Names {
		if v, ok := x.variable(name); ok && v != "" {
			return name
		}
	}
	return n.Names[0]
}

// give gives the function one thing that the user grants. It returns false for a variable that is
// not set. Mistakes are denials.
func (x *decider) give(e *catalog.Entry, name, by string) bool {
	switch name {
	case catalog.RequireNetwork:
		switch {
		case x.fn.Runtime != function.RuntimeContainer:
			x.fn.Network = DefaultNetwork
			x.grant(by, "the network of this machine")
		case x.fn.Network == "":
			x.grantNetwork(by)
		}
		return true
	case catalog.RequireTree:
		if x.isBroad(x.r.Dir, name) {
			return true
		}
		x.read(x.r.Dir, name)
		x.grant(by, "files below %s", x.r.Name)
		return true
	}
	value, ok := x.variable(name)
	if !ok || value == "" {
		return false
	}
	if slices.Contains(e.Requires.Files, name) {
		path := x.path(value)
		found, ok := x.r.Facts.Mounts[path]
		switch {
		case !ok:
			x.deny(Mismatch, nil, "the file that %s names was not examined", name).With(diag.GrantDenied)
			return true
		case found.Err != nil:
			why := found.Err
			// The value may be a key instead of the path of one, so it is not shown.
			var pathErr *fs.PathError
			if errors.As(why, &pathErr) {
				why = pathErr.Err
			}
			x.deny(Invalid, nil, "%s must be the path of a file: %v", name, why).With(diag.GrantDenied)
			return true
		case x.isBroad(found.Real, name):
			return true
		}
		value = x.read(found.Real, name)
		x.grant(by, "variable %s and its file", name)
	} else {
		x.grant(by, "variable %s", name)
	}
	x.fn.Env = append(x.fn.Env, name+"="+value)
	return true
}

// isBroad denies the function if a grant would open the whole machine or the user's whole home.
func (x *decider) isBroad(path, name string) bool {
	if path != filepath.Dir(path) && (x.Home == "" || !diag.Within(x.Home, path)) {
		return false
	}
	x.deny(Untrusted, nil, "the grant of %s would open all files below %s", name, path).With(diag.GrantDenied)
	return true
}

// read lets the function read path, and returns the path that the function sees: in a container
// a place of its own.
func (x *decider) read(path, name string) string {
	m := function.Mount{Type: "bind", Source: path, Dest: path}
	if x.fn.Runtime == function.RuntimeContainer {
		m.Dest = "/granted/" + name
	}
	x.fn.Mounts = append(x.fn.Mounts, m)
	return m.Dest
}

// unrequired denies a function if the user gives it something that its entry does not require: it
// would not get it, and the user would notice only by the output.
func (x *decider) unrequired(e *catalog.Entry) {
	requires := "no catalog entry requires anything of it"
	if len(e.Requires.Needs) > 0 {
		requires = "its entry requires " + e.Requires.String()
	}
	for _, g := range x.Granted {
		for _, name := range g.Names {
			if g.covers(x.trusted(e), e) && !e.Requires.Has(name) {
				x.deny(Untrusted, nil, "%s is granted, but %s", name, requires).With(diag.GrantDenied).
					Hint("remove it from the grant: %s", g)
			}
		}
	}
	var flags []string
	for _, item := range x.Env {
		if name, _, _ := strings.Cut(item, "="); !e.Requires.Has(name) || name == catalog.RequireTree || name == catalog.RequireNetwork {
			flags = append(flags, FlagEnv+" "+name)
		}
	}
	if flags == nil {
		return
	}
	err := x.deny(Untrusted,
		nil, "functions from a catalog get only the environment variables that their entry requires").With(diag.GrantDenied)
	if len(e.Requires.Needs) > 0 {
		err.Hint("%s", requires)
	}
	err.Hint("put the value into the configuration, and remove %s", diag.OneLine(strings.Join(flags, " ")))
}
