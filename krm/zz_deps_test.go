package krm

import (
	_ "github.com/dominikbraun/graph"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/rs/zerolog"
	_ "github.com/spf13/cobra"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "sigs.k8s.io/kustomize/api/resmap"
	_ "sigs.k8s.io/kustomize/api/types"
	_ "sigs.k8s.io/kustomize/api/hasher"
	_ "sigs.k8s.io/kustomize/kyaml/kio"
	_ "sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	_ "go.yaml.in/yaml/v3"
	_ "sigs.k8s.io/yaml"
)
