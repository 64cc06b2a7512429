package krmflow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestShardJobs runs the jobs of deploy that render in shards, and compares the joined folder with
// the folder of a single run.
func TestShardJobs(t *testing.T) {
	for name, jobs := range map[string]func(t *testing.T, tree string) (folder string){
		"kubernetes": kubernetesJobs, "github": gitHubJobs, "gitlab": gitLabJobs,
	} {
		t.Run(name, func(t *testing.T) {
			tree := onPath(t)
			out := jobs(t, tree)
			whole := filepath.Join(tree, "whole")
			must(t, tree, nil, "krmflow apply-render -R . --leaves -o whole")
			must(t, tree, nil, "krmflow apply-render -R . --leaves --check -o "+whole)
			must(t, tree, nil, "rm -f "+whole+"/.krmflow-manifest "+out+"/.krmflow-manifest && diff -r "+whole+" "+out)
		})
	}
}

// must runs a shell script.
func must(t *testing.T, dir string, env []string, script string) {
	t.Helper()
	if out, errs, err := run(t, dir, env, "sh", "-ec", script); err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, errs)
	}
}

type podSpec struct {
	Containers []struct {
		Env     []struct{ Name, Value string }
		Command []string
	}
}

type kubernetesJob struct {
	Spec struct {
		CompletionMode string `yaml:"completionMode"`
		Completions    int
		Template       struct{ Spec podSpec }
	}
}

// run runs the container of a job. PARTS is a folder of the test, and there is no shared cache.
func (j kubernetesJob) run(t *testing.T, tree, parts string, env ...string) {
	t.Helper()
	c := j.Spec.Template.Spec.Containers[0]
	for _, v := range c.Env {
		if v.Name != "HOME" && v.Name != "CACHE" {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	if out, errs, err := run(t, tree, append(env, "PARTS="+parts), c.Command[0], c.Command[1:]...); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
}

func kubernetesJobs(t *testing.T, tree string) string {
	var render, join kubernetesJob
	decode(t, "deploy/kubernetes/render.yaml", &render)
	decode(t, "deploy/kubernetes/join.yaml", &join)
	if render.Spec.CompletionMode != "Indexed" || render.Spec.Completions < 2 {
		t.Fatalf("%+v", render)
	}
	parts := t.TempDir()
	for i := range render.Spec.Completions {
		render.run(t, tree, parts, fmt.Sprint("JOB_COMPLETION_INDEX=", i))
	}
	join.run(t, tree, parts)
	return filepath.Join(parts, "rendered")
}

func gitHubJobs(t *testing.T, tree string) string {
	var w struct {
		Env  map[string]string
		Jobs map[string]struct {
			Strategy struct{ Matrix struct{ Shard []int } }
			Steps    []step
		}
	}
	decode(t, "deploy/github/shards.yaml", &w)
	shards := w.Jobs["render"].Strategy.Matrix.Shard
	if strconv.Itoa(len(shards)) != w.Env["SHARDS"] {
		t.Errorf("%d jobs, SHARDS is %s", len(shards), w.Env["SHARDS"])
	}
	named := func(job, name, env string) {
		for _, s := range w.Jobs[job].Steps {
			if s.Name == name {
				must(t, tree, []string{env, "SHARDS=" + w.Env["SHARDS"]}, s.Run)
			}
		}
	}
	for _, i := range shards {
		named("render", "Render", fmt.Sprint("SHARD=", i))
	}
	named("join", "Join", "A=")
	return filepath.Join(tree, "rendered")
}

func gitLabJobs(t *testing.T, tree string) string {
	var jobs map[string]struct {
		Parallel int
		Script   []string
	}
	decode(t, "deploy/gitlab/shards.yaml", &jobs)
	n := jobs["render"].Parallel
	for i := 1; i <= n; i++ {
		must(t, tree, []string{fmt.Sprint("CI_NODE_INDEX=", i), fmt.Sprint("CI_NODE_TOTAL=", n)}, jobs["render"].Script[0])
	}
	must(t, tree, nil, jobs["join"].Script[0])
	if _, err := os.Stat(filepath.Join(tree, "rendered")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(tree, "rendered")
}
