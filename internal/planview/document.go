package planview

import "github.com/krmflow/krmflow/krm"

// A Document is the JSON form of a plan. docs/plan.md documents its fields.
type Document struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Roots      []Root    `json:"roots"`
	Catalogs   []Catalog `json:"catalogs,omitempty"`
	Fetched    []Fetched `json:"fetched,omitempty"`
	Failed     []Failed  `json:"failed,omitempty"`
	Nodes      []Node    `json:"nodes"`
	Layers     []Layer   `json:"layers"`
	Files      []File    `json:"files"`
	Secrets    string    `json:"secrets,omitempty"`
	Warnings   []Message `json:"warnings,omitempty"`
	Against    *Against  `json:"against,omitempty"`

	// secret holds the digests of the files and function configurations that may hold Secret
	// values, by file name or node ID. They serve comparisons within this process and are never
	// written. The map is nil in a document that was read.
	secret map[string]krm.Digest
}

// Against describes the comparison of the output with a folder.
type Against struct {
	Folder string `json:"folder"`
	// Others are the changes of files that do not belong to a root of the plan.
	Others *Changes `json:"others,omitempty"`
}

// A Failed is a root that cannot be rendered because of Errors.
type Failed struct {
	Dir    string    `json:"dir"`
	Errors []Message `json:"errors"`
}

// A Root is a directory to render.
type Root struct {
	Dir  string `json:"dir"`
	Node string `json:"node"`
	// After are the roots that a controller applies before this one.
	After  []string `json:"after,omitempty"`
	Layers []string `json:"layers,omitempty"`
	Files  []string `json:"files,omitempty"`
	// Steps counts the steps that change or generate resources, by the field or kind that
	// configures them.
	Steps     []Count `json:"steps,omitempty"`
	Resources []Count `json:"resources,omitempty"` // by kind
	// Objects are the resources by kind, namespace and name.
	Objects []string `json:"objects,omitempty"`
	// Known reports that Resources is the complete output.
	Known bool `json:"known,omitempty"`
	// Waits are the nodes that must run before the output is known.
	Waits    []string `json:"waits,omitempty"`
	Warnings int      `json:"warnings,omitempty"`
	Changes  *Changes `json:"changes,omitempty"`
}

// A Count is the number of items that share a name.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Fetched is a remote reference and the version that was used.
type Fetched struct {
	Ref     string `json:"ref"`
	Version string `json:"version"` // a commit or a digest
	// Pinned reports that the reference or a lock fixes the version. The content may then come
	// from any source.
	Pinned bool `json:"pinned,omitempty"`
}

// A Catalog is a trusted catalog.
type Catalog struct {
	Ref       string `json:"ref"`
	Digest    string `json:"digest"`
	TrustedBy string `json:"trustedBy"`
	SignedBy  string `json:"signedBy,omitempty"`
}

// A Node is a step of the plan.
type Node struct {
	ID      string   `json:"id"`
	Verb    string   `json:"verb"`
	Inputs  []string `json:"inputs,omitempty"`
	After   []string `json:"after,omitempty"`
	Summary string   `json:"summary,omitempty"`
	Layer   string   `json:"layer"`
	Origin  Origin   `json:"origin"`
	Item    *Item    `json:"item,omitempty"`
	// Changes are the steps that changed the configuration of the node. For a node with an Item
	// they are in [Item.Changes] instead.
	Changes []Origin `json:"changes,omitempty"`
	// Since describes the change of the node since the last render of its roots: see [Since].
	Since string `json:"since,omitempty"`
	// Function is the trust decision for the function of a call.
	Function *Function `json:"function,omitempty"`
}

// A Chart is the Helm chart that a call renders.
type Chart struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Source  string `json:"source,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// An Item is the item of a Composition that a node was built from.
type Item struct {
	Kind    string   `json:"kind"`
	Name    string   `json:"name"`
	Place   int      `json:"place"`
	Of      int      `json:"of"`
	Changes []Origin `json:"changes,omitempty"`
}

// A Function is the function of a call and the trust decision about it.
type Function struct {
	Allowed       bool     `json:"allowed"`
	Runtime       string   `json:"runtime,omitempty"`
	Source        string   `json:"source,omitempty"`
	Digest        string   `json:"digest,omitempty"`
	Args          []string `json:"args,omitempty"`
	Catalog       string   `json:"catalog,omitempty"`
	CatalogDigest string   `json:"catalogDigest,omitempty"`
	Entry         int      `json:"entry,omitempty"`
	TrustedBy     string   `json:"trustedBy,omitempty"`
	Shadows       []string `json:"shadows,omitempty"`
	Grants        []Grant  `json:"grants,omitempty"`
	Executor      string   `json:"executor,omitempty"`
	Isolation     string   `json:"isolation,omitempty"`
	ListVersion   string   `json:"listVersion,omitempty"`
	Cacheable     bool     `json:"cacheable"`
	Cache         string   `json:"cache"`
	Chart         *Chart   `json:"chart,omitempty"`
	Config        string   `json:"config,omitempty"`
	ConfigFile    string   `json:"configFile"`
	ConfigLine    int      `json:"configLine,omitempty"`
	Denials       []string `json:"denials,omitempty"`
	Reason        string   `json:"reason,omitempty"`
}

// A Grant gives a function a capability.
type Grant struct {
	Capability string `json:"capability"`
	By         string `json:"by"`
}

// An Origin is the location of a configuration.
type Origin struct {
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"`
	Field string `json:"field,omitempty"`
}

// A Layer is a Kustomization, Component or Composition that a root is built from.
type Layer struct {
	File  string   `json:"file"`
	Kind  string   `json:"kind"`
	Uses  []Use    `json:"uses,omitempty"`
	Files []string `json:"files"`
	Roots []string `json:"roots"`
}

// A Use is a reference from a field of a layer to a different layer.
type Use struct {
	Field string `json:"field"`
	Layer string `json:"layer"`
}

// A File is a file that the plan was made from.
type File struct {
	Path   string `json:"path"`
	Digest string `json:"digest,omitempty"`
	Secret bool   `json:"secret,omitempty"` // covered by Document.Secrets, so it has no Digest
}

// A Message is a warning or an error and its location.
type Message struct {
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Field   string   `json:"field,omitempty"`
	Message string   `json:"message"`
	Hints   []string `json:"hints,omitempty"`
}
