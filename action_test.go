package krmflow_test

import (
	"encoding/json"
	"fmt"
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
	"github.com/krmflow/krmflow/internal/dev/longtest"
)

// github is a server with the comments of one pull request.
type github struct {
	*httptest.Server
	status   int    // the response to write requests, 0 for success
	user     string // the user of the token, "" for a token of a workflow
	comments []comment
	log      []string
}

type comment struct {
	ID   int    `json:"id"`
	Body string `json:"body"`
	User struct {
		Login string `json:"login"`
		Type  string `json:"type"`
	} `json:"user"`
}

// said returns a comment by a user.
func said(login, kind, body string) (c comment) {
	c.User.Login, c.User.Type, c.Body = login, kind, body
	return c
}

// add adds comments of other users.
func (g *github) add(comments ...comment) {
	for _, c := range comments {
		c.ID = len(g.comments) + 1
		g.comments = append(g.comments, c)
	}
}

// written returns the requests that changed comments since the last call.
func (g *github) written() (list []string) {
	list, g.log = g.log, nil
	return list
}

func newGitHub(t *testing.T) *github {
	g := &github{}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, status int, v any) {
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("GET /user", func(w http.ResponseWriter, r *http.Request) {
		if g.user == "" {
			answer(w, http.StatusForbidden, map[string]string{"message": "Resource not accessible by integration"})
			return
		}
		answer(w, http.StatusOK, map[string]string{"login": g.user})
	})
	mux.HandleFunc("GET /repos/me/shop/issues/7/comments", func(w http.ResponseWriter, r *http.Request) {
		var page int
		if _, err := fmt.Sscan(r.FormValue("page"), &page); err != nil || r.FormValue("per_page") != "100" {
			t.Errorf("%s: %v", r.URL, err)
		}
		from := min((page-1)*100, len(g.comments))
		answer(w, http.StatusOK, append([]comment{}, g.comments[from:min(from+100, len(g.comments))]...))
	})
	write := func(w http.ResponseWriter, r *http.Request, status int, to func(body string)) {
		g.log = append(g.log, r.Method+" "+r.URL.Path)
		var sent struct{ Body string }
		switch err := json.NewDecoder(r.Body).Decode(&sent); {
		case err != nil:
			t.Error(err)
		case g.status != 0:
			answer(w, g.status, map[string]string{"message": "no"})
		case len([]rune(sent.Body)) > 65536:
			answer(w, http.StatusUnprocessableEntity, map[string]string{"message": "body is too long"})
		default:
			to(sent.Body)
			answer(w, status, map[string]string{})
		}
	}
	mux.HandleFunc("POST /repos/me/shop/issues/7/comments", func(w http.ResponseWriter, r *http.Request) {
		write(w, r, http.StatusCreated, func(body string) {
			if g.user != "" {
				g.add(said(g.user, "User", body))
				return
			}
			g.add(said("github-actions[bot]", "Bot", body))
		})
	})
	mux.HandleFunc("PATCH /repos/me/shop/issues/comments/{id}", func(w http.ResponseWriter, r *http.Request) {
		write(w, r, http.StatusOK, func(body string) {
			for i := range g.comments {
				if fmt.Sprint(g.comments[i].ID) == r.PathValue("id") {
					g.comments[i].Body = body
				}
			}
		})
	})
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0ken" {
			t.Errorf("%s %s: Authorization: %q", r.Method, r.URL, r.Header.Get("Authorization"))
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// job is a job of a workflow that uses the action.
type job struct {
	t      *testing.T
	tree   string
	github *github
	event  map[string]string // fields of the pull request in the event: head, base and repo; nil for a push
}

// ran is the result of a job.
type ran struct {
	summary, printed string
	outputs          map[string]string
	err              error
}

func newJob(t *testing.T) *job {
	tree := onPath(t)
	for _, name := range []string{"bash", "git", "curl", "jq"} {
		if _, err := exec.LookPath(name); err != nil {
			executortest.Missing(t, name)
		}
	}
	t.Setenv("no_proxy", "127.0.0.1")
	j := &job{t: t, tree: tree, github: newGitHub(t)}
	j.git("init", "-qb", "main")
	j.commit()
	return j
}

func (j *job) git(args ...string) string {
	j.t.Helper()
	out, errs, err := run(j.t, j.tree, nil, "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	if err != nil {
		j.t.Fatal(args, err, errs)
	}
	return strings.TrimSpace(out)
}

// commit commits all files and returns the commit.
func (j *job) commit() string {
	j.t.Helper()
	j.git("add", "-A")
	j.git("commit", "-qm", "a change", "--allow-empty")
	return j.git("rev-parse", "HEAD")
}

// write writes a file of the tree.
func (j *job) write(name, text string) {
	j.t.Helper()
	file := filepath.Join(j.tree, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		j.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		j.t.Fatal(err)
	}
}

// more appends lines to a file of the tree.
func (j *job) more(name, text string) {
	j.t.Helper()
	old, err := os.ReadFile(filepath.Join(j.tree, name))
	if err != nil {
		j.t.Fatal(err)
	}
	j.write(name, string(old)+text)
}

// pullRequest merges the branch change into main, as GitHub does, and checks out the merge commit.
func (j *job) pullRequest() {
	j.t.Helper()
	head := j.git("rev-parse", "change")
	base := j.git("rev-parse", "main")
	j.git("checkout", "-q", "--detach", "main")
	j.git("merge", "-q", "--no-ff", "-m", "merge", "change")
	j.event = map[string]string{"head": head, "base": base, "repo": "me/shop"}
}

// step is a step of action.yml.
type step struct {
	Name, If, Run, Uses string
	Env, With           map[string]string
}

// run runs the steps of action.yml as a runner does.
func (j *job) run(with map[string]string) (r ran) {
	j.t.Helper()
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct{ Steps []step }
	}
	decode(j.t, "action.yml", &action)
	repository, err := filepath.Abs(".")
	if err != nil {
		j.t.Fatal(err)
	}
	values := map[string]string{}
	for name, in := range action.Inputs {
		values["inputs."+name] = strings.ReplaceAll(in.Default, "${{ github.token }}", "t0ken")
	}
	for name, value := range with {
		if _, ok := action.Inputs[name]; !ok {
			j.t.Fatalf("there is no input %s", name)
		}
		values["inputs."+name] = value
	}
	temp := j.t.TempDir()
	env := []string{
		"RUNNER_TEMP=" + temp, "GITHUB_ACTION_PATH=" + repository, "GITHUB_REPOSITORY=me/shop", "GITHUB_RUN_ID=99",
		"GITHUB_API_URL=" + j.github.URL, "GITHUB_SERVER_URL=https://github.example", "GITHUB_EVENT_NAME=push",
	}
	for name, file := range map[string]string{"STEP_SUMMARY": "summary", "OUTPUT": "output", "PATH": "path", "EVENT_PATH": "event"} {
		env = append(env, "GITHUB_"+name+"="+filepath.Join(temp, file))
	}
	if j.event != nil {
		env = append(env, "GITHUB_EVENT_NAME=pull_request")
		text := fmt.Sprintf(`{"pull_request": {"number": 7, "head": {"sha": %q, "repo": {"full_name": %q}}, "base": {"sha": %q}}}`,
			j.event["head"], j.event["repo"], j.event["base"])
		if err := os.WriteFile(filepath.Join(temp, "event"), []byte(text), 0o666); err != nil {
			j.t.Fatal(err)
		}
	}
	for _, s := range action.Runs.Steps {
		if s.Run == "" {
			continue // a third-party action: see TestActionFile
		}
		for name, value := range s.Env {
			for from, to := range values {
				value = strings.ReplaceAll(value, "${{ "+from+" }}", to)
			}
			env = append(env, name+"="+value)
		}
		var out, errs string
		out, errs, r.err = run(j.t, j.tree, env, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		r.printed += out + errs
	}
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(temp, name)) // a job may not have written it
		return string(text)
	}
	r.summary, r.outputs = read("summary"), map[string]string{}
	for line := range strings.Lines(read("output")) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		r.outputs[name] = value
	}
	return r
}

