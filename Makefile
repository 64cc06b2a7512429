GO ?= go
KUSTOMIZE_VERSION = v5.8.2
HELM_VERSION = v3.19.5
TOOLS = $(CURDIR)/.tools
FUZZTIME ?= 1m
DIFFTREES ?= 500
EDITS ?= 5000
EDITTREES ?=
SEED ?= 1
OUT ?= bin/krmflow
DIST ?= dist
IMAGE ?= localhost/krmflow$(if $(VERSION),:$(VERSION))
ENGINE ?= podman
CERTIFICATES ?= /etc/ssl/certs/ca-certificates.crt
PLATFORMS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64
FUNCTIONS ?= bin/functions
CATALOG_PLATFORMS ?= linux/amd64,linux/arm64,darwin/arm64
SETTINGSPKG = github.com/krmflow/krmflow/internal/cli/settings

.PHONY: prose build sandbox release image functions functions-test gitops-test krmflow test longtest sandboxtest racetest check vulncheck bench grow profile fuzz difftest edittest kustomize helm bazel-remote catalog kpt-functions golden generate

# The profile tells the compiler what to inline: it saves some 7 % of the time of a large tree. Without its traces gRPC starts sooner.
PROFILE = bench/render.pgo
# A krmflow for Linux embeds the program that make sandbox builds.
GOBUILD = CGO_ENABLED=0 $(GO) build -trimpath -tags grpcnotrace,embedsandbox -pgo=$(PROFILE)

build: sandbox
	$(GOBUILD) $(OVERLAY) -ldflags '-s -w $(SETTINGS)' -o $(OUT) ./cmd/krmflow

# The process that isolates a function, as a small program for Linux. It does not depend on flags of the environment: a release has the same
# bytes everywhere.
sandbox:
	@set -e; for arch in $(or $(SANDBOX_ARCH),$$($(GO) env GOARCH)); do \
	  CGO_ENABLED=0 GOOS=linux GOARCH=$$arch GOFLAGS= GOAMD64=v1 GOARM64=v8.0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w' \
	    -o executors/exec/krmflow-sandbox_linux_$$arch ./executors/internal/sandbox/krmflow-sandbox; \
	done

# The functions of this repository for this machine, and the catalog that pins them; prints its digest. A krmflow of make build does
# not trust it without --trusted-plugin-catalog=$(FUNCTIONS)/catalog.yaml. From an empty build cache it takes minutes of CPU.
functions:
	$(GO) run ./internal/dev/release -functions $(FUNCTIONS)

# Archives for all platforms, what is in them, and their checksums: make release VERSION=v1.2.3. The same source and Go make the same bytes.
release:
	$(MAKE) sandbox SANDBOX_ARCH='amd64 arm64'
	$(GO) run ./internal/dev/release -version '$(VERSION)' -out $(DIST) -platforms $(PLATFORMS) env $(GOBUILD)

# An image from scratch: the program, also by the name of kustomize, with the functions and their catalog in /usr/lib/krmflow/functions,
# whose digest it trusts, the certificates of this machine and a /tmp.
image:
	@set -e; d=$$(mktemp -d); trap 'rm -rf $$d' EXIT; mkdir -p $$d/rootfs/usr/bin $$d/rootfs/etc/ssl/certs $$d/rootfs/tmp $$d/rootfs/work; chmod -R 755 $$d; chmod 1777 $$d/rootfs/tmp; \
	cp $(CERTIFICATES) $$d/rootfs/etc/ssl/certs/ca-certificates.crt; chmod 644 $$d/rootfs/etc/ssl/certs/ca-certificates.crt; \
	arch=$$($(GO) env GOARCH); \
	digest=$$(GOOS= GOARCH= $(GO) run ./internal/dev/release -functions $$d/rootfs/usr/lib/krmflow/functions -platforms linux/$$arch); \
	chmod -R u=rwX,go=rX $$d/rootfs/usr/lib; \
	GOOS=linux $(MAKE) build OUT=$$d/rootfs/usr/bin/krmflow \
	  SETTINGS="-X $(SETTINGSPKG).shippedCatalog=$$digest$(if $(VERSION), -X github.com/krmflow/krmflow/internal/cli/program.release=$(VERSION))"; \
	ln -s krmflow $$d/rootfs/usr/bin/kustomize; \
	$(ENGINE) build --timestamp 0 -f deploy/image/Containerfile -t $(IMAGE) $$d

