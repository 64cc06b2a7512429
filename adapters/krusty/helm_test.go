package krusty_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/adapters/krusty"
	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/executors/helm"
	"github.com/krmflow/krmflow/executors/probe"
	kustomize "sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// TestChartsRenderLikeKustomize checks that, with an executor, charts render to the same bytes as
// in kustomize's library, from disk and from a different file system. Without isolation they are
// denied.
func TestChartsRenderLikeKustomize(t *testing.T) {
	command, err := exec.LookPath("helm")
	if err != nil {
		executortest.Missing(t, "no helm: make helm")
	}
	if isolation, missing := probe.Isolation(); isolation == "" {
		executortest.Missing(t, missing)
	}
	dir := t.TempDir()
	tree := map[string]string{
		dir +
			"/kustomization.yaml": "namespace: shop\nhelmCharts: [{name: web, releaseName: shop, valuesInline: {replicas: 3}}]\n",
		dir + "/charts/web/Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.2.3\n",
		dir + "/charts/web/values.yaml": "replicas: 1\n",
		dir +
			"/charts/web/templates/all.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {replicas: '{{ .Values.replicas }}', kube: '{{ .Capabilities.KubeVersion }}'}\n",
	}
	o := krusty.MakeDefaultOptions()
	o.PluginConfig.HelmConfig.Enabled, o.PluginConfig.HelmConfig.Command, o.PluginConfig.HelmConfig.KubeVersion = true, command, "1.31.0"
	onDisk := write(t, filesys.MakeFsOnDisk(), tree)
	m, err := kustomize.MakeKustomizer(o).Run(onDisk, dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	x := helm.New()
	defer x.Close()
	k := krusty.MakeKustomizer(o)
	k.Helm = x
	if _, err := k.Run(onDisk, dir); err == nil || !strings.Contains(err.Error(), "this machine cannot isolate a program") {
		t.Errorf("without isolation: %v", err)
	}
	k.Isolation = probe.Isolation
	for name, fSys := range map[string]filesys.FileSystem{"disk": onDisk, "memory": write(t, filesys.MakeFsInMemory(), tree)} {
		m, err := k.Run(fSys, dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := m.AsYaml(); err != nil || string(got) != string(want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}
