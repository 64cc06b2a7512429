#!/bin/sh
# Adds a Deployment and a Service for each configuration of example.com/v1 WebApp.
list=$(cat)
config=$(printf '%s\n' "$list" | sed -n '/^functionConfig:/,$p')
value() { printf '%s\n' "$config" | sed -n "s/^    $1: *//p" | tr -d '"'; }
name=$(value name)
[ -n "$(value image)" ] || { echo "spec.image is missing" >&2; exit 1; }
cat <<END
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: $name
  spec:
    replicas: $(value replicas)
    selector:
      matchLabels: {app: $name}
    template:
      metadata:
        labels: {app: $name}
      spec:
        containers:
        - name: web
          image: $(value image)
          ports:
          - containerPort: $(value port)
- apiVersion: v1
  kind: Service
  metadata:
    name: $name
  spec:
    selector: {app: $name}
    ports:
    - port: 80
      targetPort: $(value port)
END
printf '%s\n' "$list" | sed -n '/^items:/,/^functionConfig:/p' | sed '1d;$d'
