package builtins

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/rogpeppe/go-internal/txtar"
)

// configured returns the transformer of a configuration document.
func configured(t testing.TB, config []byte) (Transformer, error) {
	t.Helper()
	v := parsed(t, config).At(0).Value()
	b := New(v.Get("kind").Text())
	if b == nil {
		t.Fatalf("unknown kind %q", v.Get("kind").Text())
	}
	if errs := (yaml.Decoding{AllowUnknown: true, ScalarsAsText: true}).Decode(v, b); len(errs) > 0 {
		t.Fatal(errs[0])
	}
	return b.(Transformer), b.Configure(Env{Folder: "folder"})
}

func parsed(t testing.TB, text []byte) *krm.List {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{File: "in.yaml", Data: text}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return krm.NewList(rs...)
}

// TestTransformersMatchKustomize runs the cases in testdata/transform: config.yaml and in.yaml with
// kustomize's output, or the section error if kustomize fails.
func TestTransformersMatchKustomize(t *testing.T) {
	files, err := filepath.Glob("testdata/transform/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string][]byte{}
			for _, f := range txtar.Parse(data).Files {
				parts[f.Name] = f.Data
			}
			list := parsed(t, parts["in.yaml"])
			tr, err := configured(t, parts["config.yaml"])
			if err == nil {
				err = tr.Transform(list, func(diag.Code, string, ...any) {})
			}
			if _, fails := parts["error"]; fails != (err != nil) {
				t.Fatalf("error %v, but kustomize fails: %v", err, fails)
			}
			if err != nil {
				if want := strings.TrimSpace(string(parts["error"])); !says(err, want) {
					t.Errorf("error %q, want %q", err, want)
				}
				return
			}
			if diff := cmp.Diff(string(parts["out.yaml"]), string(list.AppendYAML(nil))); diff != "" {
				t.Errorf("differs from kustomize (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSharedResourcesStay checks that no transformer of a clone changes the resources of the
// original list.
func TestSharedResourcesStay(t *testing.T) {
	files, _ := filepath.Glob("testdata/transform/*.txtar")
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := parsed(t, ar.Files[1].Data)
		before := string(base.AppendYAML(nil))
		tr, err := configured(t, ar.Files[0].Data)
		if err != nil {
			continue
		}
		_ = tr.Transform(base.Clone(), func(diag.Code, string, ...any) {})
		again := base.Clone()
		_ = tr.Transform(again, func(diag.Code, string, ...any) {})
		if after := string(base.AppendYAML(nil)); before != after {
			t.Errorf("%s changed shared resources:\n%s", file, cmp.Diff(before, after))
		}
		for i, r := range base.All() {
			if len(r.Prev)+len(r.Prefixes)+len(r.Suffixes) > 0 {
				t.Errorf("%s changed the state of resource %d", file, i)
			}
		}
	}
}

func TestUnmatchedImagesAndReplicasWarn(t *testing.T) {
	const in = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {containers: [{image: 'reg:5/nginx:1'}, {image: redis}]}\n"
	for config, want := range map[string]string{
		"kind: ImageTagTransformer\nmetadata: {name: x}\nimageTag: {name: redis, newTag: x}\n":    "",
		"kind: ImageTagTransformer\nmetadata: {name: x}\nimageTag: {name: redis, newName: redis}": "",
		"kind: ImageTagTransformer\nmetadata: {name: x}\nimageTag: {name: redit, newTag: x}\n":    `no image named "redit"`,
		"kind: ImageTagTransformer\nmetadata: {name: x}\nimageTag: {name: reg:5/ngimx}\n":         `no image named "reg:5/ngimx"`,
		"kind: ImageTagTransformer\nmetadata: {name: x}\nimageTag: {name: faraway}\n":             `no image named "faraway"`,
		"kind: ReplicaCountTransformer\nmetadata: {name: x}\nreplica: {name: web, count: 1}\nfieldSpecs: [{path: spec/none/x}]": `` +
			`replicas of "web": the resource has no such field`,
		"kind: ReplicaCountTransformer\nmetadata: {name: x}\nreplica: {name: web, count: 1}\nfieldSpecs: [{path: spec/n, create: true}]": "",
	} {
		tr, err := configured(t, []byte("apiVersion: builtin\n"+config))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		warn := told(&got)
		if err := tr.Transform(parsed(t, []byte(in)), warn); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s\nwarns %q, want %q", config, got, want)
		}
	}
}

func TestIdentitiesAreRemembered(t *testing.T) {
	list := parsed(t,
		[]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n"))
	for _, config := range []string{
		"kind: NamespaceTransformer\nmetadata: {name: x, namespace: ns}\nfieldSpecs: [{path: metadata/name, kind: Namespace}]",
		"kind: PrefixTransformer\nmetadata: {name: x}\nprefix: p-\nfieldSpecs: [{path: metadata/name}]",
		"kind: SuffixTransformer\nmetadata: {name: x}\nsuffix: -s\nfieldSpecs: [{path: metadata/name}]",
		"kind: PrefixTransformer\nmetadata: {name: x}\nprefix: 'q,r'\nfieldSpecs: [{path: metadata/name}]",
		"kind: LabelTransformer\nmetadata: {name: x}\nlabels: {a: b}\nfieldSpecs: [{path: metadata/labels, create: true}]",
	} {
		tr, err := configured(t, []byte("apiVersion: builtin\n"+config))
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Transform(list, func(diag.Code, string, ...any) {}); err != nil {
			t.Fatal(err)
		}
	}
	names := func(r *krm.Resource) (ids []string) {
		for _, id := range r.Prev {
			ids = append(ids, id.Namespace+"/"+id.Name)
		}
		return append(ids, r.ID().Namespace+"/"+r.ID().Name)
	}
	secret, namespace := list.At(0), list.At(1)
	if want := []string{"default/a", "ns/a", "ns/p-a", "ns/p-a-s", "ns/q,rp-a-s"}; !slices.Equal(names(secret), want) {
		t.Errorf("secret was %q, want %q", names(secret), want)
	}
	if want := []string{"p-", "q", "r"}; !slices.Equal(secret.Prefixes, want) || !slices.Equal(secret.Suffixes, []string{"-s"}) {
		t.Errorf("prefixes %q, suffixes %q", secret.Prefixes, secret.Suffixes)
	}
	if want := []string{krm.ClusterScope + "/n", "/ns"}; !slices.Equal(names(namespace), want) || len(namespace.Prefixes) > 0 {
		t.Errorf("namespace was %q, want %q", names(namespace), want)
	}
}

func TestKindsHaveImplementations(t *testing.T) {
	if !slices.IsSorted(Kinds()) {
		t.Errorf("not sorted: %q", Kinds())
	}
	for _, kind := range Kinds() {
		b := New(kind)
		_, transforms := b.(Transformer)
		_, generates := b.(Generator)
		if transforms == generates || transforms != strings.HasSuffix(kind, "Transformer") {
			t.Errorf("%s: transforms %v, generates %v", kind, transforms, generates)
		}
	}
	if New("") != nil || New("SortOrderTransformer") != nil {
		t.Error("unknown kinds have a built-in")
	}
}
