package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/executors/executortest"
	"go.yaml.in/yaml/v3"
)

// steps returns the commands of a workflow: the run entries in GitHub's form, the script entries in
// GitLab's.
func steps(t *testing.T, workflow string) (all []string) {
	t.Helper()
	var doc struct {
		Jobs struct {
			Diff struct{ Steps []struct{ Run string } }
		}
		Review struct{ Script []string }
	}
	if err := yaml.Unmarshal([]byte(workflow), &doc); err != nil {
		t.Fatalf("%v\n%s", err, workflow)
	}
	for _, s := range doc.Jobs.Diff.Steps {
		all = append(all, s.Run)
	}
	return slices.DeleteFunc(append(all, doc.Review.Script...),
		func(s string) bool { return s == "" || strings.HasPrefix(s, "go install ") })
}

// TestReviewWorkflows runs the commands of the workflows in docs/review.md in a repository with a
// change. Like GitHub and GitLab, it runs them in bash. A fake gh keeps the comment for GitHub, and
// a fake server does so for GitLab. No command contains a GitHub expression, because a name chosen
// by another user could then run as code.
func TestReviewWorkflows(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "git", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			executortest.Missing(t, "no "+program)
		}
	}
	text, err := os.ReadFile("../../docs/review.md")
	if err != nil {
		t.Fatal(err)
	}
	posted := ""
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("PRIVATE-TOKEN") == "word" && r.URL.Path == "/projects/7/merge_requests/3/notes" {
			posted = r.FormValue("body")
		}
	}))
	defer server.Close()
	found := 0
	for _, b := range regexp.MustCompile("(?ms)^```yaml\n# \\.git(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		found++
		posted = ""
		dir, bin := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "gh"), []byte("#!/bin/sh\nfor last; do :; done\ncp \"$last\" \"$RUNNER_TEMP/comment\"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
		env := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
			"XDG_CACHE_HOME="+filepath.Join(t.TempDir(), "cache"), "RUNNER_TEMP="+bin, "GITHUB_STEP_SUMMARY="+filepath.Join(bin, "summary"),
			"NUMBER=3", "REVIEW_TOKEN=word", "CI_API_V4_URL="+server.URL, "CI_MERGE_REQUEST_PROJECT_ID=7",
			"CI_MERGE_REQUEST_IID=3", "CI_MERGE_REQUEST_DIFF_BASE_SHA=HEAD~1", "GITHUB_REPOSITORY=a/b")
		run := func(command string) {
			t.Helper()
			cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", command)
			cmd.Dir, cmd.Env = dir, env
			var e bytes.Buffer
			cmd.Stderr = &e
			if err := cmd.Run(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, &e)
			}
		}
		run(
			`git init -q; printf 'configMapGenerator: [{name: x, literals: [a=b]}]\n' > kustomization.yaml; git add .; git commit -qm one; echo 'namePrefix: new-' >> kustomization.yaml; git commit -qam two`)
		for _, command := range steps(t, "# .git"+b[1]) {
			if strings.Contains(command, "${{") {
				t.Errorf("an expression is part of a command: %s", command)
			}
			run(command)
		}
		if comment, err := os.ReadFile(filepath.Join(bin, "comment")); err == nil {
			posted = string(comment)
		}
		if !strings.Contains(posted, "new-x") {
			t.Errorf("the comment is %q", posted)
		}
	}
	if found != 2 {
		t.Errorf("%d workflows are in docs/review.md", found)
	}
}
