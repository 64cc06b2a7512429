package argocd

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
)

func TestPublic(t *testing.T) {
	for _, dir := range strings.Split(os.Getenv("PUBLIC"), ",") {
		var env gitops.Env
		bad := 0
		filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && (strings.HasSuffix(p, ".yaml") || strings.HasSuffix(p, ".yml")) {
				data, _ := os.ReadFile(p)
				src := &yaml.Source{File: p, Data: data}
				docs, err := src.Documents()
				if err != nil {
					if strings.Contains(string(data), "argoproj.io/v1alpha1") && (strings.Contains(string(data), "\nkind: Application")) {
						bad++
						fmt.Println("BAD", err)
					}
					return nil
				}
				for i, d := range docs {
					group, _, ok := strings.Cut(d.Value.Get("apiVersion").Text(), "/")
					if !ok {
						group = ""
					}
					env.Objects = append(env.Objects, &gitops.Object{Group: group, Kind: d.Value.Get("kind").Text(), Namespace: d.Value.At("metadata", "namespace").Text(), Name: d.Value.At("metadata", "name").Text(), Value: d.Value, Source: src, Doc: i, Tree: dir})
				}
			}
			return nil
		})
		env.Repo = func(at yaml.Place, url, rev string) (gitops.Repo, error) {
			if own := os.Getenv("OWN"); own != "" && strings.Contains(strings.ToLower(url), strings.ToLower(own)) {
				return gitops.Repo{Dir: dir}, nil
			}
			return gitops.Repo{Ref: func(p string) string { return url + "//" + p + "?ref=" + rev }}, nil
		}
		env.Open = func(r gitops.Repo) (fs.FS, error) { return os.DirFS(r.Dir), nil }
		warns := 0
		env.Warn = func(e *diag.Error) { warns++; fmt.Println("WARN", e) }
		if c := os.Getenv("CLUSTERS"); c != "" {
			data, _ := os.ReadFile(c)
			env.Clusters = &yaml.Source{File: c, Data: data}
		}
		apps, sets := 0, 0
		for _, o := range env.Objects {
			if o.Group == group && o.Kind == "Application" {
				apps++
			}
			if o.Group == group && o.Kind == "ApplicationSet" {
				sets++
			}
		}
		roots := Roots(&env)
		ok, errs := 0, map[string]int{}
		gen := 0
		for _, r := range roots {
			if len(r.Errs) == 0 {
				ok++
			}
			if r.Object.Source.Data == nil {
				gen++
			}
			for _, e := range r.Errs {
				errs[e.Error()]++
				_ = diag.AsError(e).Pos
			}
			for _, p := range r.Parts {
				_ = p.At.Pos()
				if p.Chart && p.Dir == "" {
					src, err := p.Edit(nil, nil)
					if err != nil {
						fmt.Println("EDIT", err)
						continue
					}
					src.Value()
				}
			}
		}
		fmt.Printf("%s: %d bad files, %d Applications, %d ApplicationSets, %d generated, %d roots, %d without error, %d warnings\n", dir, bad, apps, sets, gen, len(roots), ok, warns)
		var list []string
		for e, n := range errs {
			list = append(list, fmt.Sprintf("%4d %s", n, e))
		}
		sort.Strings(list)
		fmt.Println(strings.Join(list, "\n"))
	}
}
