package bench

import "fmt"

// An app is a workload with related resources, which refer to each other by name.
type app struct {
	name     string
	image    string
	tier     string
	port     int
	replicas int
}

// imageNames returns the images of the apps. Kustomizations override some of them.
func imageNames() []string {
	return []string{
		"ghcr.io/acme/api", "ghcr.io/acme/web", "ghcr.io/acme/worker", "ghcr.io/acme/billing",
		"registry.example.com:5000/team/search", "docker.io/library/nginx", "redis", "quay.io/acme/gateway",
	}
}

func (w *treeWriter) app(name string) app {
	return app{
		name:     name,
		image:    fmt.Sprintf("%s:%d.%d.%d", w.pick(imageNames()...), w.rnd.IntN(9)+1, w.rnd.IntN(30), w.rnd.IntN(12)),
		tier:     w.pick("frontend", "backend", "data", "edge"),
		port:     8000 + w.rnd.IntN(900),
		replicas: 1 + w.rnd.IntN(5),
	}
}

// A kind writes one resource of an app as a YAML document. name is the file name without
// extension.
type kind struct {
	name  string
	write func(w *treeWriter, a app, out printf)
}

// kinds returns n kinds of resources for app number i of a tree. The first seven are the same
// for all apps, the eighth varies, and the remaining kinds follow.
func kinds(i, n int) []kind {
	all := []kind{
		{"deployment", deployment}, {"service", service}, {"configmap", configMap}, {"serviceaccount", serviceAccount},
		{"role", role}, {"rolebinding", roleBinding}, {"hpa", autoscaler}, {"ingress", ingress},
		{"pdb", disruptionBudget}, {"monitor", serviceMonitor}, {"networkpolicy", networkPolicy},
	}
	rest := all[7:]
	other := i % len(rest)
	rest[0], rest[other] = rest[other], rest[0]
	return all[:min(n, len(all))]
}

// write writes resources of an app to files below folder. It returns the file names, relative to
// folder.
func (w *treeWriter) write(folder string, a app, kinds []kind) []string {
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		w.file(folder+"/"+k.name+".yaml", func(out printf) { k.write(w, a, out) })
		names = append(names, k.name+".yaml")
	}
	return names
}

func deployment(w *treeWriter, a app, out printf) {
	out("# %s serves the %s tier.\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %s\n", a.name, a.tier, a.name)
	out("  labels:\n    app.kubernetes.io/name: %s\n    tier: %s\n", a.name, a.tier)
	out("  annotations:\n    example.com/owner: \"team-%d\"\n    example.com/change: \"%d\"\n", w.rnd.IntN(12), w.rnd.IntN(100000))
	out("spec:\n  replicas: %d\n  revisionHistoryLimit: 3\n", a.replicas)
	out("  selector:\n    matchLabels:\n      app.kubernetes.io/name: %s\n", a.name)
	out("  strategy:\n    type: RollingUpdate\n    rollingUpdate: {maxSurge: 25%%, maxUnavailable: 0}\n")
	out("  template:\n    metadata:\n      labels:\n        app.kubernetes.io/name: %s\n        tier: %s\n", a.name, a.tier)
	out("    spec:\n      serviceAccountName: %s\n      terminationGracePeriodSeconds: %d\n", a.name, 15+w.rnd.IntN(60))
	out("      securityContext:\n        runAsNonRoot: true\n        fsGroup: 2000\n      containers:\n")
	out("      - name: main\n        image: %s\n        imagePullPolicy: IfNotPresent\n", a.image)
	out("        command: [\"/app/server\", \"--port=%d\"]\n        args:\n        - --log-level=info\n        - --feature=%s\n",
		a.port, w.pick("fast-start", "tracing", "cache", "none"))
	out("        ports:\n        - containerPort: %d\n          name: http\n        - containerPort: 9090\n          name: metrics\n",
		a.port)
	environment(w, a, out)
	out("        resources:\n          requests:\n            cpu: %dm\n            memory: %dMi\n", 50+10*w.rnd.IntN(30),
		64<<w.rnd.IntN(4))
	out("          limits:\n            cpu: \"%d\"\n            memory: 1Gi\n", 1+w.rnd.IntN(3))
	for _, probe := range []string{"livenessProbe", "readinessProbe"} {
		out("        %s:\n          httpGet:\n            path: /healthz\n            port: http\n", probe)
		out("          initialDelaySeconds: %d\n          periodSeconds: 10\n", 3+w.rnd.IntN(20))
	}
	out("        volumeMounts:\n        - name: config\n          mountPath: /etc/app\n          readOnly: true\n")
	out("        - name: scratch\n          mountPath: /tmp\n")
	out("      - name: sidecar\n        image: quay.io/acme/sidecar:v1.%d\n        args: [\"--upstream\", \"http://localhost:%d\"]\n", w.rnd.IntN(9), a.port)
	out("      volumes:\n      - name: config\n        configMap:\n          name: %s\n      - name: scratch\n        emptyDir: {}\n",
		a.name)
}

