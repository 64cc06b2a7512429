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
      kustomize.config.k8s.io/behavior: merge
      kustomize.config.k8s.io/needs-hash: "true"
  data:
    more: "1"
- apiVersion: v1
  kind: Secret
  metadata:
    name: sec
    annotations:
      kustomize.config.k8s.io/behavior: replace
      kustomize.config.k8s.io/needs-hash: "true"
  stringData:
    only: this
END
