package builtins

import (
	"fmt"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

func mustFields(pairs ...string) yaml.Value {
	v := yaml.MapOf()
	for i := 0; i < len(pairs); i += 2 {
		v = v.With(pairs[i], yaml.Str(pairs[i+1]))
	}
	return v
}

func object(apiVersion, kind, ns, name string) *krm.Resource {
	meta := mustFields("name", name)
	if ns != "" {
		meta = meta.With("namespace", yaml.Str(ns))
	}
	return krm.NewResource(mustFields("apiVersion", apiVersion, "kind", kind).With("metadata", meta), nil)
}

func TestSelectorMatch(t *testing.T) {
	renamed := object("apps/v1", "Deployment", "", "web")
	renamed.PushID()
	renamed.SetName("prod-web")
	renamed.SetValue(renamed.Value().WithAt(yaml.Str("prod"), "metadata", "namespace"))
	labelled := object("v1", "ConfigMap", "n1", "cfg")
	v := labelled.Value()
	labelled.SetValue(v.With("metadata", v.Get("metadata").With("labels", mustFields("app", "x", "tier", "db"))))

	for _, tc := range []struct {
		r    *krm.Resource
		sel  Selector
		want bool
	}{
		{renamed, Selector{}, true},
		{renamed, Selector{Name: "web"}, true},
		{renamed, Selector{Name: "prod-web"}, true},
		{renamed, Selector{Name: "we"}, false},
		{renamed, Selector{Name: "prod|web"}, true},
		{renamed, Selector{Name: "prod"}, false},
		{renamed, Selector{Name: ".*web"}, true},
		{renamed, Selector{Namespace: "default"}, true},
		{renamed, Selector{Namespace: "prod"}, true},
		{renamed, Selector{Namespace: "dev"}, false},
		{renamed, Selector{Group: "apps", Version: "v1", Kind: "Deployment"}, true},
		{renamed, Selector{Group: "extensions"}, false},
		{renamed, Selector{Version: "v1beta1"}, false},
		{renamed, Selector{Kind: "Stateful.*|Deploy.*"}, true},
		{renamed, Selector{LabelSelector: "app=x"}, false},
		{labelled, Selector{LabelSelector: "app=x"}, true},
		{labelled, Selector{LabelSelector: "app=x,tier!=db"}, false},
		{labelled, Selector{AnnotationSelector: "app"}, false},
		{labelled, Selector{AnnotationSelector: "!app"}, true},
		{labelled, Selector{Kind: "Secret", LabelSelector: "((("}, false},
	} {
		if err := tc.sel.Compile(); err != nil {
			t.Fatalf("%s: %v", &tc.sel, err)
		}
		got, err := tc.sel.Match(tc.r)
		if err != nil || got != tc.want {
			t.Errorf("%s matches %s: got %v, %v, want %v", &tc.sel, tc.r.ID(), got, err, tc.want)
		}
	}
}

func TestSelectorErrors(t *testing.T) {
	bad := Selector{Name: "a(b"}
	if err := bad.Compile(); err == nil || said(err) != "name: no regular expression: missing closing ): `a(b`" {
		t.Errorf("got %v", err)
	}
	bad = Selector{LabelSelector: "a in b"}
	if err := bad.Compile(); err != nil {
		t.Fatal(err)
	}
	if _, err := bad.Select(krm.NewList()); err != nil {
		t.Errorf("no resource gets as far as the label selector, but %v", err)
	}
	if _, err := bad.Select(krm.NewList(object("v1", "Pod", "", "a"))); err == nil {
		t.Error("no error for a wrong label selector")
	}
}

// labelCases are valid and invalid selectors of every form in the grammar.
var labelCases = []string{
	"", " ", ",", "a", "!a", "a=b", "a==b", "a = b", "a=", "a=,b", "a!=b", "a!=", "a in (b)", "a in (b,c)", "a in ()", "a in (,)",
	"a in (,,)", "a in (b,)",
	"a in (,b)", "a in (b,,c)", "a in (b,,,c)", "a in (b,,)", "a notin (b)", "a notin (b, c ),!d", "in in (in)", "notin", "in", "a in in",
	"a in b", "a in (b", "a (b)", "a b",
	"a,", "a,,b", "a,!b", "!", "!!a", "!a=b", "a>1", "a>x", "a<2", "a<-3", "a>", "a=>b", "a=!b", "x.y/a=b", "X.y/a=b", "/a", "a/", "a/b/c",
	"x_y/a", "a-", "-a", "a.b_c-d=e.f_g-h",
	"a=b c", "a=-b", "a=b/c", "a=é", "é", "a=\tb\r\n", "a in(b)", "(a)", "a=b=c", "a===b", "a!==b", "a<>b",
	"l234567890123456789012345678901234567890123456789012345678901234=b",
	"a=l234567890123456789012345678901234567890123456789012345678901234",
}

func TestLabelSelectorAgreesWithKubernetes(t *testing.T) {
	for _, text := range labelCases {
		checkLabelSelector(t, text)
	}
}

func FuzzLabelSelector(f *testing.F) {
	for _, text := range labelCases {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for i := range len(text) {
			if text[i] == 0 {
				t.Skip("the original stops reading at NUL")
			}
		}
		checkLabelSelector(t, text)
	})
}

func checkLabelSelector(t *testing.T, text string) {
	t.Helper()
	sel, err := parseLabelSelector(text)
	for _, labels := range []map[string]string{{}, {"a": "b"}, {"a": ""}, {"a": "c", "b": "x"}, {"a": "2"},
		{"d": "e", "x.y/a": "b", "in": "in"}} {
		rn := kyaml.NewMapRNode(nil)
		if err := rn.SetLabels(labels); err != nil {
			t.Fatal(err)
		}
		want, wantErr := rn.MatchesLabelSelector(text)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%q: got error %v, want %v", text, err, wantErr)
		}
		if err == nil && sel.match(yaml.StrMap(labels)) != want {
			t.Errorf("%q on %v: want %v", text, fmt.Sprint(labels), want)
		}
	}
}
