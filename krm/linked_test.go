package krm

import "testing"

func linkedResource() (*Resource, Value) {
	l := Linked("a")
	r := NewResource(MapOf(
		Field{"kind", Str("X")},
		Field{"metadata", MapOf(Field{"labels", MapOf(Field{"app", l}, Field{"own", Str("a")})})},
		Field{"spec", MapOf(Field{"claims", SeqOf(
			MapOf(Field{"name", Str("one")}, Field{"app", l}),
			MapOf(Field{"name", Str("two")}, Field{"app", l}),
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
		r.SetValue(r.Value().WithAt(Str(want), "metadata", "labels", "app"))
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
	r.SetValue(r.Value().WithAt(SeqOf(
		MapOf(Field{"name", Str("new")}, Field{"app", Str("n")}), claims[1], claims[0],
	), "spec", "claims"))
	if got := apps(r); got != [3]string{"a", "n", "a"} {
		t.Errorf("an added item changed its neighbours: %q", got)
	}
	r.SetValue(r.Value().WithAt(SeqOf(claims[1].With("app", Str("b")), claims[0]), "spec", "claims"))
	if got := apps(r); got != [3]string{"b", "b", "b"} {
		t.Errorf("changing a moved item: %q", got)
	}
	if !l.IsLinked() || !r.Labels().Get("app").IsLinked() {
		t.Error("the link is lost")
	}
}

func TestUnlinkAndRemoval(t *testing.T) {
	r, _ := linkedResource()
	r.SetValue(r.Value().WithAt(MapOf(), "metadata", "labels"))
	if got := apps(r); got != [3]string{"", "a", "a"} {
		t.Errorf("removing one: %q", got)
	}
	r.Unlink()
	claims := r.Value().At("spec", "claims")
	r.SetValue(r.Value().WithAt(claims.WithItem(0, claims.Items()[0].With("app", Str("b"))), "spec", "claims"))
	if got := apps(r); got != [3]string{"", "b", "a"} {
		t.Errorf("after Unlink: %q", got)
	}
	for _, text := range []string{"", "x"} {
		if one, two := Linked(text), Linked(text); one == two {
			t.Errorf("two calls of Linked(%q) returned one node", text)
		}
	}
}

func TestCopyOfLinkedIsOrdinary(t *testing.T) {
	r, l := linkedResource()
	r.SetValue(r.Value().With("copy", l).With("tree", MapOf(Field{"copy", l})))
	r.SetValue(r.Value().WithAt(Str("b"), "metadata", "labels", "app"))
	if got := r.Value().Get("copy").Text() + r.Value().At("tree", "copy").Text(); got != "aa" {
		t.Errorf("copies became %q", got)
	}
	if got := apps(r); got != [3]string{"b", "b", "b"} {
		t.Errorf("links: %q", got)
	}
}

func TestLinksAddedBesideAChange(t *testing.T) {
	r, _ := linkedResource()
	l := Linked("new")
	v := r.Value().WithAt(Str("b"), "metadata", "labels", "app").WithAt(l, "metadata", "labels", "env").WithAt(l, "spec", "env")
	r.SetLinkedValue(v)
	r.SetValue(r.Value().WithAt(Str("newer"), "spec", "env"))
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
	v := r.Value().WithAt(Str("b"), "metadata", "labels", "app")
	r.SetValue(v.WithAt(SeqOf(claims[0].With("app", Str("b")), claims[1].With("app", Str("last"))), "spec", "claims"))
	if got := apps(r); got != [3]string{"last", "last", "last"} {
		t.Errorf("contradicting changes: %q", got)
	}
	r.SetValue(r.Value().WithAt(Str("c"), "metadata", "labels", "app"))
	if got := apps(r); got != [3]string{"c", "c", "c"} {
		t.Errorf("the next change: %q", got)
	}
}
