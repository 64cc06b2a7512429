package trust

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
)

func (x *decider) grant(by, format string, args ...any) {
	x.d.Grants = append(x.d.Grants, Grant{fmt.Sprintf(format, args...), by})
}

// container records the image to run, and whether it runs with the user's ids.
func (x *decider) container(image string) {
	x.d.Source, x.fn.Image, x.d.Isolation = image, image, "container"
	if x.AsCurrentUser {
		x.fn.AsCurrentUser = true
		x.grant(FlagOwnUser, "the user's own ids")
	}
}

func (x *decider) grantNetwork(by string) {
	x.fn.Network = x.NetworkName
	if x.fn.Network == "" {
		x.fn.Network = DefaultNetwork
	}
	if !plainNetwork(x.fn.Network) {
		x.deny(Untrusted, nil, "the network %q cannot be granted: expected a separate network such as %s", x.fn.Network,
			DefaultNetwork).With(diag.GrantDenied)
		return
	}
	x.grant(by, "network %s", x.fn.Network)
}

// plainNetwork reports whether name is a plain network name. It rejects the network of the host,
// of a different container and of a process.
func plainNetwork(name string) bool {
	other := func(r rune) bool {
		return r != '_' && r != '.' && r != '-' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}
	return name != "host" && name != "none" && !strings.ContainsFunc(name, other) && !strings.HasPrefix(name, "-")
}

// entryGrants grants the capabilities that the entry requires, except the network if the
// configuration renounces it. Requests that exceed the entry were denied before.
func (x *decider) entryGrants(e *catalog.Entry) {
	by := "catalog " + e.Catalog.Ref.Show()
	in := x.r.Inline
	if e.Container.Network && (in == nil || in.Container.Network == nil || *in.Container.Network) {
		x.grantNetwork(by)
	}
	var mounts []function.Mount
	if in != nil {
		mounts = in.Container.Mounts
	}
	for i, m := range mounts {
		if m.Type == "volume" {
			x.coverMount(i, m)
			continue
		}
		if m, ok := x.checkMount(i, m); ok {
			x.addMount(m, by)
		}
	}
	if e.Container.Storage && len(mounts) == 0 {
		x.grant(by, "storage, but no mount is configured")
	}
}

func (x *decider) addMount(m function.Mount, by string) {
	x.fn.Mounts = append(x.fn.Mounts, m)
	x.grant(by, "%s", mountText(m))
}

func mountText(m function.Mount) string {
	mode := "ro"
	if m.Writable {
		mode = "rw"
	}
	if m.Type == "tmpfs" {
		return fmt.Sprintf("tmpfs at %s", m.Dest)
	}
	return fmt.Sprintf("%s %s at %s (%s)", m.Type, m.Source, m.Dest, mode)
}

// inlineGrants grants an uncatalogued container the capabilities that its configuration requests
// and the flags allow.
func (x *decider) inlineGrants() {
	in := x.r.Inline.Container
	if in.Network != nil && *in.Network {
		if x.Network {
			x.grantNetwork(FlagNetwork)
		} else {
			x.deny(Untrusted, []string{FlagNetwork}, "the configuration asks for network").With(diag.GrantDenied)
		}
	}
	for _, m := range x.Mounts {
		if m.Type == "bind" {
			m.Source = filepath.Clean(m.Source)
		}
		x.addMount(m, FlagMount)
	}
	for i, m := range in.Mounts {
		x.coverMount(i, m)
	}
}

// coverMount denies a mount requested by the configuration unless a flag allows it.
func (x *decider) coverMount(i int, m function.Mount) {
	m, ok := x.checkMount(i, m)
	if !ok {
		return
	}
	for _, f := range x.Mounts {
		same := f.Type == m.Type && path.Clean(f.Dest) == m.Dest && (f.Writable || !m.Writable)
		switch {
		case !same:
		case m.Type == "bind" && filepath.Clean(f.Source) != m.Source &&
			filepath.Clean(f.Source) != filepath.Join(x.r.Dir, x.r.Inline.Container.Mounts[i].Source):
		case m.Type == "volume" && f.Source != m.Source:
		default:
			if x.d.Entry != nil { // inlineGrants has added all mounts of the flags for an uncatalogued function
				x.addMount(m, FlagMount)
			}
			return
		}
	}
	flag := fmt.Sprintf("%s=type=%s,src=%s,dst=%s", FlagMount, m.Type, m.Source, m.Dest)
	if m.Writable {
		flag += ",rw=true"
	}
	x.deny(Untrusted, []string{flag}, "the configuration asks for a mount: %s", mountText(m)).With(diag.GrantDenied)
}

