package flux

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/internal/sys/ignore"
	"github.com/krmflow/krmflow/krm/yaml"
)

// kustomizationFiles are the names of kustomization files.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// resources returns the resources of the kustomization file that Flux generates for a directory
// without one: the directories below it that have one, and the YAML files outside of those.
func (e *editor) resources(dir gitops.Dir) ([]yaml.Value, error) {
	names, err := dir.Files()
	if err != nil {
		return nil, err
	}
	rules, err := e.rules(dir, names)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(slices.Clone(names), rules.ignores)
	if rules.err != nil {
		return nil, rules.err
	}
	layers := map[string]bool{}
	for _, name := range names {
		if d := path.Dir(name); d != "." && slices.Contains(kustomizationFiles, path.Base(name)) {
			layers[d] = true
		}
	}
	found := map[string]bool{}
	for _, name := range names {
		if d := outermost(layers, name); d != "" {
			found[d] = true
		} else if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
			found[name] = true
		}
	}
	var paths []string
	for p := range found {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, inWalk)
	items := make([]yaml.Value, len(paths))
	for i, p := range paths {
		items[i] = yaml.Str("./" + p)
	}
	return items, nil
}

// outermost returns the outermost of some directories that contains a file, "" if none does.
func outermost(dirs map[string]bool, name string) string {
	for i := range len(name) {
		if name[i] == '/' && dirs[name[:i]] {
			return name[:i]
		}
	}
	return ""
}

// inWalk compares two paths in the order in which filepath.Walk visits them.
func inWalk(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }

// sourceIgnore is the name of files that list paths that source-controller leaves out, in the
// syntax of .gitignore.
const sourceIgnore = ".sourceignore"

// defaultIgnore lists the paths that source-controller leaves out by default.
const defaultIgnore = `.git/
.gitignore
.gitmodules
.gitattributes
*.jpg
*.jpeg
*.gif
*.png
*.wmv
*.flv
*.tar.gz
*.zip
.github/
.circleci/
.travis.yml
.gitlab-ci.yml
appveyor.yml
.drone.yml
cloudbuild.yaml
codeship-services.yml
codeship-steps.yml
**/.goreleaser.yml
**/.sops.yaml
**/.flux.yaml
`

// ignoreRules are the rules for the files of a directory in a repository. Patterns of spec.ignore
// take precedence over those of .sourceignore files, and the defaults apply last.
type ignoreRules struct {
	// sub is the path of the directory in the repository, "." for its root.
	sub string
	// spec are the patterns of spec.ignore.
	spec string
	// files are the contents of .sourceignore files by their directories in the repository.
	files map[string][]byte
	// chains are the rules for the entries of directories.
	chains map[string]*ignore.Rules
	err    error
}

// rules reads the rules that apply to the files of a directory.
func (e *editor) rules(dir gitops.Dir, names []string) (*ignoreRules, error) {
	r := &ignoreRules{sub: path.Clean(e.tree.sub), spec: e.tree.ignore, files: map[string][]byte{}, chains: map[string]*ignore.Rules{}}
	if files := e.tree.files(e.f.env); files != nil {
		for d := r.sub; d != "."; {
			d = path.Dir(d)
			if data, err := fs.ReadFile(files, path.Join(d, sourceIgnore)); err == nil {
				r.files[d] = data
			}
		}
	}
	for _, name := range names {
		if path.Base(name) == sourceIgnore {
			src, err := dir.Read(name)
			if err != nil {
				return nil, err
			}
			r.files[path.Join(r.sub, path.Dir(name))] = src.Data
		}
	}
	return r, nil
}

// ignores reports whether a file below the directory, or a directory that contains it, is left
// out.
func (r *ignoreRules) ignores(name string) bool {
	full := path.Join(r.sub, name)
	for i := range len(full) {
		if full[i] == '/' && r.in(path.Dir(full[:i])).Ignores(full[:i], true) {
			return true
		}
	}
	return r.in(path.Dir(full)).Ignores(full, false)
}