# A krmflow of one's own: DEFAULT_TRUSTED_CATALOGS are the catalogs that it trusts, in the order of the search. What is a file becomes a part
# of it, any other is a reference. With DISABLE_CATALOG_ADDITION=true it trusts nothing else.
krmflow:
	@set -e; d=$$(mktemp -d); trap 'rm -rf $$d' EXIT; refs=; files=; \
	for c in $(DEFAULT_TRUSTED_CATALOGS); do \
	  if test -f "$$c"; then \
	    name=$$(basename "$$(basename "$$c" .json)" .yaml).yaml; \
	    test ! -e "$$d/$$name" || { echo "two catalogs are called $$name" >&2; exit 1; }; \
	    cp "$$c" "$$d/$$name"; c=embedded:$$name; \
	    files="$$files$${files:+,}\"$(CURDIR)/internal/cli/settings/catalogs/$$name\":\"$$d/$$name\""; \
	  fi; \
	  refs="$$refs$${refs:+,}$$c"; \
	done; \
	echo "{\"Replace\":{$$files}}" >$$d/overlay.json; \
	$(MAKE) build OVERLAY="-overlay $$d/overlay.json" SETTINGS="-X $(SETTINGSPKG).trustedCatalogs=$$refs -X $(SETTINGSPKG).disableCatalogAddition=$(DISABLE_CATALOG_ADDITION)"

# Counts stilted phrases and long lines: the style of CONTRIBUTING.
prose:
	$(GO) run ./internal/dev/prose

test:
	$(GO) test ./...

# The tests of the functions, which link the clients of all key services and the libraries of API servers. Apart from test, because of the minutes of their compilation,
# which -trimpath shares with functions.
functions-test:
	cd functions/sops && CGO_ENABLED=0 $(GO) vet -trimpath ./... && CGO_ENABLED=0 $(GO) test -trimpath ./...
	cd functions/cel && CGO_ENABLED=0 $(GO) vet -trimpath ./... && CGO_ENABLED=0 $(GO) test -trimpath ./...

# Compares GitOps objects with the code of the controllers. argo-cd takes 25 minutes to compile, once.
gitops-test:
	cd adapters/gitopstest/flux && $(GO) test ./...
	cd adapters/gitopstest/argocd && $(GO) test -vet=off ./...
	cd adapters/dangertest && $(GO) test -vet=off ./...
	cd adapters/celtest && $(GO) test -vet=off ./...

# All tests in full, those that take minutes each, and many rounds of random tests.
longtest:
	KRMFLOW_LONG_TESTS=all $(GO) test -timeout 60m ./...

# The tests of the sandbox with the program that make build embeds. The other tests use krmflow itself as the sandbox process.
sandboxtest: sandbox
	GOFLAGS="$$GOFLAGS -tags=embedsandbox" $(GO) test ./executors/...
	GOFLAGS="$$GOFLAGS -tags=embedsandbox" $(GO) test -run 'TestScript/(attack|executor|function)_' ./cmd/krmflow

# Where goroutines meet: the walk of a graph, the shared layers, the output folder and calls of functions, and what these share.
# The packages run with the samples of go test, the scripts in full. kustomize itself runs without the race detector, with which it takes ten minutes.
racetest:
	KRMFLOW_LONG_TESTS= $(GO) test -race ./scheduler ./render ./executors ./executors/executortest ./krm ./krm/yaml ./output ./builtins ./loaders ./cache/... ./planner/... ./internal/engine
	KRMFLOW_LONG_TESTS=1 $(GO) test -race -run 'TestScript/(apply-render_(folder|interrupted|locked|roots)|function_(chain|results|stopped|cancelled))' ./cmd/krmflow
	cd adapters/krusty && $(GO) test ./... && $(GO) test -race -run 'Schemas|Cancelled' ./...

check: test sandboxtest racetest vulncheck
	$(GO) vet ./...
	test -z "$$(gofmt -l . | tee -a /dev/stderr)"
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	cd adapters/krusty && $(GO) vet ./... && $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

# Without a way to the vulnerability database there is nothing to check against.
vulncheck:
	@out=$$($(GO) run golang.org/x/vuln/cmd/govulncheck@v1.8.0 ./... 2>&1); code=$$?; echo "$$out"; \
	case "$$out" in *"fetching vulnerabilities"*) echo "govulncheck: SKIPPED, the vulnerability database cannot be reached";; *) exit $$code;; esac

