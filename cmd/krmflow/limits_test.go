package main

import (
	"math"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
)

// The limits grow with the input, however large the flags let it and the answers of functions be.
func TestLimitsOfLargeInput(t *testing.T) {
	for _, n := range []int64{1 << 30, 3 << 30, 1 << 40} {
		u := usage{input: &loaders.Budget{Max: math.MaxInt64}}
		u.input.Add(n)
		u.made.Store(n)
		if err := u.checkCPU(); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
		if err := u.checkMemory(1); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// A run that is ended between two steps names the one before, and nodes without a place hide none.
func TestStoppedBetweenSteps(t *testing.T) {
	var d doing
	src := &yaml.Source{File: "k/kustomization.yaml", Data: []byte("namePrefix: a\n")}
	placed := &graph.Node{Origin: graph.Origin{Source: src, Path: []any{"namePrefix"}}}
	d.begin(placed)
	d.end(placed)
	d.begin(&graph.Node{})
	if err := d.stopped(diag.Limitf("stopped")); !strings.HasPrefix(err.Error(), "k/kustomization.yaml:1: ") {
		t.Errorf("the place is missing in %q", err)
	}
}
