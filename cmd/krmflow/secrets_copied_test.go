package main

import (
	"runtime"
	"testing"
)

// copiedShapes are the rows of the matrix in which a step or an author has copied the value out of
// its Secret.
var copiedShapes = []secretShape{
	{"copied by a replacement", "ConfigMap/c", `
-- kustomization.yaml --
resources: [r.yaml]
replacements:
- source: {kind: Secret, name: s, fieldPath: stringData.b}
  targets:
  - {select: {kind: ConfigMap}, fieldPaths: [data.plain], options: {create: true}}
- source: {kind: Secret, name: s, fieldPath: data.a}
  targets:
  - {select: {kind: ConfigMap}, fieldPaths: [data.encoded, metadata.annotations.encoded], options: {create: true}}
- source: {kind: Secret, name: s, fieldPath: data}
  targets:
  - {select: {kind: Holder}, fieldPaths: [spec.all], options: {create: true}}
-- r.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: BASE64}
stringData: {b: VALUE}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {x: y}
---
apiVersion: example.com/v1
kind: Holder
metadata: {name: h}
`},
	{"copied into a key of a list", "Secret/s", `
-- kustomization.yaml --
resources: [r.yaml]
replacements:
- source: {kind: Secret, name: s, fieldPath: stringData.b}
  targets:
  - {select: {kind: Ingress}, fieldPaths: [spec.rules.0.host, metadata.labels.host], options: {create: true}}
-- r.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {b: VALUE}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: i}
spec: {rules: [{host: h, http: {paths: []}}, {host: other}]}
`},
	{"copied by a var", "Pod/p", `
-- kustomization.yaml --
resources: [r.yaml]
vars:
- {name: PLAIN, objref: {apiVersion: v1, kind: Secret, name: s}, fieldref: {fieldPath: stringData.b}}
- {name: ENCODED, objref: {apiVersion: v1, kind: Secret, name: s}, fieldref: {fieldPath: data.a}}
-- r.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: BASE64}
stringData: {b: VALUE}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    args: ['--hook=https://example.com/$(PLAIN)/x', '--encoded', $(ENCODED)]
    env:
    - {name: A, value: $(PLAIN)}
    - {name: B, value: 'jdbc:x;password=$(PLAIN);$(ENCODED)'}
`},
	{"part of a longer text", "Pod/p", `
-- kustomization.yaml --
resources: [r.yaml]
replacements:
- source: {kind: Secret, name: s, fieldPath: stringData.b, options: {delimiter: ';', index: 1}}
  targets:
  - select: {kind: Pod}
    fieldPaths: ['spec.containers.0.env.[name=A].value']
  - select: {kind: Pod}
    fieldPaths: ['spec.containers.0.env.[name=B].value']
    options: {delimiter: /, index: 3}
  - select: {kind: ConfigMap}
    fieldPaths: ['data.json']
    options: {delimiter: '"', index: 3}
-- r.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {b: user;VALUE;db}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    env:
    - {name: A, value: x}
    - {name: B, value: https://example.com/x/y}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {json: '{"user": "x"}'}
`},
	{"through two steps", "Pod/p", `
-- base/kustomization.yaml --
resources: [r.yaml]
replacements:
- source: {kind: Secret, name: s, fieldPath: stringData.b}
  targets:
  - {select: {kind: ConfigMap}, fieldPaths: [data.x]}
-- base/r.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {b: user;VALUE;db}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {x: y}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    env:
    - {name: A, value: x}
    - {name: B, value: $(V)}
-- kustomization.yaml --
resources: [base]
namePrefix: pre-
replacements:
- source: {kind: ConfigMap, name: c, fieldPath: data.x, options: {delimiter: ';', index: 1}}
  targets:
  - {select: {kind: Pod}, fieldPaths: ['spec.containers.0.env.[name=A].value']}
vars:
- {name: V, objref: {apiVersion: v1, kind: ConfigMap, name: c}, fieldref: {fieldPath: data.x}}
`},
	{"in a patch", "ConfigMap/c", `
-- kustomization.yaml --
resources: [r.yaml]
patches:
- path: patch.yaml
- target: {kind: ConfigMap}
  patch: |
    - {op: add, path: /data/encoded, value: BASE64}
    - {op: add, path: /metadata/annotations, value: {x: 'a VALUE b'}}
-- r.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {b: VALUE}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {x: y}
-- patch.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {plain: VALUE, file: "x: 1\ny: VALUE\n", json: '{"a": {"b": "VALUE"}}'}
`},
	{"in another file", "ConfigMap/c", `
-- kustomization.yaml --
resources: [r.yaml, c.yaml]
commonLabels: {x: VALUE}
commonAnnotations: {y: BASE64}
images: [{name: i, newName: VALUE, newTag: VALUE}]
-- r.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {a: BASE64}
-- c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {plain: VALUE, encoded: BASE64}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i, args: [VALUE]}]}
`},
	{"lines", "ConfigMap/c", `
-- kustomization.yaml --
resources: [r.yaml, c.yaml]
-- r.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData:
  key: |
    -----BEGIN PRIVATE KEY-----
    VALUE-first-line
    VALUE-second-line
    -----END PRIVATE KEY-----
-- c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  x: |
    tls:
      key: |
        -----BEGIN PRIVATE KEY-----
        VALUE-first-line
        VALUE-second-line
        -----END PRIVATE KEY-----
  y: '{"key":"-----BEGIN PRIVATE KEY-----\nVALUE-first-line\nVALUE-second-line\n-----END PRIVATE KEY-----\n"}'
`},
	{"generated", "ConfigMap/c", `
-- kustomization.yaml --
resources: [r.yaml]
generatorOptions: {disableNameSuffixHash: true}
secretGenerator:
- name: s
  literals: [a=VALUE-literal, 'b="VALUE quoted"']
  envs: [s.env]
  files: [s.txt, named=s.bin]
configMapGenerator:
- name: g
  literals: [a=VALUE-literal, x=VALUE-in-env]
  files: [s.txt]
replacements:
- source: {kind: Secret, name: s, fieldPath: data.a}
  targets:
  - {select: {kind: ConfigMap, name: c}, fieldPaths: [data.a, data.named], options: {create: true}}
-- r.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {b: VALUE quoted, env: VALUE-in-env, file: 'the VALUE-in-file', bin: 'x VALUE-named'}
-- s.env --
# comment
E=VALUE-in-env
-- s.txt --
VALUE-in-file
-- s.bin --
VALUE-named
`},
	{"deleted", "ConfigMap/c", `
-- base/kustomization.yaml --
resources: [r.yaml]
replacements:
- source: {kind: Secret, name: s, fieldPath: stringData.b}
  targets:
  - {select: {kind: ConfigMap}, fieldPaths: [data.x]}
-- base/r.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {b: VALUE}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {x: y}
-- kustomization.yaml --
resources: [base]
patches:
- patch: '{apiVersion: v1, kind: Secret, metadata: {name: s}, $patch: delete}'
- target: {kind: ConfigMap}
  patch: '[{"op": "add", "path": "/data/z", "value": "z"}]'
`},
}

func TestCopiedSecretsAreHidden(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the function is a shell script")
	}
	for _, shape := range copiedShapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			shape.checkOutputs(t, s, shape.write(t, s))
		})
	}
}
