#!/bin/sh
cat <<'END'
apiVersion: v1
kind: ConfigMap
metadata:
  name: bare
---
apiVersion: v1
kind: Secret
metadata:
  name: bare
END
