package yaml

import (
	"strings"
	"testing"
)

// benchText returns about 1 MB of ordinary objects.
func benchText() string {
	const object = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels:
    app.kubernetes.io/name: web
    app.kubernetes.io/part-of: "shop"
  annotations:
    description: Serves the pages of the shop, and a few others that nobody has moved elsewhere since the last time
spec:
  replicas: 3
  selector:
    matchLabels: {app.kubernetes.io/name: web}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: web
    spec:
      # one container is enough
      containers:
      - name: web
        image: registry.example.com/shop/web:1.2.3
        args: ["--port", "8080", --verbose]
        env:
        - name: GREETING
          value: 'it''s me'
        - name: SCRIPT
          value: |
            set -e
            for i in 1 2 3; do
              echo "$i"
            done
        ports:
        - containerPort: 8080
          name: http
        resources:
          limits:
            cpu: 500m
            memory: 128Mi
          requests:
            cpu: 0.5
            memory: 64Mi
---
`
	return strings.Repeat(object, 1<<20/len(object))
}

func BenchmarkParse(b *testing.B) {
	data := []byte(benchText())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (&Source{Data: data}).Documents(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendYAML(b *testing.B) {
	rs, err := (&Source{Data: []byte(benchText())}).Documents()
	if err != nil {
		b.Fatal(err)
	}
	out := appendAll(rs)
	b.SetBytes(int64(len(out)))
	b.ReportAllocs()
	for b.Loop() {
		for _, d := range rs {
			out = AppendYAML(out[:0], d.Value)
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	rs, err := (&Source{Data: []byte(benchText())}).Documents()
	if err != nil {
		b.Fatal(err)
	}
	out := AppendJSON(nil, rs[0].Value)
	b.SetBytes(int64(len(out)))
	b.ReportAllocs()
	for b.Loop() {
		out = AppendJSON(out[:0], rs[0].Value)
	}
}