// in returns the rules for the entries of a directory.
func (r *ignoreRules) in(dir string) *ignore.Rules {
	if rules, ok := r.chains[dir]; ok {
		return rules
	}
	var dirs []string
	for d := dir; ; d = path.Dir(d) {
		dirs = append(dirs, d)
		if d == "." {
			break
		}
	}
	rules := r.parse("", ".", []byte(defaultIgnore), nil)
	for _, d := range slices.Backward(dirs) {
		if data, ok := r.files[d]; ok {
			rules = r.parse(d, d, data, rules)
		}
	}
	if r.spec != "" {
		rules = r.parse("", ".", []byte(r.spec), rules)
	}
	r.chains[dir] = rules
	return rules
}

// parse adds the rules of a file. It records the first mistake.
func (r *ignoreRules) parse(dir, rel string, data []byte, outer *ignore.Rules) *ignore.Rules {
	rules, err := ignore.Parse(dir, rel, data, outer)
	if err == nil {
		return rules
	}
	if d := diag.AsError(err); r.err == nil {
		r.err = diag.Errorf(diag.Pos{}, "", "line %d of %s: %s", d.Pos.Line, path.Join(dir, sourceIgnore), d.Msg).With(diag.BadValue)
	}
	return outer
}

// decrypt moves the resources of the file that sops has encrypted to a generator that decrypts
// them. Those of other layers stay encrypted, and the planner warns about each.
func (e *editor) decrypt(f *file, dir gitops.Dir) {
	var kept, moved []yaml.Value
	var from []int
	for i, x := range f.get("resources").Items() {
		if x.Type() == yaml.String && encrypted(dir, x.Text()) {
			moved = append(moved, x)
			continue
		}
		kept = append(kept, x)
		from = append(from, i)
	}
	if len(moved) == 0 {
		return
	}
	key := f.key("resources")
	var base yaml.Place
	for _, p := range f.places {
		if len(p.Path) == 0 || len(p.Path) == 1 && p.Path[0] == key {
			base = p
		}
	}
	if len(base.Path) == 0 {
		base = base.Below(key)
	}
	f.v = f.v.With(key, yaml.SeqOf(kept...))
	if base.Source != e.o.Source {
		for i, n := range from {
			p := base.Below(n)
			p.Path = []any{key, i}
			f.places = append(f.places, p)
		}
	}
	if len(kept) == 0 {
		f.v = f.v.Without(key)
	}
	config := yaml.MapOf(
		yaml.Field{Key: "apiVersion", Value: yaml.Str("krmflow.dev/v1alpha1")},
		yaml.Field{Key: "kind", Value: yaml.Str("SopsSecretGenerator")},
		yaml.Field{Key: "metadata", Value: textFields("name", "flux-decryption")},
		yaml.Field{Key: "manifests", Value: yaml.SeqOf(moved...)})
	f.add("generators", yaml.Str(string(yaml.AppendFile(nil, config))), e.o.Place("spec", "decryption"))
}

// encrypted reports whether all objects in a file are encrypted by sops.
func encrypted(dir gitops.Dir, name string) bool {
	if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" && ext != ".json" || path.IsAbs(name) {
		return false
	}
	name = path.Clean(name)
	if strings.HasPrefix(name, "..") {
		return false
	}
	src, err := dir.Read(name)
	if err != nil || !strings.Contains(src.Text(), "lastmodified") {
		return false
	}
	docs, err := src.Documents()
	if err != nil {
		return false
	}
	for _, d := range docs {
		if !isEncrypted(d.Value) {
			return false
		}
	}
	return len(docs) > 0
}

func isEncrypted(v yaml.Value) bool {
	sops := v.Get("sops")
	return sops.Get("mac").Exists() && sops.Get("lastmodified").Exists()
}