// TestActionFile checks properties of action.yml that a test cannot run: scripts contain no text
// from expressions, and used actions have commits.
func TestActionFile(t *testing.T) {
	var action struct {
		Outputs map[string]struct{ Value string }
		Runs    struct{ Steps []step }
	}
	decode(t, "action.yml", &action)
	script, err := os.ReadFile("deploy/action/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	uploads := false
	for _, s := range action.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("text that is not a variable: %s", s.Run)
		}
		for name := range s.Env {
			if !regexp.MustCompile(`\$\{?` + name + `\b`).Match(script) {
				t.Errorf("the script does not use %s", name)
			}
		}
		if s.Uses == "" {
			continue
		}
		if !regexp.MustCompile(`^[\w-]+/[\w/-]+@[0-9a-f]{40}$`).MatchString(s.Uses) {
			t.Errorf("not a commit: %s", s.Uses)
		}
		uploads = uploads || strings.HasPrefix(s.Uses, "github/codeql-action/upload-sarif@") && strings.Contains(s.If, "always()") &&
			s.With["sarif_file"] == "${{ steps.krmflow.outputs.sarif }}"
	}
	if !uploads {
		t.Error("reports are not uploaded")
	}
	for name, out := range action.Outputs {
		if !strings.Contains(string(script), "set_output "+name+" ") || out.Value != "${{ steps.krmflow.outputs."+name+" }}" {
			t.Errorf("output %s is %s", name, out.Value)
		}
	}
}