# How the cost grows with the input: fails if a shape costs more than its size explains. RUN=images measures shapes by name.
grow: build
	$(GO) run ./internal/dev/grow -run '$(RUN)'

# The oracle: a tool for golden files and benchmarks, never a dependency of the binary.
kustomize:
	GOBIN=$(TOOLS) $(GO) install sigs.k8s.io/kustomize/kustomize/v5@$(KUSTOMIZE_VERSION)

# What renders charts, for the tests about them. It takes minutes to compile, once for each version.
helm:
	test -e $(TOOLS)/helm-$(HELM_VERSION) || GOBIN=$(TOOLS) $(GO) install -p 2 -ldflags '-s -w' helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)
	touch $(TOOLS)/helm-$(HELM_VERSION)

# A server for the tests of shared caches, of the version in its go.mod. It takes minutes to compile, once.
bazel-remote:
	cd testdata/servers/bazel-remote && CGO_ENABLED=0 $(GO) build -p 2 -trimpath -ldflags '-s -w' -o $(TOOLS)/bazel-remote github.com/buchgr/bazel-remote/v2

# A catalog of kpt's functions and their programs, built from the Go modules of functions.tsv: docs/kpt.md. PUBLISH=oci://… pushes it.
catalog:
	$(GO) run ./internal/dev/kptcatalog -out $(DIST)/kpt -platforms $(CATALOG_PLATFORMS)
	$(if $(PUBLISH),$(GO) run ./cmd/krmflow catalog publish $(DIST)/kpt/catalog.yaml $(PUBLISH))

# Stand-ins for kpt's functions on kpt's SDK, for the tests of kpt packages. They take a minute to compile, once.
kpt-functions:
	cd testdata/functions/kpt && CGO_ENABLED=0 $(GO) build -p 2 -trimpath -ldflags '-s -w' -o $(TOOLS)/kpt-functions .

bench: build kustomize
	$(GO) build -o $(TOOLS)/kyaml-function ./testdata/functions/kyaml
	bench/record bin/krmflow --kustomize $(TOOLS)/kustomize --function $(TOOLS)/kyaml-function --budget 3m >$(TOOLS)/RESULTS.md
	mv $(TOOLS)/RESULTS.md bench/RESULTS.md
	$(GO) test -run '^$$' -bench . -benchmem -timeout 1h ./krm ./krm/yaml ./krm/schema ./output ./builtins ./bench ./executors ./executors/exec

# Records the profile anew, without the paths of this machine. It need not be exact: do so after large changes of krm, builtins or planner.
profile:
	d=$$(mktemp -d) && $(GO) test -trimpath -c -o $$d/bench ./bench && \
	  $$d/bench -test.run '^$$' -test.bench 'Stages/.*/(plan|transform|emit)' -test.cpuprofile $(PROFILE); rm -rf $$d

# Every fuzz target of every package, for FUZZTIME each. To make inputs smaller that are merely new would take most of it. "context
# deadline exceeded" without a failing input is the go command's own race at the end of the time, on a busy machine.
fuzz:
	failed=; for p in $$($(GO) list ./...); do \
	  targets=$$($(GO) test -list '^Fuzz' $$p) || exit 1; \
	  for t in $$(echo "$$targets" | grep ^Fuzz); do \
	    $(GO) test -run '^$$' -fuzz "^$$t$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s $(FUZZFLAGS) $$p || failed="$$failed $$p.$$t"; \
	  done; \
	done; test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

# Whole random trees, side by side with kustomize: for hours by hand, with another SEED each time.
difftest: build kustomize
	$(GO) run ./internal/dev/difftest -krmflow bin/krmflow -kustomize $(TOOLS)/kustomize -trees $(DIFFTREES) -seed $(SEED)

# Random edits of random kustomization files, side by side with kustomize: EDITS of them, also of the files below EDITTREES.
edittest: kustomize
	$(GO) test ./internal/command/edit -run TestLikeKustomize -v -timeout 0 -args -pairs $(EDITS) -seed $(SEED) -trees "$(EDITTREES)"

# Records the golden files of testdata/kustomize anew.
golden: kustomize
	KUSTOMIZE=$(TOOLS)/kustomize testdata/kustomize/record

generate:
	$(GO) generate ./...
