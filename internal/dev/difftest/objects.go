package main

// A thing identifies an object of a tree.
type thing struct{ apiVersion, kind, name, namespace string }

// kinds lists the kinds of objects. Kinds that are listed several times are selected more often.
var kinds = []thing{
	{"v1", "ConfigMap", "", ""}, {"v1", "ConfigMap", "", ""}, {"v1", "Secret", "", ""}, {"v1", "Service", "", ""},
	{"apps/v1", "Deployment", "", ""}, {"apps/v1", "Deployment", "", ""}, {"apps/v1", "StatefulSet", "", ""},
	{"batch/v1", "CronJob", "", ""}, {"v1", "ServiceAccount", "", ""}, {"v1", "Namespace", "", ""},
	{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", ""}, {"rbac.authorization.k8s.io/v1", "RoleBinding", "", ""},
	{"networking.k8s.io/v1", "Ingress", "", ""}, {"autoscaling/v2", "HorizontalPodAutoscaler", "", ""},
	{"v1", "PersistentVolumeClaim", "", ""}, {"v1", "Pod", "", ""}, {"example.com/v1", "Thing", "", ""},
	{"example.com/v1", "Thing", "", ""},
	{"v1", "List", "", ""},
}

// thing returns the identity of a new object with a random kind and name.
func (r *random) thing() thing {
	t := kinds[r.IntN(len(kinds))]
	if t.kind == "List" && r.chance(0.8) {
		t = kinds[0]
	}
	t.name = of(r, "a", "b", "web", "data")
	if r.chance(0.03) {
		t.name = r.inlineScalar()
	}
	if r.chance(0.2) {
		t.namespace = of(r, "ns1", "default", "ns2")
	}
	return t
}

func (t thing) metadata() *node {
	m := object("name", t.name)
	if t.namespace != "" {
		m.set("namespace", t.namespace)
	}
	return m
}

// object returns a random object with the identity t.
func (r *random) object(t thing) *node {
	if t.kind == "List" {
		l := list()
		for range r.IntN(3) {
			other := r.thing()
			if other.kind != "List" {
				l.items = append(l.items, r.object(other))
			}
		}
		return object("apiVersion", "v1", "kind", "List", "items", l)
	}
	meta := t.metadata()
	if r.chance(0.35) {
		meta.set("labels", r.strings(3))
	}
	if r.chance(0.35) {
		meta.set("annotations", r.strings(3))
	}
	if r.chance(0.02) {
		meta.set("annotations", text(of(r, "", "{}", "null")))
	}
	if r.chance(0.03) {
		meta.set(of(r, "creationTimestamp", "generateName", "x"), r.value(1))
	}
	o := object("apiVersion", t.apiVersion, "kind", t.kind, "metadata", meta)
	r.body(t, o)
	if r.chance(0.05) {
		o.set(of(r, "status", "spec", "extra"), r.value(2))
	}
	return o
}

func (r *random) body(t thing, o *node) {
	switch t.kind {
	case "ConfigMap":
		if r.chance(0.9) {
			o.set("data", r.strings(3))
		}
		if r.chance(0.1) {
			o.set("binaryData", object("b", "YQ=="))
		}
		if r.chance(0.1) {
			o.set("immutable", of(r, "true", "false"))
		}
	case "Secret":
		o.set(of(r, "data", "stringData"), r.plainStrings(2))
		if r.chance(0.5) {
			o.set("type", "Opaque")
		}
	case "Service":
		o.set("spec", r.service())
	case "Deployment", "StatefulSet":
		o.set("spec", r.workload(t))
	case "CronJob":
		o.set("spec", object("schedule", `"* * * * *"`, "jobTemplate", object("spec", object("template", r.podTemplate()))))
	case "Pod":
		o.set("spec", r.pod())
	case "ClusterRoleBinding", "RoleBinding":
		o.set("roleRef", object("apiGroup", "rbac.authorization.k8s.io", "kind", "ClusterRole", "name", r.word()))
		o.set("subjects", list(object("kind", "ServiceAccount", "name", of(r, "a", "b", "default"), "namespace", of(r, "ns1", "default"))))
	case "Ingress":
		backend := object("service", object("name", of(r, "a", "web"), "port", object("number", "80")))
		rule := object("host", "x.example.com", "http",
			object("paths", list(object("path", "/", "pathType", "Prefix", "backend", backend))))
		o.set("spec", object("rules", list(rule)))
	case "HorizontalPodAutoscaler":
		o.set("spec", object("scaleTargetRef", object("apiVersion", "apps/v1", "kind", "Deployment", "name", of(r, "a", "web")),
			"maxReplicas", "3"))
	case "PersistentVolumeClaim":
		o.set("spec", object("resources", object("requests", object("storage", of(r, "1Gi", "1", "0.5"))), "accessModes",
			texts("ReadWriteOnce")))
	case "Thing":
		o.set("spec", r.custom())
	}
}

func (r *random) service() *node {
	spec := mapping()
	if r.chance(0.7) {
		spec.set("selector", r.plainStrings(2))
	}
	ports := list()
	for range r.IntN(3) {
		port := object("port", of(r, "80", "443", "8080", `"80"`))
		if r.chance(0.5) {
			port.set("protocol", of(r, "TCP", "UDP"))
		}
		if r.chance(0.5) {
			port.set("name", of(r, "http", "web"))
		}
		if r.chance(0.3) {
			port.set("targetPort", of(r, "http", "80"))
		}
		ports.items = append(ports.items, port)
	}
	spec.set("ports", ports)
	return spec
}

func (r *random) workload(t thing) *node {
	spec := object("template", r.podTemplate())
	if r.chance(0.6) {
		spec.set("selector", object("matchLabels", r.plainStrings(2)))
	}
	if r.chance(0.6) {
		spec.set("replicas", of(r, "1", "3", "0", `"2"`, "null", ""))
	}
	if t.kind == "StatefulSet" && r.chance(0.4) {
		spec.set("serviceName", of(r, "a", "web"))
		spec.set("volumeClaimTemplates", list(object("metadata", object("name", "data"), "spec", object("resources", mapping()))))
	}
	return spec
}

func (r *random) podTemplate() *node {
	t := mapping()
	if r.chance(0.6) {
		meta := mapping()
		if r.chance(0.7) {
			meta.set("labels", r.plainStrings(2))
		}
		if r.chance(0.3) {
			meta.set("annotations", r.strings(2))
		}
		t.set("metadata", meta)
	}
	t.set("spec", r.pod())
	return t
}

func (r *random) pod() *node {
	spec := mapping()
	containers := list()
	for _, name := range some(r, 3, "web", "side", "nginx") {
		containers.items = append(containers.items, r.container(name))
	}
	spec.set(of(r, "containers", "containers", "containers", "initContainers"), containers)
	if r.chance(0.4) {
		volumes := list()
		for _, name := range some(r, 2, "v", "w") {
			volumes.items = append(volumes.items, of(r,
				object("name", name, "configMap", object("name", of(r, "a", "b", "gen"))),
				object("name", name, "secret", object("secretName", of(r, "a", "b", "sec"))),
				object("name", name, "emptyDir", mapping())))
		}
		spec.set("volumes", volumes)
	}
	if r.chance(0.2) {
		spec.set("serviceAccountName", of(r, "a", "b"))
	}
	if r.chance(0.1) {
		spec.set("nodeSelector", r.plainStrings(2))
	}
	if r.chance(0.1) {
		spec.set("tolerations", list(object("key", r.scalar(), "operator", "Exists")))
	}
	return spec
}

func (r *random) container(name string) *node {
	c := object("name", name)
	if r.chance(0.85) {
		c.set("image", of(r, "nginx", "nginx:1.2", "web:v1", "example.com/a/nginx:1", "nginx@sha256:"+digest, `"nginx:1.20"`))
	}
	if r.chance(0.3) {
		env := list()
		for _, name := range some(r, 2, "A", "B", "C") {
			env.items = append(env.items, of(r,
				object("name", name, "value", r.scalar()),
				object("name", name, "valueFrom", object("configMapKeyRef", object("name", of(r, "a", "gen"), "key", "k")))))
		}
		c.set("env", env)
	}
	if r.chance(0.2) {
		c.set("envFrom", list(object(of(r, "configMapRef", "secretRef"), object("name", of(r, "a", "b", "gen", "sec")))))
	}
	if r.chance(0.25) {
		c.set("args", list(text(r.scalar()), text(r.scalar())))
	}
	if r.chance(0.2) {
		c.set("ports", list(object("containerPort", of(r, "80", "8080"), "name", "http"),
			object("containerPort", "443", "protocol", "TCP")))
	}
	if r.chance(0.15) {
		c.set("resources", object("limits", object("cpu", of(r, "1", "0.5", "500m", `"1"`), "memory", "1Gi")))
	}
	if r.chance(0.15) {
		c.set("volumeMounts", list(object("name", "v", "mountPath", "/v")))
	}
	return c
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// custom returns the spec of an object without a schema.
func (r *random) custom() *node {
	spec := mapping()
	for range r.IntN(4) {
		spec.set(of(r, "a", "b", "count", "name", "ref", "text", "list", "map"), r.value(3))
	}
	if r.chance(0.3) {
		spec.set("config", of(r, "|\n{\"a\": 1, \"b\": {\"c\": \"d\"}}", "|\na: 1\nb:\n  c: d # note", `'{"a": 1}'`, ">-\na: 1"))
	}
	if r.chance(0.2) {
		spec.set("items", list(object("name", "x", "value", r.scalar()), object("name", "y", "value", r.scalar())))
	}
	if r.chance(0.15) {
		spec.set("template", r.podTemplate())
	}
	return spec
}