// TestActionPush runs the action for a push: all roots are rendered, and compared only if a
// revision is given.
func TestActionPush(t *testing.T) {
	longtest.OnlyAll(t)
	j := newJob(t)
	if _, errs, err := run(t, j.tree, nil, "krmflow", "apply-render", "-R", "overlays", "-o", "rendered/", "--layout",
		"single"); err != nil {
		t.Fatal(err, errs)
	}
	before := j.commit()
	check := map[string]string{"dir": "overlays", "check": "true", "output-args": "--layout single"}
	if r := j.run(check); r.err != nil || r.summary != "" || r.outputs["sarif"] == "" {
		t.Errorf("check: %+v", r)
	}
	j.more("overlays/prod/kustomization.yaml", "commonAnnotations: {new: here}\n")
	if r := j.run(check); r.err == nil || !strings.Contains(r.printed, "the output would be changed") {
		t.Errorf("check of a change: %+v", r)
	}
	r := j.run(map[string]string{"dir": "overlays", "diff": before})
	if r.err != nil || !strings.Contains(r.summary, "\n+ metadata.annotations: {\"new\":\"here\"}") || r.outputs["differs"] != "true" ||
		r.outputs["affected"] != `["overlays/prod"]` {
		t.Errorf("with a revision: %+v", r)
	}
	if text, err := os.ReadFile(r.outputs["diff"]); err != nil || !strings.Contains(r.summary, string(text)) {
		t.Errorf("the output diff: %v\n%s", err, text)
	}
	if log := j.github.written(); log != nil {
		t.Errorf("a push has written %q", log)
	}
	j.more("overlays/prod/kustomization.yaml", "namePrefx: a\n")
	r = j.run(map[string]string{"dir": "overlays"})
	if r.err == nil || !strings.Contains(r.printed, "::error file=overlays/prod/kustomization.yaml,line=") || r.summary != "" {
		t.Errorf("no annotation for a mistake: %+v", r)
	}
	if text, err := os.ReadFile(r.outputs["sarif"]); err != nil || !strings.Contains(string(text), `"overlays/prod/kustomization.yaml"`) {
		t.Errorf("the report: %v\n%s", err, text)
	}
	// Patterns are not expanded to file names, and quotation marks or $(…) in an input are ordinary
	// characters.
	j.git("checkout", "-q", ".")
	for _, roots := range []string{"--only *rod\n--only stag*", `--only $(touch${IFS}ran)`, `--only ";touch${IFS}ran;"`} {
		r = j.run(map[string]string{"dir": "overlays", "roots": roots, "diff": before})
		if _, err := os.Stat(filepath.Join(j.tree, "ran")); err == nil || strings.HasPrefix(roots, "--only *") != (r.err == nil) {
			t.Errorf("%s: %+v", roots, r)
		}
	}
}

