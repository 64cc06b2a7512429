// Nginx prints what the script of the functions spec prints, for images that have no shell.
package main

import (
	"os"
	"strings"
)

const template = `apiVersion: v1
kind: Service
metadata:
  name: ${NAME}
  labels:
    app: nginx
    instance: ${NAME}
spec:
  ports:
  - port: 80
    targetPort: 80
    name: http
  selector:
    app: nginx
    instance: ${NAME}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${NAME}
  labels:
    app: nginx
    instance: ${NAME}
spec:
  replicas: ${REPLICAS}
  selector:
    matchLabels:
      app: nginx
      instance: ${NAME}
  template:
    metadata:
      labels:
        app: nginx
        instance: ${NAME}
    spec:
      containers:
      - name: nginx
        image: nginx:1.7.9
        ports:
        - containerPort: 80
`

func main() {
	text := strings.NewReplacer("${NAME}", os.Getenv("NAME"), "${REPLICAS}", os.Getenv("REPLICAS")).Replace(template)
	if _, err := os.Stdout.WriteString(text); err != nil {
		os.Exit(1)
	}
}
