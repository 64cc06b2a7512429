package lint

import "testing"

func TestIsTypo(t *testing.T) {
	for _, tc := range []struct {
		name, known string
		want        bool
	}{
		{"sever", "server", true},
		{"serverr", "server", true},
		{"sevrer", "server", true},
		{"serber", "server", true},
		{"DATABASE_HSOT", "DATABASE_HOST", true},
		{"web-confg", "web-config", true},
		{"webconfig", "web-config", true},
		{"server", "server", false},
		{"web1", "web2", false},
		{"server2", "server", false},
		{"cert", "certs", false},
		{"certs-dir", "cert-dir", false},
		{"HTTP_PROXY", "HTTPS_PROXY", false},
		{"http_proxy", "HTTP_PROXY", false},
		{"NODE_NAME", "CODE_NAME", false},
		{"web-ui", "web-u", false},
		{"app", "api", false},
		{"client", "server", false},
		{"", "a", false},
	} {
		if got := isTypo(tc.name, tc.known); got != tc.want {
			t.Errorf("%q, %q: got %t, want %t", tc.name, tc.known, got, tc.want)
		}
	}
}

func TestPatchReportsMisspeltNames(t *testing.T) {
	const before = `spec:
  template:
    spec:
      containers:
      - {name: server, image: i, env: [{name: DATABASE_HOST}], ports: [{name: http, containerPort: 80}],
         volumeMounts: [{name: config, mountPath: /a}]}
      volumes: [{name: config}]
`
	for _, tc := range []struct{ patch, want string }{
		{"containers: [{name: sever, image: i}]", `containers[0].name: the patch adds a container "sever" beside the existing "server"`},
		{"containers: [{name: sever}]", `containers[0].name: the patch adds a container "sever" without an image`},
		{"containers: [{name: sever, image: i}, {name: server}]", ""},
		{"containers: [{name: proxy, image: i}]", ""},
		{"containers: [{name: server, env: [{name: DATABASE_HSOT, value: x}]}]",
			`containers[0].env[0].name: the patch adds a variable "DATABASE_HSOT" beside the existing "DATABASE_HOST"`},
		{"containers: [{name: server, ports: [{name: http, containerPort: 81}]}]",
			`containers[0].ports[0].containerPort: the patch adds a second port "http" beside the port with containerPort 80`},
		{"containers: [{name: server, ports: [{name: http, containerPort: 81}, {containerPort: 80, $patch: delete}]}]", ""},
		{"containers: [{name: server, ports: [{name: admin, containerPort: 81}]}]", ""},
		{"volumes: [{name: confgi, emptyDir: {}}]", `volumes[0].name: the patch adds a volume "confgi" beside the existing "config"`},
		{"containers: [{name: server, volumeMounts: [{name: confgi, mountPath: /b}]}]",
			`containers[0].volumeMounts[0].name: the patch mounts a volume "confgi" that does not exist`},
		{"containers: [{name: server, volumeMounts: [{name: config, mountPath: /b}]}]", ""},
		{"containers: [{name: server, volumeMounts: [{name: other, mountPath: /b}]}]", ""},
	} {
		if tc.want != "" {
			tc.want = "KF0138 spec.template.spec." + tc.want
		}
		if got := findings(t, nil, "apps/v1", "Deployment", before, "{spec: {template: {spec: {"+tc.patch+"}}}}"); got != tc.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tc.patch, got, tc.want)
		}
	}
	// A volume that the result mounts is meant.
	object := value(t, "apiVersion: apps/v1\nkind: Deployment\n"+before)
	p := &Patch{Value: value(t, "{spec: {template: {spec: {volumes: [{name: confgi}]}}}}")}
	after := value(t, "{spec: {template: {spec: {containers: [{name: server, volumeMounts: [{name: confgi}]}]}}}}")
	p.Check(deployment, object, after, func(f Finding) { t.Errorf("got %s", f.Msg) })
}