// TestActionPullRequest runs the action for a pull request, then for more commits to it. There is
// only one comment.
func TestActionPullRequest(t *testing.T) {
	j := newJob(t)
	j.git("checkout", "-qb", "change")
	j.write("notes.txt", "No root reads this.\n")
	j.commit()
	j.pullRequest()
	in := map[string]string{"dir": "overlays"}
	if r := j.run(in); r.err != nil || r.outputs["differs"] != "false" || r.outputs["affected"] != "[]" || r.outputs["sarif"] != "" ||
		j.github.written() != nil {
		t.Errorf("nothing differs: %+v", r)
	}
	// The base branch has new commits, which are not part of this change.
	j.git("checkout", "-q", "main")
	j.more("overlays/staging/kustomization.yaml", "commonAnnotations: {theirs: here}\n")
	j.commit()
	change := func(text string) {
		j.git("checkout", "-q", "change")
		j.more("overlays/prod/kustomization.yaml", text)
		j.commit()
		j.pullRequest()
	}
	change("commonAnnotations: {ours: here}\n")
	r := j.run(in)
	if r.err != nil || r.outputs["affected"] != `["overlays/prod"]` || strings.Contains(r.summary, "theirs") ||
		!strings.Contains(r.summary, "ours") {
		t.Errorf("%+v", r)
	}
	post := []string{"POST /repos/me/shop/issues/7/comments"}
	if log := j.github.written(); !slices.Equal(log, post) || !strings.Contains(j.github.comments[0].Body, "ours") {
		t.Fatalf("written %q: %+v\n%s", log, j.github.comments, r.printed)
	}
	marker, _, _ := strings.Cut(j.github.comments[0].Body, "\n")
	if !strings.HasPrefix(marker, "<!-- ") || !strings.Contains(j.github.comments[0].Body, "https://github.example/me/shop/actions/runs/99") {
		t.Errorf("%s", j.github.comments[0].Body)
	}
	// Other users write more than a page of comments, some of them with the marker and before the
	// action's comment.
	mine := j.github.comments[0]
	j.github.comments = nil
	j.github.add(said("mallory", "User", marker+"\nmine"))
	for range 150 {
		j.github.add(said("dave", "User", "what about this?"), said("helper[bot]", "Bot", "> "+marker))
	}
	j.github.add(mine)
	change("# again\nnamePrefix: p-\n")
	if r = j.run(in); r.err != nil {
		t.Errorf("%+v", r)
	}
	last := j.github.comments[len(j.github.comments)-1]
	if log := j.github.written(); !slices.Equal(log, []string{"PATCH /repos/me/shop/issues/comments/302"}) ||
		!strings.Contains(last.Body, "p-") ||
		j.github.comments[0].Body != marker+"\nmine" {
		t.Errorf("written %q: %s", log, last.Body)
	}
	// A different directory has a separate comment. An existing comment is also replaced after all
	// differences are gone.
	j.run(map[string]string{"dir": "overlays/prod"})
	if log := j.github.written(); !slices.Equal(log, post) {
		t.Errorf("written %q", log)
	}
	j.git("checkout", "-q", "change")
	j.git("checkout", "-q", "main", "--", "overlays")
	j.commit()
	j.pullRequest()
	if r = j.run(in); !strings.Contains(j.github.comments[301].Body, "no difference") || len(j.github.written()) != 1 {
		t.Errorf("%+v\n%s", r, j.github.comments[301].Body)
	}
	if j.run(map[string]string{"dir": "overlays", "comment": "false"}); j.github.written() != nil {
		t.Error("a comment that was not wanted")
	}
}

// TestActionToken runs the action with tokens that cannot write comments, and with the token of a
// user.
func TestActionToken(t *testing.T) {
	j := newJob(t)
	j.git("checkout", "-qb", "change")
	j.more("overlays/prod/kustomization.yaml", "commonAnnotations: {ours: here}\n")
	j.commit()
	j.pullRequest()
	in := map[string]string{"dir": "overlays"}
	j.event["repo"] = "mallory/shop"
	if r := j.run(in); r.err != nil || !strings.Contains(r.printed, "::notice title=krmflow::") || !strings.Contains(r.summary, "ours") ||
		j.github.written() != nil {
		t.Errorf("of a fork: %+v", r)
	}
	j.event["repo"] = "me/shop"
	for _, status := range []int{http.StatusForbidden, http.StatusUnprocessableEntity} {
		j.github.status = status
		if r := j.run(in); r.err != nil || !strings.Contains(r.printed, "::warning title=krmflow::") ||
			!strings.Contains(r.summary, "ours") {
			t.Errorf("status %d: %+v", status, r)
		}
	}
	j.github.status, j.github.user = 0, "release-user"
	j.github.written()
	for range 2 {
		if r := j.run(in); r.err != nil {
			t.Errorf("%+v", r)
		}
	}
	if log := j.github.written(); !slices.Equal(log,
		[]string{"POST /repos/me/shop/issues/7/comments", "PATCH /repos/me/shop/issues/comments/1"}) {
		t.Errorf("written %q", log)
	}
}