func environment(w *treeWriter, a app, out printf) {
	out("        env:\n        - name: APP_NAME\n          value: %s\n", a.name)
	out("        - name: POD_IP\n          valueFrom:\n            fieldRef:\n              fieldPath: status.podIP\n")
	out("        - name: MODE\n          valueFrom:\n            configMapKeyRef:\n              name: %s\n              key: mode\n",
		a.name)
	for i := range 2 + w.rnd.IntN(6) {
		out("        - name: SETTING_%d\n          value: \"%d\"\n", i, w.rnd.IntN(10000))
	}
}

func service(w *treeWriter, a app, out printf) {
	out("apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  labels:\n    tier: %s\nspec:\n", a.name, a.tier)
	out("  type: ClusterIP\n  selector:\n    app.kubernetes.io/name: %s\n  ports:\n", a.name)
	out("    - name: http\n      port: 80\n      targetPort: http\n    - name: metrics\n      port: 9090\n      targetPort: metrics\n")
}

func configMap(w *treeWriter, a app, out printf) {
	out("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  mode: %s\n", a.name, w.pick("fast", "safe", "\"off\"", "'1'"))
	out("  host: %s.example.com\n  timeout: \"%d\"\n", a.name, w.rnd.IntN(300))
	out("  app.properties: |\n    # settings of %s\n    pool.size=%d\n    cache.ttl=%ds\n    log.format=json\n",
		a.name, w.rnd.IntN(64), w.rnd.IntN(600))
	for i := range w.rnd.IntN(8) {
		out("    feature.%d.enabled=%v\n", i, w.rnd.IntN(2) == 0)
	}
}

func serviceAccount(w *treeWriter, a app, out printf) {
	out("apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: %s\nautomountServiceAccountToken: %v\n", a.name, w.rnd.IntN(2) == 0)
}

func role(w *treeWriter, a app, out printf) {
	out("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: %s\nrules:\n", a.name)
	out("- apiGroups: [\"\"]\n  resources: [\"configmaps\", \"secrets\"]\n  verbs: [\"get\", \"list\", \"watch\"]\n")
	out("- apiGroups:\n  - apps\n  resources:\n  - deployments\n  verbs:\n  - get\n  - %s\n", w.pick("patch", "update"))
}

func roleBinding(w *treeWriter, a app, out printf) {
	out("apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: %s\n", a.name)
	out("roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: %s\nsubjects:\n- kind: ServiceAccount\n  name: %s\n",
		a.name, a.name)
}

func autoscaler(w *treeWriter, a app, out printf) {
	out("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: %s\nspec:\n", a.name)
	out("  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: %s\n  minReplicas: %d\n  maxReplicas: %d\n",
		a.name, a.replicas, a.replicas+1+w.rnd.IntN(10))
	out(
		"  metrics:\n  - type: Resource\n    resource:\n      name: cpu\n      target:\n        type: Utilization\n        averageUtilization: %d\n", 50+w.rnd.IntN(40))
}

func ingress(w *treeWriter, a app, out printf) {
	out("apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: %s\n  annotations:\n", a.name)
	out("    nginx.ingress.kubernetes.io/proxy-body-size: %dm\n    nginx.ingress.kubernetes.io/ssl-redirect: \"true\"\n", 1+w.rnd.IntN(64))
	out("spec:\n  ingressClassName: nginx\n  tls:\n  - hosts:\n    - %s.example.com\n    secretName: %s-tls\n", a.name, a.name)
	out("  rules:\n  - host: %s.example.com\n    http:\n      paths:\n      - path: /\n        pathType: Prefix\n", a.name)
	out("        backend:\n          service:\n            name: %s\n            port:\n              name: http\n", a.name)
}

func disruptionBudget(w *treeWriter, a app, out printf) {
	out("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: %s\nspec:\n  maxUnavailable: %s\n", a.name,
		w.pick("1", "2", "25%"))
	out("  selector:\n    matchLabels:\n      app.kubernetes.io/name: %s\n", a.name)
}

func serviceMonitor(w *treeWriter, a app, out printf) {
	out("apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata:\n  name: %s\nspec:\n", a.name)
	out("  selector:\n    matchLabels:\n      tier: %s\n  endpoints:\n  - port: metrics\n    interval: %ds\n    scrapeTimeout: 10s\n",
		a.tier, 15+15*w.rnd.IntN(4))
	out("    relabelings:\n    - sourceLabels: [__meta_kubernetes_pod_node_name]\n      targetLabel: node\n      regex: '(.*)'\n")
}

func networkPolicy(w *treeWriter, a app, out printf) {
	out("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: %s\nspec:\n", a.name)
	out("  podSelector:\n    matchLabels:\n      app.kubernetes.io/name: %s\n  policyTypes: [Ingress]\n", a.name)
	out(
		"  ingress:\n  - from:\n    - podSelector:\n        matchLabels:\n          tier: %s\n    ports:\n    - protocol: TCP\n      port: %d\n",
		w.pick("frontend", "edge"), a.port)
}
