GO ?= go
KUSTOMIZE_VERSION = v5.8.2
TOOLS = $(CURDIR)/.tools

.PHONY: build test check bench fuzz kustomize golden generate

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/krmflow ./cmd/krmflow

test: build
	$(GO) test ./...
	$(GO) test -race ./graph ./scheduler ./eval ./planner

check: test
	$(GO) vet ./...
	test -z "$$(gofmt -l . | tee /dev/stderr)"
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

# The oracle: a tool for golden files and benchmarks, never a dependency of the binary.
kustomize:
	GOBIN=$(TOOLS) $(GO) install sigs.k8s.io/kustomize/kustomize/v5@$(KUSTOMIZE_VERSION)

bench: build kustomize
	bin/krmflow bench --kustomize $(TOOLS)/kustomize
	$(GO) test -run '^$$' -bench . -benchmem ./krm ./builtins ./bench

FUZZTIME ?= 1m
fuzz:
	for t in $$($(GO) test -list '^Fuzz' ./krm | grep ^Fuzz); do $(GO) test -run '^$$' -fuzz "^$$t$$" -fuzztime $(FUZZTIME) ./krm || exit 1; done
	for t in $$($(GO) test -list '^Fuzz' ./builtins | grep ^Fuzz); do $(GO) test -run '^$$' -fuzz "^$$t$$" -fuzztime $(FUZZTIME) ./builtins || exit 1; done
	for t in $$($(GO) test -list '^Fuzz' ./planner | grep ^Fuzz); do $(GO) test -run '^$$' -fuzz "^$$t$$" -fuzztime $(FUZZTIME) ./planner || exit 1; done

golden: kustomize
	KUSTOMIZE=$(TOOLS)/kustomize testdata/kustomize/record

generate:
	$(GO) generate ./...