// TestActionMistakes runs the action where one side cannot be rendered or is missing.
func TestActionMistakes(t *testing.T) {
	j := newJob(t)
	j.more("overlays/staging/kustomization.yaml", "namePrefx: a\n")
	j.commit()
	j.git("checkout", "-qb", "change")
	j.git("checkout", "-q", "HEAD^", "--", "overlays/staging")
	j.more("overlays/prod/kustomization.yaml", "commonAnnotations: {ours: here}\n")
	j.commit()
	j.pullRequest()
	in := map[string]string{"dir": "overlays"}
	r := j.run(in)
	if r.err != nil || !strings.Contains(r.summary, "Not compared: `overlays/staging`") || !strings.Contains(r.summary, "ours") ||
		r.outputs["differs"] != "true" {
		t.Errorf("a mistake that the change mends: %+v", r)
	}
	j.git("checkout", "-q", "change")
	j.more("overlays/dev/kustomization.yaml", "namePrefx: a\n")
	j.commit()
	j.pullRequest()
	r = j.run(in)
	if r.err == nil || !strings.Contains(r.summary, "ours") ||
		!strings.Contains(r.printed, "::error file=overlays/dev/kustomization.yaml") {
		t.Errorf("a mistake of the change: %+v", r)
	}
	// A clone without the base.
	full := j.tree
	shallow := t.TempDir()
	merge := j.git("rev-parse", "HEAD")
	j.tree = shallow
	j.git("init", "-q")
	j.git("fetch", "-q", "--depth=1", "file://"+full, merge)
	j.git("checkout", "-q", "FETCH_HEAD")
	r = j.run(in)
	missing := regexp.MustCompile(
		`::error title=krmflow::the clone does not have [0-9a-f]{40}, .*: set fetch-depth: 0 for actions/checkout`)
	if r.err == nil || !missing.MatchString(r.printed) {
		t.Errorf("a shallow clone: %+v", r)
	}
	if r = j.run(map[string]string{"dir": "overlays/prod", "diff": "false"}); r.err != nil || r.outputs["sarif"] == "" {
		t.Errorf("a shallow clone without a comparison: %+v", r)
	}
	j.git("fetch", "-q", "--depth=2", "file://"+full, merge)
	if r = j.run(map[string]string{"dir": "overlays/prod"}); r.err != nil || !strings.Contains(r.summary, "ours") {
		t.Errorf("a clone with fetch-depth: 2: %+v", r)
	}
}

// TestActionSecrets runs the action with Secrets in files whose names do not show that, and with a
// text that is too long for a comment.
func TestActionSecrets(t *testing.T) {
	j := newJob(t)
	secret := func(namespace, value string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: %s}\nstringData: {password: %s}\n---\n",
			namespace, value)
	}
	settings := func(value string) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: a}\ndata:\n  text: |\n", i)
			for k := range 40 {
				fmt.Fprintf(&b, "    %s %d %d %s\n", value, i, k, strings.Repeat("text ", 8))
			}
			b.WriteString("---\n")
		}
		return b.String()
	}
	j.write("secrets/kustomization.yaml", "resources: [all.yaml]\n")
	j.write("secrets/all.yaml", secret("a", "hunter1")+secret("b", "hunter2")+settings("old"))
	layout := []string{"apply-render", "-R", "secrets", "-o", "rendered/", "--layout", "single"}
	if _, errs, err := run(t, j.tree, nil, "krmflow", layout...); err != nil {
		t.Fatal(err, errs)
	}
	j.commit()
	j.git("checkout", "-qb", "change")
	j.write("secrets/all.yaml", secret("a", "hunter3")+secret("b", "hunter4")+secret("c", "hunter5")+settings("new"))
	j.commit()
	j.pullRequest()
	r := j.run(map[string]string{"dir": "secrets", "check": "true", "output-args": "--layout single"})
	if r.err == nil || len(j.github.comments) != 1 {
		t.Fatalf("%+v", r)
	}
	body := j.github.comments[0].Body
	if strings.Count(r.summary, "Secret ") < 3 || !strings.Contains(body, "ConfigMap a/c1") {
		t.Errorf("%.2000s", body)
	}
	sarif, err := os.ReadFile(r.outputs["sarif"])
	if all := r.printed + r.summary + body + string(sarif); err != nil || strings.Contains(all, "hunter") ||
		strings.Contains(all, "aHVudGVy") {
		t.Errorf("a value of a Secret is shown: %v\n%s", err, all)
	}
	if len(r.summary) < 65536 || len(body) < 40000 || !strings.Contains(body, "summarised, to stay below") ||
		strings.Contains(r.summary, "summarised, to stay below") {
		t.Errorf("the summary has %d bytes, the comment %d", len(r.summary), len(body))
	}
}
