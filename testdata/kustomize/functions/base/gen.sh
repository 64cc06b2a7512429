#!/bin/sh
cat <<'END'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: gen
    annotations:
      kustomize.config.k8s.io/needs-hash: "true"
  data:
    k: v
- apiVersion: v1
  kind: Secret
  metadata:
    name: sec
    annotations:
      kustomize.config.k8s.io/needs-hash: 'true'
      keep: me
  type: Opaque
  stringData:
    k: v
END
