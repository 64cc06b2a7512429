// Package trust decides whether a function may run. Deciding is a pure function from what the user allows and what was
// found to a [Decision]: it reads no file, starts nothing and asks nobody.
//
// The zero [Policy] trusts nothing. A Decision carries the function only if it is allowed; otherwise it carries every
// reason against it and, where there is one, the flag that would allow it. The caller asks [Policy.Needs] what it has to
// find out (digests of programs and images, where symbolic links lead), finds that out, and asks [Policy.Decide].
package trust

import (
	"io/fs"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The flags that messages name.
const (
	FlagTrust       = "--trusted-plugin-catalog"
	FlagChecksums   = "--require-catalog-checksums"
	FlagAlpha       = "--enable-alpha-plugins"
	FlagExec        = "--enable-exec"
	FlagNetwork     = "--network"
	FlagMount       = "--mount"
	FlagEnv         = "--env"
	FlagExecutor    = "--executor"
	FlagUnverified  = "--allow-unverified"
	FlagUnsandboxed = "--allow-unsandboxed"
	FlagOwnUser     = "--as-current-user"
	FlagHelm        = "--enable-helm"
	FlagHelmCommand = "--helm-command"
)

// A Reason says what kind of reason a [Denial] has. Where several apply, the highest counts.
type Reason int

// The reasons of denials; zero means that nothing is denied.
const (
	Invalid   Reason = iota + 1 // the configuration or the catalog is wrong: no flag helps
	Untrusted                   // a human has to decide
	Mismatch                    // something is not what it was said to be
)

// String returns the words that plans use.
func (r Reason) String() string {
	return [...]string{"allowed", "invalid", "not trusted", "not what it was said to be"}[r]
}

// DefaultNetwork is the container network that is granted if the user names none.
const DefaultNetwork = "bridge"

// A Policy is what the user allows, on the command line and nowhere else.
type Policy struct {
	// AllowUncatalogued lets a function run that no trusted catalog lists (--enable-alpha-plugins); if it is a program,
	// AllowExec (--enable-exec) is needed, too.
	AllowUncatalogued, AllowExec bool
	// Network lets uncatalogued containers use a network if their configuration asks for it. NetworkName is the network
	// that is used whenever one is granted; DefaultNetwork if empty.
	Network     bool
	NetworkName string
	// Mounts are for uncatalogued containers. Their sources are absolute.
	Mounts []function.Mount
	// Env holds NAME=value for uncatalogued functions.
	Env []string
	// AsCurrentUser runs containers with the ids of the user.
	AsCurrentUser bool
	// AllowUnverified lets an entry without a digest run.
	AllowUnverified bool
	// AllowUnsandboxed lets programs run where this machine cannot isolate them.
	AllowUnsandboxed bool
	// Strict turns warnings about trust into denials, and RequireChecksums the one about a remote catalog that can change.
	Strict, RequireChecksums bool
	// Helm lets the user's helm render charts (--enable-helm).
	Helm bool
	// Executors are programs of third parties that run the functions of a runtime in place of krmflow's own executors, as
	// messages show them. What isolates a function is up to them.
	Executors map[function.Runtime]string
	// Prefer is the runtime to use where an entry offers several; a container unless it says exec.
	Prefer function.Runtime
	Limits function.Limits
}

// A Request is one function that somebody wants to run.
type Request struct {
	// ID and Pos are the identity and the place of the configuration, Node the id of the node in the plan.
	ID   krm.ID
	Pos  diag.Pos
	Node string
	// Config is the configuration. It only helps to explain a denial.
	Config yaml.Value
	// Dir is the directory of the layer that declares the configuration: absolute, without symbolic links.
	// Name is the same as messages show it.
	Dir, Name string
	// Remote is true if the configuration comes from a fetched tree.
	Remote bool

	// Inline is the function that the configuration itself names, nil if it names none, and Conflict is set instead if it
	// names two.
	Inline   *function.Inline
	Conflict *function.InlineConflict

	// Catalogs are the trusted ones, in the order in which they are searched.
	Catalogs []Trusted
	// Named are those that the layer names and nobody trusts.
	Named []Named

	// OS and Arch are those of this machine, in Go's names.
	OS, Arch string
	Facts    Facts
}

// A Trusted is a catalog that the user trusts.
type Trusted struct {
	// Ref is where it really is, without symbolic links: see [catalog.Ref.At].
	Ref catalog.Ref
	// Path is where the user said that it is: absolute, with symbolic links.
	Path    string
	Catalog *catalog.Catalog // nil if it could not be read
	Err     error            // why
	// Content is the catalog itself if it is compiled in.
	Content []byte
	// Digest is what a pin of the catalog names, once it was read: the manifest of an artifact, else its bytes.
	Digest krm.Digest
	// Named is true if a layer names the catalog, and the user trusts its place or its publisher
	// instead of the catalog itself. Ref then has no pin, and LayerPin is the pin of the layer,
	// zero for none.
	Named    bool
	LayerPin LayerPin
	// Signed is the publisher whose signature was verified, empty for none.
	Signed string
	// Denial is set instead of Err if the catalog must not be read.
	Denial *Denial
	// By says where the trust comes from: [ByFlag], [ByConfig] or [ByBuiltIn].
	By string
}

// Readable returns the catalogs of list that could be read and are not denied.
func Readable(list []Trusted) (catalogs []*catalog.Catalog) {
	for _, t := range list {
		if t.Catalog != nil {
			catalogs = append(catalogs, t.Catalog)
		}
	}
	return catalogs
}

// A LayerPin is the digest of a catalog in a layer. It can refuse a catalog, but never allow one,
// because anyone who can change the layer chooses it. It is a separate type so that it cannot be
// confused with the user's pin in [Trusted].Ref.
type LayerPin krm.Digest

// Asked returns the reference for fetching the catalog, with the pin of the user or of the layer
// that names it.
func (t Trusted) Asked() catalog.Ref {
	if t.Named {
		t.Ref.Pin = krm.Digest(t.LayerPin)
	}
	return t.Ref
}

// Is reports whether ref in a layer refers to t.
func (t Trusted) Is(ref catalog.Ref) bool {
	if t.Named { // layers can pin different versions of it
		return t.Ref.Same(ref) && krm.Digest(t.LayerPin) == ref.Pin
	}
	return t.Ref.Same(ref)
}

// A Source says where a trusted catalog is and why it is trusted.
type Source struct {
	// Ref is the reference as it is written; relative paths start at the user's directory. For a catalog whose content is compiled in
	// it is the name of that.
	Ref string
	// By says where the trust comes from, as in [Trusted].
	By string
	// Below is set for Ref/*: every catalog below Ref that a layer names is trusted, and none beside these.
	Below bool
	// Content is the catalog itself if it is compiled in.
	Content []byte
	// Denial says why the source cannot be used. It concerns those functions that no source before it defines.
	Denial *Denial
}

// The values of [Source.By].
const (
	ByFlag    = "flag"
	ByConfig  = "configuration"
	ByBuiltIn = "built in"
)

// A Named is a catalog that a layer names without it being trusted.
type Named struct {
	Ref catalog.Ref
	Pos diag.Pos
	// Flag is the value to give to the trust flag, from the user's directory; the reference if empty.
	Flag string
	// Fetched says that something fetched names a path: no flag can name that file.
	Fetched bool
}

// hint says what to do to trust the catalog.
func (n Named) hint() string {
	if n.Fetched {
		return "something fetched names it by a path: look at it there, and trust a copy of your own"
	}
	hint := "to trust it add " + diag.ShellWord(n.flag())
	if hidden := HiddenHint(n.Ref); hidden != "" {
		hint += "; " + hidden
	}
	return hint
}

// HiddenHint returns a hint about the hidden parts of ref in a suggested flag. It is empty if the
// flag can be pasted as it is.
func HiddenHint(ref catalog.Ref) string {
	if !ref.Remote() || diag.Redact(ref.Location) == ref.Location {
		return ""
	}
	return "replace xxxxx, which hides a part of the reference that may be secret"
}

func (n Named) flag() string {
	value := n.Flag
	if value == "" {
		value = n.Ref.String()
	}
	return FlagTrust + "=" + value
}

// Warning returns the notice that the layer names a catalog that is not trusted.
func (n Named) Warning() *diag.Error {
	return diag.Errorf(n.Pos, "catalogs", "catalog %s is not trusted and not read", n.Ref).With(diag.UntrustedCatalog).Hint("%s", n.hint())
}

// Facts are what the caller found out about this machine.
type Facts struct {
	// Programs, Fetched, Images and Mounts answer [Needs]. What is missing is denied.
	Programs map[string]Program
	Fetched  map[string]Fetched // by address
	Images   map[string]Image
	Mounts   map[string]Mount
	// Legacy is where a legacy plugin of kustomize for the configuration lies, empty if there is none.
	Legacy string
	// Isolation describes what isolates a program on this machine, for instance "landlock7+userns+netns"; empty for
	// nothing.
	Isolation string
	// NotIsolated says why Isolation is empty, if that is known.
	NotIsolated string
}

// A Program is what was found at a path.
type Program struct {
	Real   string      // the path without symbolic links
	Digest krm.Digest  // of what is there; none if Real is not where programs may be
	Mode   fs.FileMode // 0 if it is not known
	Err    error       // why the program cannot be read
}

// A Fetched is what was found at an address.
type Fetched struct {
	Digest krm.Digest // of what is sent
	Err    error      // why it cannot be had
}

// An Image is what was found about a reference of [Needs].Images.
type Image struct {
	// Digests are all that stand for the image: of its index and of its manifest. None if it is not known yet.
	Digests []krm.Digest
	// Err is the reason why there are none, or why they are valid on this machine only, with a hint
	// how to get valid ones.
	Err error
}

// A Mount is what was found at the source of a bind mount.
type Mount struct {
	Real string // the path without symbolic links
	Err  error
}

// A Grant is a capability that a function gets.
type Grant struct {
	Capability string // "network bridge", "mount data at /data (ro)", "env NAME", "arguments"
	By         string // a catalog or a flag
}

// A Denial is one reason why a function may not run.
type Denial struct {
	Reason Reason
	Err    *diag.Error
	// Allow are the flags that would, together, lift this denial; none if no flag does.
	Allow []string
}

// A Decision is the answer to a [Request].
type Decision struct {
	// Allowed is true if Function may run exactly as it stands; only then Function is set. Its Config is the caller's
	// business.
	Allowed  bool
	Function function.Function
	// Denials are all that is against it and Worst is the highest of their reasons.
	Denials []Denial
	Worst   Reason
	// Warnings are for people; the function runs in spite of them.
	Warnings []*diag.Error

	// Entry resolved the function, nil if it is uncatalogued; By says who trusts its catalog.
	Entry *catalog.Entry
	By    string
	// Inline is the function that the configuration itself names, nil if it names none.
	Inline *function.Inline
	// Shadowed are later, different definitions of the same GVK.
	Shadowed []*catalog.Entry
	// Runtime and Source, the image or program as it is shown, are set as soon as they are known, also for a denied function.
	Runtime function.Runtime
	Source  string
	Digest  krm.Digest
	// Unpublished is the reason why Digest is valid on this machine only. It is nil if other
	// machines can pull the image, as far as is known.
	Unpublished error
	// Args are the arguments of a program, as far as its configuration gives any.
	Args []string
	// Reason says why this runtime was chosen, if there was a choice.
	Reason string
	Grants []Grant
	// Executor is the program of a third party that runs the function, "" for krmflow's own.
	Executor string
	// Isolation is what isolates the function, as far as krmflow knows.
	Isolation string
	// NotReused says in a few words why an answer of an earlier run never takes the place of a call, "" if one may: the function is verified,
	// declared idempotent, isolated, and has no capabilities.
	NotReused string
}
