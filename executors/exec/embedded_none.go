//go:build linux && !(embedsandbox && (amd64 || arm64))

package exec

// embedded is empty in binaries that are not built by "make build".
const embedded = ""
