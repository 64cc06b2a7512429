#!/bin/sh
cat <<'END'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMapList
  items:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: nested-1}
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: nested-2}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: before-nested}
END