// checkMount returns a mount of the configuration with its source resolved. The source must be a
// relative path that stays inside the layer's directory, even after resolving symbolic links.
func (x *decider) checkMount(i int, m function.Mount) (function.Mount, bool) {
	bad := func(format string, args ...any) (function.Mount, bool) {
		x.deny(Untrusted, nil, "mounts[%d]: %s", i, fmt.Sprintf(format, args...)).With(diag.GrantDenied)
		return m, false
	}
	for _, s := range []string{m.Source, m.Dest} {
		if strings.ContainsAny(s, ",\"\\:") || strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			return bad("%q contains a character that is not allowed", diag.Redact(s))
		}
	}
	dest := path.Clean(m.Dest)
	if !path.IsAbs(m.Dest) || strings.Contains(m.Dest, "..") || reservedDest(dest) {
		return bad("%s is not a valid mount point", m.Dest)
	}
	m.Dest = dest
	switch m.Type {
	case "tmpfs":
		if m.Source != "" {
			return bad("a tmpfs has no source")
		}
		return m, true
	case "volume":
		if m.Source == "" || strings.ContainsAny(m.Source, "/ ") || m.Source[0] == '-' || m.Source[0] == '.' {
			return bad("%q is not the name of a volume", m.Source)
		}
		return m, true
	}
	full, shown := mountSource(x.r.Dir, m.Source), diag.Redact(m.Source)
	if full == "" {
		return bad("the source %q must be a relative path below %s", shown, x.r.Dir)
	}
	found, ok := x.r.Facts.Mounts[full]
	switch {
	case !ok:
		return bad("the source %s was not examined", shown)
	case found.Err != nil:
		return bad("the source %s cannot be used: %v", shown, found.Err)
	case found.Real != x.r.Dir && !below(found.Real, x.r.Dir):
		return bad("the source %s leads to %s, which is outside %s", shown, found.Real, x.r.Dir)
	case strings.HasSuffix(found.Real, ".sock"):
		return bad("the source %s is a socket", shown)
	}
	m.Source = found.Real
	return m, true
}

// mountSource returns the absolute path of a source, or "" if the source is absolute or leaves
// dir. It may be dir itself.
func mountSource(dir, source string) string {
	if path.Clean(source) == "." && source != "" {
		return dir
	}
	return joinBelow(dir, source)
}

// reservedDest reports whether a mount at dest would hide directories that a container needs or
// weaken its isolation.
func reservedDest(dest string) bool {
	if dest == "/" || dest == "/etc" || dest == "/tmp" {
		return true
	}
	for _, dir := range []string{"/local", "/granted", "/proc", "/sys", "/dev"} {
		if dest == dir || strings.HasPrefix(dest, dir+"/") {
			return true
		}
	}
	return false
}

// inlineEnv grants an uncatalogued function the variables that its configuration sets. Variables
// of the host need a flag.
func (x *decider) inlineEnv() {
	in := x.r.Inline
	var env []string
	if in.Exec != nil {
		env = in.Exec.Env
	} else {
		env = in.Container.Env
	}
	given := map[string]bool{}
	for _, item := range x.Env {
		name, _, _ := strings.Cut(item, "=")
		given[name] = true
		x.fn.Env = append(x.fn.Env, item)
		x.grant(FlagEnv, "env %s", name)
	}
	for _, item := range env {
		name, _, hasValue := strings.Cut(item, "=")
		switch {
		case given[name]: // the flag determines the value
		case hasValue:
			x.fn.Env = append(x.fn.Env, item)
			x.grant("the configuration", "env %s", name)
		default:
			x.deny(Untrusted, []string{FlagEnv + "=" + name}, "the configuration asks for the environment variable %s of this machine",
				name).With(diag.GrantDenied)
		}
	}
	if len(env) > 0 {
		x.warn(diag.Deprecated, "environment variables of functions are deprecated; put the values into the configuration")
	}
}
