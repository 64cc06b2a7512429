package flux

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

// kustomizationFiles are the names that kustomize accepts for a kustomization file.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// resources returns the resources of the kustomization file that Flux generates for a directory
// without one: the outermost directories below it that have a kustomization file, and all YAML
// files outside of these directories.
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

// outermost returns the outermost directory in dirs that contains a file, or "" if none does.
func outermost(dirs map[string]bool, name string) string {
	for i := range len(name) {
		if name[i] == '/' && dirs[name[:i]] {
			return name[:i]
		}
	}
	return ""
}

// inWalk compares two paths by the order of filepath.Walk.
func inWalk(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }

// sourceIgnore is the name of the files with patterns of paths that source-controller excludes.
// They have the syntax of .gitignore.
const sourceIgnore = ".sourceignore"

// defaultIgnore are the patterns built into source-controller.
const defaultIgnore = `.git/ .gitignore .gitmodules .gitattributes
*.jpg *.jpeg *.gif *.png *.wmv *.flv *.tar.gz *.zip
.github/ .circleci/ .travis.yml .gitlab-ci.yml appveyor.yml .drone.yml cloudbuild.yaml codeship-services.yml codeship-steps.yml
**/.goreleaser.yml **/.sops.yaml **/.flux.yaml`

// ignoreRules are the rules for the files of a directory in a repository, in increasing order of
// precedence: the defaults, the .sourceignore files, and spec.ignore of the source.
//
// Like the library go-git, and unlike git, Flux also applies a pattern for a directory to all paths
// below the directory. A later pattern can therefore include a file of an excluded directory, and
// users write "*" with "!/deploy".
type ignoreRules struct {
	sub  []string // the path of the directory in the repository
	list []ignoreRule
}

type ignoreRule struct {
	domain []string // the directory of the file
	steps  []string // the names in the pattern
	include, dirOnly,
	anchored bool
}

// ignoreFiles returns the .sourceignore files in the directories above t.
func (t tree) ignoreFiles(env *gitops.Env) (list []*yaml.Source) {
	files := t.files(env)
	if files == nil {
		return nil
	}
	sub := stepsOf(t.sub)
	for i := range sub {
		name := path.Join(path.Join(sub[:i]...), sourceIgnore)
		if data, err := fs.ReadFile(files, name); err == nil {
			list = append(list, &yaml.Source{File: filepath.Join(t.repo.Dir, name), Data: data})
		}
	}
	return list
}

// rules reads the rules that apply to the files of a directory.
func (e *editor) rules(dir gitops.Dir, names []string) (*ignoreRules, error) {
	r := &ignoreRules{sub: stepsOf(e.tree.sub)}
	for _, p := range strings.Fields(defaultIgnore) {
		r.add(nil, p)
	}
	if files := e.tree.files(e.f.env); files != nil {
		for i := range r.sub {
			if data, err := fs.ReadFile(files, path.Join(path.Join(r.sub[:i]...), sourceIgnore)); err == nil {
				r.read(r.sub[:i], string(data))
			}
		}
	}
	own := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return path.Base(name) != sourceIgnore })
	slices.SortFunc(own, func(a, b string) int { return inWalk(path.Dir(a), path.Dir(b)) })
	for _, name := range own {
		src, err := dir.Read(name)
		if err != nil {
			return nil, err
		}
		r.read(slices.Concat(r.sub, stepsOf(path.Dir(name))), src.Text())
	}
	r.read(nil, e.tree.ignore)
	return r, nil
}

// stepsOf returns the elements of a path. The current directory has none.
func stepsOf(p string) []string {
	if p == "." || p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

// read adds the patterns in text. domain is the directory of its file.
func (r *ignoreRules) read(domain []string, text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
			r.add(domain, line)
		}
	}
}

func (r *ignoreRules) add(domain []string, p string) {
	one := ignoreRule{domain: domain}
	p, one.include = strings.CutPrefix(p, "!")
	if !strings.HasSuffix(p, `\ `) {
		p = strings.TrimRight(p, " ")
	}
	p, one.dirOnly = strings.CutSuffix(p, "/")
	one.anchored = strings.Contains(p, "/")
	one.steps = strings.Split(p, "/")
	r.list = append(r.list, one)
}

// ignores reports whether the rules exclude a file below the directory.
func (r *ignoreRules) ignores(name string) bool {
	full := slices.Concat(r.sub, strings.Split(name, "/"))
	for _, one := range slices.Backward(r.list) {
		if n := len(one.domain); len(full) > n && slices.Equal(full[:n], one.domain) && one.matches(full[n:]) {
			return !one.include
		}
	}
	return false
}

// matches reports whether the pattern matches a file or one of its parent directories.
func (r *ignoreRule) matches(file []string) bool {
	if !r.anchored {
		for i, name := range file {
			ok, err := path.Match(r.steps[0], name)
			if err != nil {
				return false
			}
			if ok {
				return !r.dirOnly || i < len(file)-1
			}
		}
		return false
	}
	matched, anywhere := false, false
	for i, step := range r.steps {
		switch {
		case step == "":
			anywhere = false
			continue
		case step == "**" && i < len(r.steps)-1:
			anywhere = true
			continue
		case step == "**":
			continue
		case strings.Contains(step, "**") || len(file) == 0:
			return false
		}
		for {
			ok, err := path.Match(step, file[0])
			file = file[1:]
			if err != nil || !ok && !anywhere {
				return false
			}
			if ok {
				matched = true
				break
			}
			if len(file) == 0 {
				matched = false
				break
			}
		}
		anywhere = false
	}
	return matched && (!r.dirOnly || len(file) > 0)
}

// decrypt moves resources that are encrypted by sops from the kustomization file to a generator
// that decrypts them. Resources of other layers stay encrypted, and the planner warns about them.
// Flux also decrypts files of secretGenerator. krmflow does not: decrypt returns an error for such
// a file.
func (e *editor) decrypt(f *file, dir gitops.Dir) error {
	for i, g := range f.get("secretGenerator").Items() {
		for _, key := range []string{"envs", "files"} {
			for n, x := range field(g, key).Items() {
				_, name, found := strings.Cut(x.Text(), "=")
				if !found {
					name = x.Text()
				}
				if src := read(dir, name); src != nil && sealed(src) {
					src := yaml.Assemble(e.o.Source.File, f.v, f.places...)
					at := []any{f.key("secretGenerator"), i, keyIn(g, key), n}
					return diag.Errorf(src.Locate(0, at...), diag.FieldPath(at),
						"%q is encrypted by sops, and secretGenerator does not decrypt it",
						name).With(diag.Encrypted).Hint("list it in a generator of the kind SopsSecretGenerator: see docs/secrets.md")
				}
			}
		}
	}
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
		return nil
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
	return nil
}

// read returns a file in the directory or below it, or nil if it cannot be read.
func read(dir gitops.Dir, name string) *yaml.Source {
	if name = path.Clean(name); path.IsAbs(name) || strings.HasPrefix(name, "..") {
		return nil
	}
	src, err := dir.Read(name)
	if err != nil {
		return nil
	}
	return src
}

// sealed reports whether a file contains values encrypted by sops and the metadata of sops.
func sealed(src *yaml.Source) bool {
	text := src.Text()
	return strings.Contains(text, "ENC[AES256_GCM,") && strings.Contains(text, "lastmodified")
}

// encrypted reports whether sops has encrypted all objects in a file.
func encrypted(dir gitops.Dir, name string) bool {
	if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" && ext != ".json" {
		return false
	}
	src := read(dir, name)
	if src == nil || !strings.Contains(src.Text(), "lastmodified") {
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
