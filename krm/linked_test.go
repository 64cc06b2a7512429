package krm

import (
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

func linkedResource() (*Resource, yaml.Value) {
	l := yaml.Linked("a")
	r := NewResource(yaml.MapOf(
		yaml.Field{Key: "kind", Value: yaml.Str("X")},
		yaml.Field{Key: "metadata", Value: yaml.MapOf(yaml.Field{Key: "labels",
			Value: yaml.MapOf(yaml.Field{Key: "app", Value: l}, yaml.Field{Key: "own", Value: yaml.Str("a")})})},
		yaml.Field{Key: "spec", Value: yaml.MapOf(yaml.Field{Key: "claims", Value: yaml.SeqOf(
			yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str("one")}, yaml.Field{Key: "app", Value: l}),
			yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str("two")}, yaml.Field{Key: "app", Value: l}),
		)})},
	), nil)
	r.SetLinkedValue(r.Value())
	return r, l
}

func apps(r *Resource) [3]string {
	claims := r.Value().At("spec", "claims").Items()
	return [3]string{r.Labels().Get("app").Text(), claims[0].Get("app").Text(), claims[1].Get("app").Text()}
}

func TestLinkedChangesEverywhere(t *testing.T) {
	r, _ := linkedResource()
	before := r.Copy()
	for _, want := range []string{"b", "", "c"} { // the link survives a change
		r.SetValue(r.Value().WithAt(yaml.Str(want), "metadata", "labels", "app"))
		if got := apps(r); got != [3]string{want, want, want} {
			t.Errorf("after setting %q: %q", want, got)
		}
	}
	if got := r.Labels().Get("own").Text(); got != "a" {
		t.Errorf("an ordinary string of the same text became %q", got)
	}
	if got := apps(before); got != [3]string{"a", "a", "a"} {
		t.Errorf("the copy changed: %q", got)
	}
}

func TestLinkedFollowsMovedItems(t *testing.T) {
	r, l := linkedResource()
	claims := r.Value().At("spec", "claims").Items()
	r.SetValue(r.Value().WithAt(yaml.SeqOf(
		yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str("new")}, yaml.Field{Key: "app", Value: yaml.Str("n")}), claims[1], claims[0],
	), "spec", "claims"))
	if got := apps(r); got != [3]string{"a", "n", "a"} {
		t.Errorf("an added item changed its neighbours: %q", got)
	}
	r.SetValue(r.Value().WithAt(yaml.SeqOf(claims[1].With("app", yaml.Str("b")), claims[0]), "spec", "claims"))
	if got := apps(r); got != [3]string{"b", "b", "b"} {
		t.Errorf("changing a moved item: %q", got)
	}
	if !l.IsLinked() || !r.Labels().Get("app").IsLinked() {
		t.Error("the link is lost")
	}
}

func TestUnlinkAndRemoval(t *testing.T) {
	r, _ := linkedResource()
	r.SetValue(r.Value().WithAt(yaml.MapOf(), "metadata", "labels"))
	if got := apps(r); got != [3]string{"", "a", "a"} {
		t.Errorf("removing one: %q", got)
	}
	r.Unlink()
	claims := r.Value().At("spec", "claims")
	r.SetValue(r.Value().WithAt(claims.WithItem(0, claims.Items()[0].With("app", yaml.Str("b"))), "spec", "claims"))
	if got := apps(r); got != [3]string{"", "b", "a"} {
		t.Errorf("after Unlink: %q", got)
	}
	for _, text := range []string{"", "x"} {
		if one, two := yaml.Linked(text), yaml.Linked(text); one == two {
			t.Errorf("two calls of Linked(%q) returned one node", text)
		}
	}
}

func TestCopyOfLinkedIsOrdinary(t *testing.T) {
	r, l := linkedResource()
	r.SetValue(r.Value().With("copy", l).With("tree", yaml.MapOf(yaml.Field{Key: "copy", Value: l})))
	r.SetValue(r.Value().WithAt(yaml.Str("b"), "metadata", "labels", "app"))
	if got := r.Value().Get("copy").Text() + r.Value().At("tree", "copy").Text(); got != "aa" {
		t.Errorf("copies became %q", got)
	}
	if got := apps(r); got != [3]string{"b", "b", "b"} {
		t.Errorf("links: %q", got)
	}
}

func TestLinksAddedBesideAChange(t *testing.T) {
	r, _ := linkedResource()
	l := yaml.Linked("new")
	v := r.Value().WithAt(yaml.Str("b"), "metadata", "labels", "app").WithAt(l, "metadata", "labels", "env").WithAt(l, "spec", "env")
	r.SetLinkedValue(v)
	r.SetValue(r.Value().WithAt(yaml.Str("newer"), "spec", "env"))
	if got := r.Labels().Get("env").Text(); got != "newer" {
		t.Errorf("the link that was added is lost: %q", got)
	}
	if got := apps(r); got != [3]string{"b", "b", "b"} {
		t.Errorf("the link that was there: %q", got)
	}
}

func TestLinkSurvivesAChangeInSeveralPlaces(t *testing.T) {
	r, _ := linkedResource()
	claims := r.Value().At("spec", "claims").Items()
	v := r.Value().WithAt(yaml.Str("b"), "metadata", "labels", "app")
	r.SetValue(v.WithAt(yaml.SeqOf(claims[0].With("app", yaml.Str("b")), claims[1].With("app", yaml.Str("last"))), "spec", "claims"))
	if got := apps(r); got != [3]string{"last", "last", "last"} {
		t.Errorf("contradicting changes: %q", got)
	}
	r.SetValue(r.Value().WithAt(yaml.Str("c"), "metadata", "labels", "app"))
	if got := apps(r); got != [3]string{"c", "c", "c"} {
		t.Errorf("the next change: %q", got)
	}
}
