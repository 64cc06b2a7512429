#!/bin/sh
cat <<'END'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: marks
    annotations:
      config.kubernetes.io/path: a.yaml
      internal.config.kubernetes.io/path: a.yaml
      config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/index: '0'
      config.k8s.io/id: '3'
      number: 1
      bool: true
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: local
    annotations: {config.kubernetes.io/local-config: "true"}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: not-local
    annotations: {config.kubernetes.io/local-config: "false"}
END
