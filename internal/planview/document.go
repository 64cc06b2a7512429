package planview

import "github.com/krmflow/krmflow/krm"

// A Document is the JSON form of a plan, which docs/plan.md documents.
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

	// secret has digests of the files and configurations of functions that may hold values of Secrets, by their names: to tell in this process whether
	// they differ. They are nowhere else. It is nil in a document that was read.
	secret map[string]krm.Digest
}

// Against is the folder that the output was compared with, and the changes of files in it that belong to no root.
type Against struct {
	Folder string   `json:"folder"`
	Others *Changes `json:"others,omitempty"` // to files that belong to no root of the plan
}

// A Failed root cannot be rendered, for what Errors say.
type Failed struct {
	Dir    string    `json:"dir"`
	Errors []Message `json:"errors"`
}

// A Root is a directory that is rendered.
type Root struct {
	Dir       string   `json:"dir"`
	Node      string   `json:"node"`
	Layers    []string `json:"layers,omitempty"`
	Files     []string `json:"files,omitempty"`
	Steps     []Count  `json:"steps,omitempty"`     // that change or generate resources, by what configures them
	Resources []Count  `json:"resources,omitempty"` // by kind
	Objects   []string `json:"objects,omitempty"`   // the resources, by kind, namespace and name
	Known     bool     `json:"known,omitempty"`     // Resources are all that it yields
	Waits     []string `json:"waits,omitempty"`     // nodes: what it yields is not known before these have run
	Warnings  int      `json:"warnings,omitempty"`
	Changes   *Changes `json:"changes,omitempty"`
}

// A Count is how many things have a name.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Fetched is what is remote, and which version of it was used.
type Fetched struct {
	Ref     string `json:"ref"`
	Version string `json:"version"` // a commit or a digest
	// Pinned is true if the reference or a lock has the version. The content then may have any
	// origin.
	Pinned bool `json:"pinned,omitempty"`
}

// A Catalog is one that is trusted.
type Catalog struct {
	Ref       string `json:"ref"`
	Digest    string `json:"digest"`
	TrustedBy string `json:"trustedBy"`
	SignedBy  string `json:"signedBy,omitempty"`
}

// A Node is a step. Function is the decision about the function of a call.
type Node struct {
	ID      string   `json:"id"`
	Verb    string   `json:"verb"`
	Inputs  []string `json:"inputs,omitempty"`
	After   []string `json:"after,omitempty"`
	Summary string   `json:"summary,omitempty"`
	Layer   string   `json:"layer"`
	Origin  Origin   `json:"origin"`
	Item    *Item    `json:"item,omitempty"`
	// Changes are the steps that changed the configuration of a node that is no item.
	Changes []Origin `json:"changes,omitempty"`
	// Since is what of the node has changed since its roots were rendered last: see [Since].
	Since string `json:"since,omitempty"`
	// Function is the decision about the function of a call.
	Function *Function `json:"function,omitempty"`
}

// A Chart is what helm renders in a call.
type Chart struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Source  string `json:"source,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// An Item of a Composition is what a node is made from.
type Item struct {
	Kind    string   `json:"kind"`
	Name    string   `json:"name"`
	Place   int      `json:"place"`
	Of      int      `json:"of"`
	Changes []Origin `json:"changes,omitempty"`
}

// A Function is what a call runs, and why it may or may not.
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

// An Origin is where something is configured.
type Origin struct {
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"`
	Field string `json:"field,omitempty"`
}

// A Layer is what roots are made of.
type Layer struct {
	File  string   `json:"file"`
	Kind  string   `json:"kind"`
	Uses  []Use    `json:"uses,omitempty"`
	Files []string `json:"files"`
	Roots []string `json:"roots"`
}

// A Use says which other layer a layer refers to, and in which field.
type Use struct {
	Field string `json:"field"`
	Layer string `json:"layer"`
}

// A File is one that was read.
type File struct {
	Path   string `json:"path"`
	Digest string `json:"digest,omitempty"`
	Secret bool   `json:"secret,omitempty"` // Secrets of the plan stands for Digest
}

// A Message is a warning or a mistake, at its place.
type Message struct {
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Field   string   `json:"field,omitempty"`
	Message string   `json:"message"`
	Hints   []string `json:"hints,omitempty"`
}
