package lint

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A Census finds references to ConfigMaps, Secrets, ServiceAccounts and PersistentVolumeClaims that
// no root of a run provides. It knows the references of pod specs, Ingresses, ServiceAccounts and
// role bindings. Create it with [NewCensus]. It is safe for concurrent use.
type Census struct {
	mu sync.Mutex
	// provided has the namespaces of objects, by kind and name. The namespace "" means that it is
	// not known, or that all namespaces have the object.
	provided map[[2]string][]string
	names    map[string][]string // of the objects in the files, by kind
	claims   []claims
	wanted   []wanted
}

// claims are the claims that a StatefulSet makes: their names begin with prefix, and end in the
// number of a pod.
type claims struct{ prefix, namespace string }

// A wanted is a reference from an object.
type wanted struct {
	from                  *krm.Resource
	path                  []any
	kind, name, namespace string
	shown                 string // name, safe to show
}

// NewCensus returns a Census with the objects that every cluster has.
func NewCensus() *Census {
	c := &Census{provided: map[[2]string][]string{}, names: map[string][]string{}}
	for _, p := range [][2]string{{"ServiceAccount", "default"}, {"ConfigMap", "kube-root-ca.crt"}} {
		c.provide(p[0], p[1], "")
	}
	return c
}

// Add adds the objects of a root, as they are in the output. show returns a name without values of
// Secrets. The list must not change afterwards.
func (c *Census) Add(list *krm.List, show func(string) string) {
	var refs []wanted
	for _, r := range list.All() {
		if !r.IsLocal() {
			s := survey{from: r}
			s.object()
			refs = append(refs, s.found...)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range list.All() {
		if !r.IsLocal() {
			c.add(r)
		}
	}
	for _, ref := range refs {
		if !c.has(ref) { // a later root may still provide the object
			ref.shown = show(ref.name)
			c.wanted = append(c.wanted, ref)
		}
	}
}

// Missing reports the references to objects that were not added.
func (c *Census) Missing(warn diag.Warn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ref := range c.wanted {
		if c.has(ref) {
			continue
		}
		where := ""
		if ref.namespace != "" {
			where = " in namespace " + ref.namespace
		}
		var hints []string
		if near := diag.Nearest(ref.name, c.names[ref.kind]); near != "" {
			hints = append(hints, fmt.Sprintf("did you mean %q?", near))
		}
		hints = append(hints, fmt.Sprintf("add it to a root, or also name the directory that has it; if something else creates it, add the "+
			"comment # krmflow:ignore %s with the reason", diag.MissingObject))
		text := fmt.Sprintf("refers to %s %s%s, which no root of this run has", ref.kind, ref.shown, where)
		e := diag.Errorf(ref.pos(), diag.FieldPath(ref.path), "%s", text)
		e.Hints = hints
		warn(diag.MissingObject, "%w", e)
	}
}

// pos returns the line of the reference. If a step set the field, it returns the line of the
// object.
func (w *wanted) pos() diag.Pos {
	if old, ok := w.from.Original(); ok {
		for _, step := range w.path {
			switch step := step.(type) {
			case string:
				old = old.Get(step)
			case int:
				if old.Type() != yaml.Seq || step >= old.Len() {
					return w.from.Start()
				}
				old = old.Items()[step]
			}
		}
		if old.Text() == w.name {
			return w.from.Locate(w.path...)
		}
	}
	return w.from.Start()
}

// has reports whether the object of a reference is provided. An object without a namespace fits a
// reference from any, because the namespace is often chosen when the output is applied.
func (c *Census) has(ref wanted) bool {
	fits := func(namespace string) bool {
		return namespace == "" || ref.namespace == "" || namespace == ref.namespace
	}
	if slices.ContainsFunc(c.provided[[2]string{ref.kind, ref.name}], fits) {
		return true
	}
	return ref.kind == "PersistentVolumeClaim" && slices.ContainsFunc(c.claims, func(s claims) bool {
		number, ok := strings.CutPrefix(ref.name, s.prefix)
		return ok && number != "" && strings.Trim(number, "0123456789") == "" && fits(s.namespace)
	})
}

func (c *Census) provide(kind, name, namespace string) {
	if name != "" {
		at := [2]string{kind, name}
		c.provided[at] = append(c.provided[at], namespace)
	}
}

// add adds an object, and the objects that a controller makes for it.
func (c *Census) add(r *krm.Resource) {
	id, v := r.ID(), r.Value()
	spec, ns := v.Get("spec"), id.Namespace
	or := func(name string) string {
		if name == "" {
			return id.Name
		}
		return name
	}
	secret := func(name string) { c.provide("Secret", name, ns) }
	if ref := spec.Get("writeConnectionSecretToRef"); ref.Exists() { // of Crossplane
		c.provide("Secret", ref.Get("name").Text(), ref.Get("namespace").Text())
	}
	switch id.Group + "/" + id.Kind {
	case "/ConfigMap", "/Secret", "/ServiceAccount", "/PersistentVolumeClaim":
		c.provide(id.Kind, id.Name, ns)
		c.names[id.Kind] = append(c.names[id.Kind], r.OrigID().Name) // without a content hash
	case "/Service":
		secret(v.At("metadata", "annotations").Get("service.beta.openshift.io/serving-cert-secret-name").Text())
	case "apps/StatefulSet":
		for _, t := range spec.Get("volumeClaimTemplates").Items() {
			c.claims = append(c.claims, claims{t.At("metadata", "name").Text() + "-" + id.Name + "-", ns})
		}
	case "networking.k8s.io/Ingress":
		if notes := v.At("metadata", "annotations"); notes.Get("cert-manager.io/cluster-issuer").Exists() ||
			notes.Get("cert-manager.io/issuer").Exists() || notes.Get("kubernetes.io/tls-acme").Text() == "true" {
			for _, t := range spec.Get("tls").Items() {
				secret(t.Get("secretName").Text())
			}
		}
	case "cert-manager.io/Certificate":
		secret(spec.Get("secretName").Text())
	case "cert-manager.io/Issuer":
		secret(spec.At("acme", "privateKeySecretRef", "name").Text())
	case "trust.cert-manager.io/Bundle":
		c.provide("ConfigMap", id.Name, "")
		c.provide("Secret", id.Name, "")
	case "external-secrets.io/ExternalSecret":
		secret(or(spec.At("target", "name").Text()))
	case "external-secrets.io/ClusterExternalSecret":
		name := spec.At("externalSecretSpec", "target", "name").Text()
		if name == "" {
			name = or(spec.Get("externalSecretName").Text())
		}
		c.provide("Secret", name, "")
	case "bitnami.com/SealedSecret":
		secret(or(spec.At("template", "metadata", "name").Text()))
	case "isindir.github.com/SopsSecret":
		for _, t := range spec.Get("secretTemplates").Items() {
			secret(t.Get("name").Text())
		}
	case "onepassword.com/OnePasswordItem", "ricoberger.de/VaultSecret", "kafka.strimzi.io/KafkaUser":
		secret(id.Name)
	case "secrets.hashicorp.com/VaultStaticSecret", "secrets.hashicorp.com/VaultDynamicSecret", "secrets.hashicorp.com/VaultPKISecret":
		secret(spec.At("destination", "name").Text())
	case "secrets.infisical.com/InfisicalSecret":
		secret(spec.At("managedSecretReference", "secretName").Text())
	case "secrets-store.csi.x-k8s.io/SecretProviderClass":
		for _, s := range spec.Get("secretObjects").Items() {
			secret(s.Get("secretName").Text())
		}
	case "postgresql.cnpg.io/Cluster":
		for _, suffix := range []string{"-app", "-superuser", "-ca", "-server", "-replication"} {
			secret(id.Name + suffix)
		}
	case "objectbucket.io/ObjectBucketClaim":
		secret(id.Name)
		c.provide("ConfigMap", id.Name, ns)
	case "cdi.kubevirt.io/DataVolume":
		c.provide("PersistentVolumeClaim", id.Name, ns)
	case "operators.coreos.com/ClusterServiceVersion":
		for _, list := range []string{"permissions", "clusterPermissions"} {
			for _, p := range spec.At("install", "spec", list).Items() {
				c.provide("ServiceAccount", p.Get("serviceAccountName").Text(), ns)
			}
		}
	}
}

// A survey collects the references of an object.
type survey struct {
	from  *krm.Resource
	found []wanted
}

// ref adds the reference at path, the name of an object in the namespace of the referrer. parent is
// the mapping with the name, which may have the field optional.
func (s *survey) ref(kind string, parent yaml.Value, path []any, key string) {
	s.refIn(kind, parent, path, key, s.from.ID().Namespace)
}

func (s *survey) refIn(kind string, parent yaml.Value, path []any, key, namespace string) {
	name := parent.Get(key)
	if name.Type() != yaml.String || name.Text() == "" || parent.Get("optional").Text() == "true" || strings.Contains(name.Text(), "$(") {
		return
	}
	s.found = append(s.found, wanted{from: s.from, path: below(path, key), kind: kind, name: name.Text(), namespace: namespace})
}

// below returns a new path.
func below(path []any, more ...any) []any { return append(path[:len(path):len(path)], more...) }

// object collects the references of an object.
func (s *survey) object() {
	v := s.from.Value()
	switch id := s.from.ID(); id.Group + "/" + id.Kind {
	case "/Pod":
		s.pod(v.Get("spec"), []any{"spec"})
	case "batch/CronJob":
		s.pod(v.At("spec", "jobTemplate", "spec", "template", "spec"), []any{"spec", "jobTemplate", "spec", "template", "spec"})
	case "/ServiceAccount":
		s.items("Secret", v.Get("imagePullSecrets"), []any{"imagePullSecrets"}, "name")
	case "networking.k8s.io/Ingress", "extensions/Ingress":
		s.items("Secret", v.At("spec", "tls"), []any{"spec", "tls"}, "secretName")
	case "rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding":
		for i, subject := range v.Get("subjects").Items() {
			if ns := subject.Get("namespace").Text(); subject.Get("kind").Text() == "ServiceAccount" && ns != "kube-system" {
				s.refIn("ServiceAccount", subject, []any{"subjects", i}, "name", ns)
			}
		}
	default: // a workload, also of a custom kind
		if spec := v.At("spec", "template", "spec"); spec.Get("containers").Type() == yaml.Seq {
			s.pod(spec, []any{"spec", "template", "spec"})
		}
	}
}

// items collects the references of a list.
func (s *survey) items(kind string, list yaml.Value, path []any, key string) {
	for i, item := range list.Items() {
		s.ref(kind, item, below(path, i), key)
	}
}

// pod collects the references of a pod spec.
func (s *survey) pod(spec yaml.Value, path []any) {
	s.ref("ServiceAccount", spec, path, "serviceAccountName")
	s.items("Secret", spec.Get("imagePullSecrets"), below(path, "imagePullSecrets"), "name")
	for i, v := range spec.Get("volumes").Items() {
		at := below(path, "volumes", i)
		s.ref("Secret", v.Get("secret"), below(at, "secret"), "secretName")
		s.ref("ConfigMap", v.Get("configMap"), below(at, "configMap"), "name")
		s.ref("PersistentVolumeClaim", v.Get("persistentVolumeClaim"), below(at, "persistentVolumeClaim"), "claimName")
		for j, source := range v.At("projected", "sources").Items() {
			in := below(at, "projected", "sources", j)
			s.ref("Secret", source.Get("secret"), below(in, "secret"), "name")
			s.ref("ConfigMap", source.Get("configMap"), below(in, "configMap"), "name")
		}
	}
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for i, container := range spec.Get(list).Items() {
			at := below(path, list, i)
			for j, env := range container.Get("env").Items() {
				in := below(at, "env", j, "valueFrom")
				s.ref("Secret", env.At("valueFrom", "secretKeyRef"), below(in, "secretKeyRef"), "name")
				s.ref("ConfigMap", env.At("valueFrom", "configMapKeyRef"), below(in, "configMapKeyRef"), "name")
			}
			for j, env := range container.Get("envFrom").Items() {
				in := below(at, "envFrom", j)
				s.ref("Secret", env.Get("secretRef"), below(in, "secretRef"), "name")
				s.ref("ConfigMap", env.Get("configMapRef"), below(in, "configMapRef"), "name")
			}
		}
	}
}
