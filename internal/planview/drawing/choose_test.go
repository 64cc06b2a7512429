package drawing

import (
	"strings"
	"testing"

	"github.com/krmflow/krmflow/planner"
)

// shop plans the overlays of a shop.
func shop(t *testing.T) *planner.Plan {
	return compile(t, testdata+"/kustomize/shop", "overlays/dev", "overlays/prod", "overlays/staging")
}

func TestChooseSelectsConnectedBoxes(t *testing.T) {
	names := func(o Options) string {
		var all []string
		for _, b := range draw(t, shop(t), o).boxes {
			all = append(all, strings.Join(b.title, ""))
		}
		return strings.Join(all, " ")
	}
	bases := "base/cart base/catalog base/checkout base/frontend base/payment base/redis base"
	for _, c := range []struct {
		what string
		o    Options
		want string
	}{
		{"--root", Options{Roots: []string{"overlays/dev/"}}, bases + " overlays/dev"},
		{"--root twice", Options{Roots: []string{"overlays/dev", "overlays/staging"}},
			bases + " components/ingress components/monitoring overlays/dev overlays/staging"},
		{"--to a directory", Options{To: "base"}, bases},
		{"--to a file", Options{To: "./base/cart/kustomization.yaml"}, "base/cart"},
		{"--to a node", Options{To: "overlays/dev/kustomization.yaml#namespace"}, bases + " overlays/dev"},
		{"--from a file", Options{From: "base/cart/service.yaml"}, "base/cart base overlays/dev overlays/prod overlays/staging"},
		{"--from a layer", Options{From: "components/high-availability"}, "components/high-availability overlays/prod"},
		{"--from and --to", Options{From: "base/cart/service.yaml", To: "overlays/dev"}, "base/cart base overlays/dev"},
		{"steps --to", Options{Steps: true, To: "base/cart"}, "base/cart"},
		{"steps --from", Options{Steps: true, From: "components/high-availability/budgets.yaml"},
			"components/high-availability overlays/prod"},
	} {
		if got := names(c.o); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.what, got, c.want)
		}
	}
}

// A layer without steps is replaced by the layers that it uses, or that use it.
func TestChooseLayerWithoutSteps(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "base/kustomization.yaml", "resources: [a.yaml]\n")
	write(t, dir, "base/a.yaml", "{apiVersion: v1, kind: Service, metadata: {name: web}}\n")
	write(t, dir, "alias/kustomization.yaml", "resources: [../base]\n")
	write(t, dir, "labels/kustomization.yaml", "resources: [label.yaml]\n")
	write(t, dir, "labels/label.yaml",
		"{apiVersion: builtin, kind: LabelTransformer, metadata: {name: team}, labels: {team: a}, fieldSpecs: [{path: metadata/labels, create: true}]}\n")
	write(t, dir, "prod/kustomization.yaml", "resources: [../alias]\ntransformers: [../labels]\nnamePrefix: a\n")
	plan := compile(t, dir, "prod")
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Steps: true, To: "alias"}, "base"},
		{Options{Steps: true, From: "labels/label.yaml"}, "prod"},
		{Options{From: "labels/label.yaml"}, "labels prod"},
	} {
		var all []string
		for _, b := range draw(t, plan, c.o).boxes {
			all = append(all, strings.Join(b.title, ""))
		}
		if got := strings.Join(all, " "); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.o, got, c.want)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Roots: []string{"overlays/prd"}}, "--root overlays/prd: is not a root of the plan\n  did you mean \"overlays/prod\"?"},
		{Options{Roots: []string{"base"}},
			"--root base: is not a root of the plan\n  there are: overlays/dev, overlays/prod, overlays/staging"},
		{Options{To: "bas"}, "--to bas: is not a layer or node of the plan\n  did you mean \"base\"?"},
		{Options{To: "ingress"}, "--to ingress: is not a layer or node of the plan\n  there are: components/ingress"},
		{Options{From: "base/cart/servce.yaml"},
			"--from base/cart/servce.yaml: is not read by any layer of the plan\n  did you mean \"base/cart/service.yaml\"?"},
	} {
		if _, err := New(shop(t), c.o); err == nil || err.Error() != c.want {
			t.Errorf("%+v:\n%v\nwant\n%s", c.o, err, c.want)
		}
	}
}
