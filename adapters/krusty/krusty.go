// Package krusty has the API of sigs.k8s.io/kustomize/api/krusty and renders with krmflow. A
// program that links kustomize's library switches to krmflow by changing this import.
//
// Resources and bytes are those of kustomize v5.8.2, with these differences. The process keeps no
// state of a run, so Kustomizers, and several runs of one, may work concurrently, also with
// different schemas (openapi). Error messages are krmflow's. helm runs only if the Kustomizer has
// an executor for it. Options that request functions or plugins are errors: use package render,
// whose callers state their trust.
package krusty

import (
	"context"
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/helm"
	"github.com/krmflow/krmflow/render"
	"github.com/krmflow/krmflow/scheduler"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Options are kustomize's own.
type Options = krusty.Options

// A ReorderOption is kustomize's own.
type ReorderOption = krusty.ReorderOption

// The values of [Options.Reorder]. Any other value means none, as in kustomize.
const (
	ReorderOptionLegacy      = krusty.ReorderOptionLegacy
	ReorderOptionNone        = krusty.ReorderOptionNone
	ReorderOptionUnspecified = krusty.ReorderOptionUnspecified
)

// MakeDefaultOptions returns kustomize's defaults: the order of the input, and no files from
// outside of the directory of a layer.
func MakeDefaultOptions() *Options { return krusty.MakeDefaultOptions() }

// GetBuiltinPluginNames returns the names of kustomize's generators and transformers.
func GetBuiltinPluginNames() []string { return krusty.GetBuiltinPluginNames() }

// A Kustomizer renders directories. It keeps no state between runs, and is safe for concurrent use
// as long as its fields do not change.
type Kustomizer struct {
	options *Options

	// Sources control how remote content is fetched. [MakeKustomizer] sets them to fetch as the
	// command does. With nil, a remote reference is an error.
	Sources *render.Sources
	// Warn is called with each warning of a run that ends well. It may be nil.
	Warn func(planner.Warning)
	// Helm renders charts if PluginConfig.HelmConfig enables them. Use helm.New of package
	// executors/helm, once per process. Without Helm, the option is an error. Isolation reports the
	// isolation of Helm, see package executors/probe. Without isolation, charts are denied.
	Helm      scheduler.Executor
	Isolation func() (isolation, missing string)
}

// MakeKustomizer returns a Kustomizer; nil stands for the default options.
func MakeKustomizer(o *Options) *Kustomizer {
	if o == nil {
		o = MakeDefaultOptions()
	}
	return &Kustomizer{options: o, Sources: &render.Sources{}}
}

// Run renders a directory of fSys, or a remote reference. A file system not made by
// [filesys.MakeFsOnDisk] must not change during Run. The error lists all mistakes in the input, or
// names an option that krmflow does not support.
func (k *Kustomizer) Run(fSys filesys.FileSystem, path string) (resmap.ResMap, error) {
	return k.RunContext(context.Background(), fSys, path)
}

// RunContext is Run that ends soon after ctx, with its cause.
func (k *Kustomizer) RunContext(ctx context.Context, fSys filesys.FileSystem, path string) (resmap.ResMap, error) {
	plan, err := k.planOptions()
	if err != nil {
		return nil, err
	}
	if !isOnDisk(fSys) {
		dir, file, err := fSys.CleanedAbs(path)
		if err == nil && file == "" {
			path = dir.String()
		} else {
			dir = "" // it is something else, or remote
		}
		plan.FS = newView(fSys, dir)
	}
	// nothing but charts is allowed
	run := scheduler.Options{Executor: func(function.Runtime) (scheduler.Executor, error) { return k.Helm, nil }}
	result, err := render.Render(ctx, render.Options{Dirs: []string{path}, Plan: plan, Sources: k.Sources, Run: run})
	if err != nil {
		return nil, err
	}
	if k.Warn != nil {
		for _, w := range result.Warnings {
			k.Warn(w)
		}
	}
	return makeResMap(result.Lists[0])
}

// planOptions returns what the options mean for krmflow.
func (k *Kustomizer) planOptions() (p planner.Options, err error) {
	o := k.options
	p.ManagedByLabel = o.AddManagedbyLabel
	p.Unrestricted = o.LoadRestrictions != types.LoadRestrictionsRootOnly
	if o.Reorder != ReorderOptionUnspecified {
		p.ReorderSet = true
		p.Reorder = string(ReorderOptionNone)
	}
	if o.Reorder == ReorderOptionLegacy {
		p.Reorder = string(ReorderOptionLegacy)
	}
	c := o.PluginConfig
	switch {
	case c == nil:
	case c.HelmConfig.Enabled && k.Helm == nil:
		err = errors.New("PluginConfig.HelmConfig.Enabled: no program is started unless the field Helm of the Kustomizer is set")
	case c.PluginRestrictions == types.PluginRestrictionsNone:
		err = fmt.Errorf("PluginConfig.PluginRestrictions: %s is not supported: use package render, which runs trusted functions",
			c.PluginRestrictions)
	case c.BpLoadingOptions == types.BploLoadFromFileSys:
		err = errors.New("PluginConfig.BpLoadingOptions: BploLoadFromFileSys is not supported: built-ins are compiled in")
	case c.HelmConfig.Enabled:
		h := c.HelmConfig
		p.Functions.Policy.Helm, p.Functions.Isolation = true, k.Isolation
		p.Functions.Helm = helm.Options{Command: h.Command, APIVersions: h.ApiVersions, KubeVersion: h.KubeVersion, Debug: h.Debug}
	}
	return p, err
}

// isOnDisk reports whether fSys is nothing but the file system of this machine, which krmflow
// reads itself.
func isOnDisk(fSys filesys.FileSystem) bool {
	switch f := fSys.(type) {
	case filesys.FileSystemOrOnDisk:
		return f.FileSystem == nil || isOnDisk(f.FileSystem)
	case *filesys.FileSystemOrOnDisk:
		return f.FileSystem == nil || isOnDisk(f.FileSystem)
	}
	return fSys == filesys.MakeFsOnDisk()
}
