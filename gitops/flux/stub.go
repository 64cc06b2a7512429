package flux

import (
	"path"

	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

func Roots(env *gitops.Env) (all []*gitops.Root) {
	for _, o := range env.Wanted {
		if o.Kind != "Kustomization" || o.Group != "kustomize.toolkit.fluxcd.io" {
			continue
		}
		at := o.Place("spec", "path")
		repo, err := env.Repo(at, "https://x/y", "")
		r := &gitops.Root{Object: o}
		if err != nil {
			r.Errs = append(r.Errs, err)
		}
		r.Parts = []gitops.Part{{Dir: path.Join(repo.Dir, o.Value.At("spec", "path").Text()), At: at, Unrestricted: true,
			Edit: func(dir gitops.Dir, old *yaml.Source) (*yaml.Source, error) {
				var v yaml.Value
				if old != nil {
					v, _ = old.Value()
				} else {
					files, err := dir.Files()
					if err != nil {
						return nil, err
					}
					var items []yaml.Value
					for _, f := range files {
						items = append(items, yaml.Str(f))
					}
					v = yaml.MapOf(yaml.Field{Key: "resources", Value: yaml.SeqOf(items...)})
				}
				if p := o.Value.At("spec", "patches"); p.Exists() {
					v = v.With("patches", p)
				}
				if old == nil {
					old = o.Source
				}
				return yaml.Assemble("x", v, yaml.Place{Source: old}, yaml.Place{Path: []any{"patches"}, Source: o.Source, Doc: o.Doc, At: []any{"spec", "patches"}}), nil
			}}}
		all = append(all, r)
	}
	return all
}
