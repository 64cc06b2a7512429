package executors

// protoc is Debian's protobuf-compiler (3.21). The plugins are Go programs with the versions
// below.
//go:generate env GOBIN=/tmp/krmflow-protoc go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
//go:generate env GOBIN=/tmp/krmflow-protoc go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0
//go:generate protoc --plugin=/tmp/krmflow-protoc/protoc-gen-go --plugin=/tmp/krmflow-protoc/protoc-gen-go-grpc --go_out=internal/wire --go_opt=paths=source_relative --go-grpc_out=internal/wire --go-grpc_opt=paths=source_relative executor.proto
