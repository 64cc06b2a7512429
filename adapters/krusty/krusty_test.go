package krusty_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/adapters/krusty"
	"github.com/krmflow/krmflow/planner"
	kustomize "sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// inMemory copies a directory to a file system in memory, below /in.
func inMemory(t testing.TB, dir string) filesys.FileSystem {
	files := filesys.MakeFsInMemory()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = files.WriteFile("/in/"+name, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestSameAsKustomize checks that Run returns the same resources, with the same ids, as kustomize's
// library for the same options, file system and path. The order option changes from root to root.
// kustomize's global schema state is reset before each root.
func TestSameAsKustomize(t *testing.T) {
	memories := map[string]filesys.FileSystem{}
	orders := []krusty.ReorderOption{krusty.ReorderOptionLegacy, krusty.ReorderOptionNone, krusty.ReorderOptionUnspecified, ""}
	for i, r := range golden(t) {
		files := memories[r.base]
		if files == nil {
			files = inMemory(t, r.base)
			memories[r.base] = files
		}
		o := krusty.MakeDefaultOptions()
		o.Reorder = orders[i%len(orders)]
		openapi.ResetOpenAPI()
		want, wantErr := kustomize.MakeKustomizer(o).Run(files, "/in/"+r.dir)
		got, err := krusty.MakeKustomizer(o).Run(files, "in/"+r.dir)
		if err != nil || wantErr != nil {
			t.Errorf("%s in memory: %v, kustomize: %v", r.dir, err, wantErr)
			continue
		}
		for _, r := range want.Resources() {
			labels := r.GetLabels()
			if labels[managedBy] == "" {
				continue
			}
			labels[managedBy] = "kustomize-" + planner.KustomizeVersion // a library does not know its own release
			if err := r.SetLabels(labels); err != nil {
				t.Error(err)
			}
		}
		if err := got.ErrorIfNotEqualLists(want); err != nil {
			t.Errorf("%s in memory, order %q: %v", r.dir, o.Reorder, err)
		}
		if !slices.Equal(want.AllIds(), got.AllIds()) {
			t.Errorf("%s in memory: the ids are %v, want %v", r.dir, got.AllIds(), want.AllIds())
		}
	}
}

// write writes files to a file system.
func write(t testing.TB, fSys filesys.FileSystem, files map[string]string) filesys.FileSystem {
	for name, text := range files {
		if err := errors.Join(fSys.MkdirAll(filepath.Dir(name)), fSys.WriteFile(name, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	return fSys
}

const managedBy = "app.kubernetes.io/managed-by"

const account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: web\n"

// TestResultCanBeModified checks that the ResMap returned by Run can be changed like any other.
func TestResultCanBeModified(t *testing.T) {
	files := write(t, filesys.MakeFsInMemory(), map[string]string{
		"/k/kustomization.yaml": "resources: [a.yaml, b.yaml]\n", "/k/a.yaml": account,
		"/k/b.yaml": strings.Replace(account, "web", "other", 1),
	})
	m, err := krusty.MakeKustomizer(nil).Run(files, "/k")
	if err != nil {
		t.Fatal(err)
	}
	first, second := m.Resources()[0], m.Resources()[1]
	first.SetName("changed")
	want := strings.Replace(account, "web", "changed", 1) + "---\n" + strings.Replace(account, "web", "other", 1)
	if yaml, err := m.AsYaml(); err != nil || string(yaml) != want {
		t.Errorf("%v\n%s", err, yaml)
	}
	if err := m.Remove(second.CurId()); err != nil {
		t.Error(err)
	}
	if err := m.Append(second.DeepCopy()); err != nil {
		t.Error(err)
	}
	if yaml, err := m.AsYaml(); err != nil || string(yaml) != want {
		t.Errorf("%v\n%s", err, yaml)
	}
}

// TestUnsupportedOptionsAreErrors checks that each option that krmflow does not support is an
// error, and that the other options have kustomize's meaning.
func TestUnsupportedOptionsAreErrors(t *testing.T) {
	files := write(t, filesys.MakeFsInMemory(), map[string]string{
		"/k/kustomization.yaml": "resources: [../account.yaml]\n", "/account.yaml": account,
	})
	for _, c := range []struct {
		change func(*krusty.Options)
		err    string
	}{
		{func(o *krusty.Options) {}, `/k/kustomization.yaml:1: resources[0]: "../account.yaml" is outside the directory "/k"`},
		{func(o *krusty.Options) { o.LoadRestrictions = types.LoadRestrictionsNone }, ""},
		{func(o *krusty.Options) { o.LoadRestrictions, o.PluginConfig = types.LoadRestrictionsUnknown, nil }, ""},
		{func(o *krusty.Options) { o.PluginConfig.HelmConfig.Enabled = true },
			"PluginConfig.HelmConfig.Enabled: no program is started unless"},
		{func(o *krusty.Options) { o.PluginConfig.PluginRestrictions = types.PluginRestrictionsNone },
			"PluginConfig.PluginRestrictions: PluginRestrictionsNone is not supported"},
		{func(o *krusty.Options) { o.PluginConfig.BpLoadingOptions = types.BploLoadFromFileSys },
			"PluginConfig.BpLoadingOptions: BploLoadFromFileSys is not supported"},
	} {
		o := krusty.MakeDefaultOptions()
		c.change(o)
		m, err := krusty.MakeKustomizer(o).Run(files, "/k")
		if c.err == "" && (err != nil || m.Size() != 1) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%v, want %q", err, c.err)
		}
	}
	o := krusty.MakeDefaultOptions()
	o.LoadRestrictions, o.AddManagedbyLabel = types.LoadRestrictionsNone, true
	m, err := krusty.MakeKustomizer(o).Run(files, "k")
	if err != nil || m.Resources()[0].GetLabels()[managedBy] != "kustomize-"+planner.KustomizeVersion {
		t.Errorf("%v, %v", m, err)
	}
}

// TestRunWarnsAndStopsWhenCancelled checks that a run reports its warnings, ends with its context
// and fetches nothing without Sources. A path that is not a directory is an error.
func TestRunWarnsAndStopsWhenCancelled(t *testing.T) {
	files := write(t, filesys.MakeFsInMemory(), map[string]string{
		"/k/kustomization.yaml": "resources: [account.yaml]\nimages: [{name: web, newTag: v2}]\n", "/k/account.yaml": account,
		"/remote/kustomization.yaml": "resources: ['https://example.invalid/a.yaml']\n",
		"/wrong/kustomization.yaml":  "resources: [acount.yaml]\n", "/wrong/account.yaml": "",
	})
	k := krusty.MakeKustomizer(nil)
	k.Sources = nil
	var warnings []string
	k.Warn = func(w planner.Warning) { warnings = append(warnings, w.String()) }
	if _, err := k.Run(files, "/k"); err != nil || len(warnings) != 1 ||
		!strings.HasPrefix(warnings[0], "/k/kustomization.yaml:2: images[0]: ") {
		t.Errorf("%q, %v", warnings, err)
	}
	for path, want := range map[string]string{
		"/remote": "is remote, and nothing is fetched here", "/wrong": `did you mean "account.yaml"?`, "/none": `"/none" does not exist`,
		"":                "must not be empty",
		"/k/account.yaml": "is not a directory",
	} {
		if _, err := k.Run(files, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := k.RunContext(ctx, files, "/k"); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}

// TestSymlinksAreFollowed checks that links are followed in any file system on disk, and that the
// target of a link must be inside the root.
func TestSymlinksAreFollowed(t *testing.T) {
	dir := t.TempDir()
	write(t, filesys.MakeFsOnDisk(), map[string]string{
		dir + "/base/kustomization.yaml": "resources: [deep/link.yaml]\n", dir + "/base/deep/account.yaml": account,
		dir + "/outside.yaml":           account,
		dir + "/bad/kustomization.yaml": "resources: [link.yaml]\n",
	})
	for link, target := range map[string]string{"base/deep/link.yaml": "account.yaml", "other": "base",
		"bad/link.yaml": "../outside.yaml"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, fSys := range []filesys.FileSystem{
		filesys.MakeFsOnDisk(), filesys.FileSystemOrOnDisk{}, &filesys.FileSystemOrOnDisk{}, onDisk{filesys.MakeFsOnDisk()},
	} {
		k := krusty.MakeKustomizer(nil)
		if m, err := k.Run(fSys, dir+"/other"); err != nil || m.Size() != 1 {
			t.Errorf("%T: %v", fSys, err)
		}
		if _, err := k.Run(fSys, dir+"/bad"); err == nil || !strings.Contains(err.Error(), `"link.yaml" is a symbolic link to`) {
			t.Errorf("%T: %v, want that a link leads out of the directory", fSys, err)
		}
	}
}

// confined is a file system that hides everything outside one directory.
type confined struct {
	filesys.FileSystem
	dir string
}

func (c confined) has(path string) bool { return path == c.dir || strings.HasPrefix(path, c.dir+"/") }

func (c confined) IsDir(path string) bool  { return c.has(path) && c.FileSystem.IsDir(path) }
func (c confined) Exists(path string) bool { return c.has(path) && c.FileSystem.Exists(path) }

func (c confined) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	dir, file, err := c.FileSystem.CleanedAbs(path)
	if err == nil && !c.has(dir.String()) {
		err = fs.ErrPermission
	}
	return dir, file, err
}

func (c confined) ReadFile(path string) ([]byte, error) {
	if !c.has(path) {
		return nil, fs.ErrPermission
	}
	return c.FileSystem.ReadFile(path)
}

// TestFilesOutsideFileSystemAreMissing checks that hidden files do not exist for a run, and that
// the parents of the visible directory may be hidden.
func TestFilesOutsideFileSystemAreMissing(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filesys.MakeFsOnDisk(), map[string]string{
		dir + "/in/base/kustomization.yaml":    "resources: [account.yaml]\n",
		dir + "/in/base/account.yaml":          account,
		dir + "/in/good/kustomization.yaml":    "resources: [../base]\n",
		dir + "/in/bad/kustomization.yaml":     "resources: [../../out]\n",
		dir + "/out/kustomization.yaml":        "namePrefix: x-\n",
		dir + "/in/linked/kustomization.yaml":  "resources: [link]\n",
		dir + "/in/nowhere/kustomization.yaml": "resources: [acount.yaml]\n",
		dir + "/in/nowhere/account.yaml":       account,
	})
	if err := os.Symlink("../../out", dir+"/in/linked/link"); err != nil {
		t.Fatal(err)
	}
	k := krusty.MakeKustomizer(nil)
	files := confined{filesys.MakeFsOnDisk(), dir + "/in"}
	if m, err := k.Run(files, dir+"/in/good"); err != nil || m.Size() != 1 {
		t.Error(err)
	}
	for root, want := range map[string]string{
		"in/bad":    `"../../out" is outside the directory "` + dir + `/in/bad"`,
		"in/linked": `"link"`, "in/nowhere": `did you mean "account.yaml"?`, "out": "does not exist",
	} {
		if _, err := k.Run(files, filepath.Join(dir, root)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", root, err, want)
		}
	}
}

// TestSchemasAtTheSameTime checks that two roots with different schemas for one kind do not affect
// each other. The expected output is from separate runs of kustomize.
func TestSchemasAtTheSameTime(t *testing.T) {
	base, err := filepath.Abs("../../testdata/kustomize/schemas")
	if err != nil {
		t.Fatal(err)
	}
	k := krusty.MakeKustomizer(nil)
	memory := inMemory(t, base)
	var all sync.WaitGroup
	for i := range 16 {
		root := []string{"byname", "byid"}[i%2]
		run := func() (resmap.ResMap, error) { return k.Run(filesys.MakeFsOnDisk(), filepath.Join(base, root)) }
		if i%4 > 1 {
			run = func() (resmap.ResMap, error) { return k.Run(memory, "/in/"+root) }
		}
		want, err := os.ReadFile(filepath.Join(base, "golden", root+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range 10 {
				m, err := run()
				if err != nil {
					t.Errorf("%s: %v", root, err)
					return
				}
				if yaml, err := m.AsYaml(); err != nil || string(yaml) != string(want) {
					t.Errorf("%s: %v\n%s", root, err, yaml)
				}
			}
		})
	}
	all.Wait()
}
