// Package trust decides whether a function may run. A [Decision] is a pure function of the
// user's [Policy] and of facts about the machine: the package reads no files, starts no
// processes and asks no questions. That keeps every rule testable without a machine, and makes
// plan and run decide alike.
//
// The zero [Policy] trusts nothing. A Decision contains the function only if it is allowed.
// Otherwise it contains every reason against the function and, where there is one, the flag that
// would allow it.
//
// The caller first calls [Policy.Needs], which lists the required facts, such as digests of
// programs and images and the targets of symbolic links. It collects these facts and then calls
// [Policy.Decide].
package trust

import (
	"io/fs"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The flags named in messages.
const (
	FlagTrust       = "--trusted-plugin-catalog"
	FlagChecksums   = "--require-catalog-checksums"
	FlagAlpha       = "--enable-alpha-plugins"
	FlagExec        = "--enable-exec"
	FlagNetwork     = "--network"
	FlagMount       = "--mount"
	FlagEnv         = "--env"
	FlagGrant       = "--grant"
	FlagExecutor    = "--executor"
	FlagUnverified  = "--allow-unverified"
	FlagUnsandboxed = "--allow-unsandboxed"
	FlagOwnUser     = "--as-current-user"
	FlagDev         = "--dev"
	FlagHelm        = "--enable-helm"
	FlagHelmCommand = "--helm-command"
)

// A Reason classifies a [Denial]. Of several reasons, the highest takes precedence.
type Reason int

// The reasons for denials. Zero means that nothing is denied.
const (
	Invalid   Reason = iota + 1 // the configuration or the catalog is invalid; no flag helps
	Untrusted                   // a human has to decide
	Mismatch                    // the content does not match its digest or signature
)

// String returns the words used in plans.
func (r Reason) String() string {
	return [...]string{"allowed", "invalid", "not trusted", "content mismatch"}[r]
}

// DefaultNetwork is the default container network for functions with network access.
const DefaultNetwork = "bridge"

// A Policy contains the permissions of the user. They come only from the user, never from the
// rendered tree.
type Policy struct {
	// AllowUncatalogued allows functions that no trusted catalog lists (--enable-alpha-plugins).
	// Programs also need AllowExec (--enable-exec).
	AllowUncatalogued, AllowExec bool
	// Network allows uncatalogued containers to use a network if their configuration requests it.
	// NetworkName is the network for every granted access, DefaultNetwork if empty.
	Network     bool
	NetworkName string
	// Mounts are the mounts allowed for uncatalogued containers. Their sources are absolute.
	Mounts []function.Mount
	// Env contains NAME=value pairs for uncatalogued functions, and for entries that require NAME.
	Env []string
	// Granted lists the grants to entries of catalogs. Variable returns the value of a variable of
	// the user, and Absolute the absolute path of a value. Both may be nil.
	Granted []Granted
	// Home is the user's home directory, "" if it is unknown. No grant opens it as a whole.
	Home string
	// GrantsErr is the reason why the user's configuration, which may have grants, cannot be used.
	GrantsErr error
	Variable  func(name string) (value string, ok bool)
	Absolute  func(path string) string
	// AsCurrentUser runs containers with the user's ids.
	AsCurrentUser bool
	// AllowUnverified allows entries without a digest.
	AllowUnverified bool
	// Dev lists the directories of functions under development (--dev). Programs in them may differ
	// from the digests in a catalog: see [Developed]. It must be empty in CI.
	Dev []Developed
	// Discover leaves out the warnings about allowed functions. Nothing is executed.
	Discover bool
	// AllowUnsandboxed allows programs on machines that cannot isolate them.
	AllowUnsandboxed bool
	// Strict turns warnings about trust into denials. RequireChecksums does so only for the warning
	// about a remote catalog that can change.
	Strict, RequireChecksums bool
	// Helm allows the user's helm to render charts (--enable-helm).
	Helm bool
	// Executors maps a runtime to a third-party program that runs its functions instead of
	// krmflow's own executor. The program is responsible for the isolation.
	Executors map[function.Runtime]Executor
	// Prefer is the preferred runtime of entries with several: the container, unless it is exec.
	Prefer function.Runtime
	Limits function.Limits
}

// An Executor is a third-party executor.
type Executor struct {
	// Name is the form in messages.
	Name   string
	Digest krm.Digest
	// Cached is true if the user declares that an answer depends only on the function and its
	// input, so that answers may be reused.
	Cached bool
}

// A Developed is the directory of a function under development. Programs in it may run even if
// their digests differ from the catalog, with a warning. The catalog must be a file without a pin
// or signature, because those mark a finished version.
type Developed struct {
	// Dir is the directory: absolute, without symbolic links. Name is its form in messages.
	Dir, Name string
}

// A Request is a request to run a function.
type Request struct {
	// ID and Pos are the identity and the position of the configuration. Node is the id of the node
	// in the plan.
	ID   krm.ID
	Pos  diag.Pos
	Node string
	// Config is the configuration. It is used only to explain a denial.
	Config yaml.Value
	// Dir is the directory of the layer that declares the configuration: absolute, without symbolic
	// links. Name is its form in messages.
	Dir, Name string
	// Remote is true if the configuration comes from a fetched tree.
	Remote bool

	// Inline is the function named by the configuration itself, nil if it names none. If the
	// configuration names two, Conflict is set instead.
	Inline   *function.Inline
	Conflict *function.InlineConflict

	// Catalogs lists the trusted catalogs in search order.
	Catalogs []Trusted
	// Named lists the untrusted catalogs named by the layer.
	Named []Named

	// OS and Arch describe this machine, in Go's names.
	OS, Arch string
	Facts    Facts
}

// A Trusted is a catalog trusted by the user.
type Trusted struct {
	// Ref is the reference with symbolic links resolved: see [catalog.Ref.At].
	Ref catalog.Ref
	// Path is the path given by the user: absolute, with symbolic links.
	Path    string
	Catalog *catalog.Catalog // nil if it could not be read
	Err     error            // reason why Catalog is nil
	// Content is the text of a compiled-in catalog.
	Content []byte
	// Own is true for the catalog of the user's installed programs: see [Source].
	Own bool
	// Changeable is true if the catalog is not pinned and whoever can change the rendered tree, or
	// its address, can change it.
	Changeable bool
	// Digest is the digest to compare with pins, set once the catalog has been read: of the
	// manifest for an artifact, otherwise of the text.
	Digest krm.Digest
	// Named is true if a layer names the catalog and the user trusts its place or its publisher
	// instead of the catalog itself. Ref then has no pin, and LayerPin is the pin of the layer,
	// zero for none.
	Named    bool
	LayerPin LayerPin
	// Signed is the publisher whose signature was verified, empty for none.
	Signed string
	// Denial is set instead of Err if the catalog must not be read.
	Denial *Denial
	// By is the origin of the trust: [ByFlag], [ByConfig] or [ByBuiltIn].
	By string
}

// Readable returns the parsed catalogs of list. It omits catalogs that could not be read or are
// denied.
func Readable(list []Trusted) (catalogs []*catalog.Catalog) {
	for _, t := range list {
		if t.Catalog != nil {
			catalogs = append(catalogs, t.Catalog)
		}
	}
	return catalogs
}

// A LayerPin is the digest of a catalog in a layer. It can reject a catalog, but never allow
// one, because anyone who can change the layer controls it. It has a type of its own so that it
// cannot be confused with the user's pin in [Trusted].Ref.
type LayerPin krm.Digest

// Asked returns the reference to fetch, with the pin of the user or of the layer that names the
// catalog.
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

// A Source is the reference of a trusted catalog with the origin of the trust.
type Source struct {
	// Ref is the reference as written. Relative paths start at the user's working directory. For a
	// compiled-in catalog it is the name of the catalog.
	Ref string
	// By is the origin of the trust, as in [Trusted].
	By string
	// Below is true for Ref/*: it trusts every catalog below Ref that a layer names, and adds no
	// catalog by itself.
	Below bool
	// Content is the text of a compiled-in catalog.
	Content []byte
	// Own is true for the catalog of programs that the user has listed on this machine. Only this
	// catalog may name absolute paths.
	Own bool
	// Denial is the reason why the source cannot be used. It affects only functions that no earlier
	// source defines.
	Denial *Denial
}

// The values of [Source.By].
const (
	ByFlag    = "flag"
	ByConfig  = "configuration"
	ByBuiltIn = "built in"
	ByShipped = "shipped" // installed together with krmflow
)

// A Named is an untrusted catalog named by a layer.
type Named struct {
	Ref catalog.Ref
	Pos diag.Pos
	// Flag is the value for the trust flag, relative to the user's working directory. If it is
	// empty, the value is the reference.
	Flag string
	// Fetched is true if fetched content names a path. No flag can refer to that file.
	Fetched bool
}

// hint returns the instructions for trusting the catalog.
func (n Named) hint() string {
	if n.Fetched {
		return "fetched content names it by a path: inspect it there, and trust your own copy"
	}
	hint := "to trust it add " + diag.ShellWord(n.flag())
	if hidden := HiddenHint(n.Ref); hidden != "" {
		hint += "; " + hidden
	}
	return hint
}

// HiddenHint returns a hint about the redacted parts of ref in a suggested flag. It is empty if
// the flag can be pasted unchanged.
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

// Warning returns the warning that the layer names an untrusted catalog.
func (n Named) Warning() *diag.Error {
	return diag.Errorf(n.Pos, "catalogs", "catalog %s is not trusted and not read", n.Ref).With(diag.UntrustedCatalog).Hint("%s", n.hint())
}

// Facts are the caller's findings about this machine.
type Facts struct {
	// Programs, Fetched, Images and Mounts answer [Needs]. A missing answer leads to a denial.
	Programs map[string]Program
	Fetched  map[string]Fetched // by address
	Images   map[string]Image
	Mounts   map[string]Mount
	// Legacy is the path of a legacy kustomize plugin for the configuration, empty if there is
	// none.
	Legacy string
	// Isolation describes the available isolation of programs, for instance
	// "landlock7+userns+netns". It is empty if there is none.
	Isolation string
	// NotIsolated is the reason why Isolation is empty, if known.
	NotIsolated string
}

// A Program is the result of examining a path.
type Program struct {
	Real   string      // path without symbolic links
	Digest krm.Digest  // zero if Real is not in an allowed place
	Mode   fs.FileMode // 0 if unknown
	Err    error       // reason why the program cannot be read
}

// A Fetched is the result of examining an address.
type Fetched struct {
	Digest krm.Digest // of the downloaded bytes
	Err    error      // reason why it cannot be fetched
}

// An Image is the result of examining a reference of [Needs].Images.
type Image struct {
	// Digests lists the digests that identify the image: of its index and of its manifest. It is
	// empty if they are unknown.
	Digests []krm.Digest
	// Err is the reason why Digests is empty, or why they are valid only on this machine, with a
	// hint on how to get valid ones.
	Err error
}

// A Mount is the result of examining the source of a bind mount.
type Mount struct {
	Real string // path without symbolic links
	Err  error
}

// A Grant is a capability granted to a function.
type Grant struct {
	Capability string // "network bridge", "mount data at /data (ro)", "env NAME", "arguments"
	By         string // catalog or flag
}

// A Denial is one reason why a function may not run.
type Denial struct {
	Reason Reason
	Err    *diag.Error
	// Allow lists the flags that together lift this denial. It is empty if no flags can do so.
	Allow []string
}

// A Decision is the answer to a [Request].
type Decision struct {
	// Allowed is true if Function may run unchanged. Function is set only in that case. The caller
	// sets its Config.
	Allowed  bool
	Function function.Function
	// Denials lists all reasons against the function, and Worst is the highest Reason.
	Denials []Denial
	Worst   Reason
	// Warnings are for the user. They do not prevent the function from running.
	Warnings []*diag.Error

	// Entry is the entry that defines the function, nil if it is uncatalogued. By is the origin of
	// the trust in its catalog.
	Entry *catalog.Entry
	By    string
	// Inline is the function named by the configuration itself, nil if it names none.
	Inline *function.Inline
	// Shadowed lists later, different definitions of the same GVK.
	Shadowed []*catalog.Entry
	// Runtime and Source, the image or program as displayed, are set as soon as they are known,
	// even for a denied function.
	Runtime function.Runtime
	Source  string
	Digest  krm.Digest
	// Unpublished is the reason why Digest is valid only on this machine. It is nil if, as far as
	// known, other machines can pull the image.
	Unpublished error
	// Args are the program arguments given by the configuration.
	Args []string
	// Reason explains the choice of runtime if there were several.
	Reason string
	Grants []Grant
	// Executor is the third-party program that runs the function, "" for krmflow's own executor.
	Executor string
	// Isolation describes the isolation of the function, as far as krmflow knows it.
	Isolation string
	// NotReused is a short reason why calls are never replaced by answers of earlier runs, "" if
	// they may be. Reuse requires a verified, isolated function without capabilities that is
	// declared idempotent or renders a chart with helm.
	NotReused string
}
