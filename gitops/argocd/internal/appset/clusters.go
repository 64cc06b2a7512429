package appset

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/argocd/internal/appset/internal/gotemplate"
	"github.com/krmflow/krmflow/gitops/argocd/internal/discovery"
	"github.com/krmflow/krmflow/krm/yaml"
)

const (
	secretTypeLabel = "argocd.argoproj.io/secret-type"
	localServer     = "https://kubernetes.default.svc"
)

// A cluster is a cluster that Argo CD knows, without the other values of its Secret.
type cluster struct {
	name, server, project string
	labels, annotations   map[string]string
	// secret is the Secret of the cluster. It is nil for the local cluster and for clusters of the
	// file.
	secret *gitops.Object
	// placed are the places of its values, by key.
	placed map[string]yaml.Place
	local  bool
}

// clusterFile is an entry of the file with clusters.
type clusterFile struct {
	Name     string `json:"name"`
	Server   string `json:"server"`
	Project  string `json:"project"`
	Metadata struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// listClusters returns the clusters of Secrets in the order of their namespaces and names, then the
// clusters of the file. The local cluster follows, unless another entry has its address.
func listClusters(d *discovery.Discovery) ([]*cluster, error) {
	var list []*cluster
	for _, o := range d.Env.Objects {
		if o.Group == "" && o.Kind == "Secret" && o.Value.At("metadata", "labels", secretTypeLabel).Text() == "cluster" {
			list = append(list, secretCluster(o))
		}
	}
	slices.SortStableFunc(list, func(a, b *cluster) int {
		return slices.Compare([]string{a.secret.Namespace, a.secret.Name}, []string{b.secret.Namespace, b.secret.Name})
	})
	if src := d.Env.Clusters; src != nil {
		more, err := fileClusters(d, src)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	if !slices.ContainsFunc(list, func(c *cluster) bool { return strings.TrimRight(c.server, "/") == localServer }) {
		list = append(list, &cluster{name: "in-cluster", server: localServer, local: true})
	}
	return list, nil
}

// secretCluster returns the cluster of a Secret.
func secretCluster(o *gitops.Object) *cluster {
	meta := o.Value.Get("metadata")
	c := &cluster{secret: o, labels: meta.Get("labels").StringMap(), annotations: meta.Get("annotations").StringMap(),
		placed: map[string]yaml.Place{"metadata": o.Place("metadata")}}
	for _, f := range []struct {
		key  string
		into *string
	}{{"name", &c.name}, {"server", &c.server}, {"project", &c.project}} {
		if v := o.Value.At("stringData", f.key); v.Exists() {
			*f.into, c.placed[f.key] = v.Text(), o.Place("stringData", f.key)
		} else if v := o.Value.At("data", f.key); v.Exists() {
			data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(v.Text()), ""))
			if err == nil {
				*f.into, c.placed[f.key] = string(data), o.Place("data", f.key)
			}
		}
	}
	return c
}

// fileClusters returns the clusters that a file lists.
func fileClusters(d *discovery.Discovery, src *yaml.Source) ([]*cluster, error) {
	v, err := src.Value()
	if err != nil {
		return nil, err
	}
	var entries []clusterFile
	if errs := d.Decode(v, yaml.Place{Source: src}, &entries); len(errs) > 0 {
		return nil, errs[0]
	}
	var list []*cluster
	for i, e := range entries {
		at := yaml.Place{Source: src, At: []any{i}}
		if e.Name == "" || e.Server == "" {
			return nil, discovery.ErrorAt(at, "a cluster needs a name and a server").With(diag.MissingField)
		}
		c := &cluster{name: e.Name, server: e.Server, project: e.Project, annotations: e.Metadata.Annotations,
			labels: map[string]string{secretTypeLabel: "cluster"}, placed: map[string]yaml.Place{}}
		maps.Copy(c.labels, e.Metadata.Labels)
		for _, key := range []string{"name", "server", "project", "metadata"} {
			c.placed[key] = at.Below(key)
		}
		list = append(list, c)
	}
	return list, nil
}

// params returns the parameters of the cluster.
func (c *cluster) params(golang bool) *params {
	p := newParams()
	name := c.name
	if !c.local {
		name = gotemplate.Normalize(c.name)
	}
	p.set("name", c.name, c.placed["name"])
	p.set("nameNormalized", name, c.placed["name"])
	p.set("server", c.server, c.placed["server"])
	p.set("project", c.project, c.placed["project"])
	if c.local {
		return p
	}
	if golang {
		meta := map[string]any{}
		if len(c.annotations) > 0 {
			meta["annotations"] = c.annotations
		}
		if len(c.labels) > 0 {
			meta["labels"] = c.labels
		}
		p.set("metadata", meta, c.placed["metadata"])
		return p
	}
	for _, m := range []struct {
		name   string
		values map[string]string
	}{{"annotations", c.annotations}, {"labels", c.labels}} {
		for key, v := range m.values {
			p.set("metadata."+m.name+"."+key, v, c.placed["metadata"].Below(m.name, key))
		}
	}
	return p
}
