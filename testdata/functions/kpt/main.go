// Kpt is a stand-in for functions of kpt, which krmflow's tests cannot always build. Its name when
// it runs selects the function. It uses the same libraries as kpt's functions: kpt's SDK for
// set-labels and set-namespace, and kyaml for the others. It has only the parts that the tests
// need.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func main() {
	var err error
	switch name := filepath.Base(os.Args[0]); name {
	case "set-labels":
		err = fn.AsMain(fn.ResourceListProcessorFunc(setLabels))
	case "set-namespace":
		err = fn.AsMain(fn.ResourceListProcessorFunc(setNamespace))
	case "search-replace":
		err = filter(searchReplace)
	case "starlark":
		err = filter(runStarlark)
	case "upsert-resource":
		err = filter(upsert)
	default:
		err = fmt.Errorf("no function is called %s", name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// setLabels sets labels as set-labels v0.1.5 does: also in selectors and templates, and in Kptfiles.
func setLabels(rl *fn.ResourceList) (bool, error) {
	labels, _, err := rl.FunctionConfig.NestedStringMap("data")
	for _, o := range rl.Items {
		places := [][]string{{"metadata", "labels"}}
		switch o.GetKind() {
		case "Service":
			places = append(places, []string{"spec", "selector"})
		case "Deployment", "StatefulSet", "DaemonSet":
			places = append(places, []string{"spec", "selector", "matchLabels"}, []string{"spec", "template", "metadata", "labels"})
		}
		for _, place := range places {
			for _, key := range slices.Sorted(maps.Keys(labels)) {
				if err == nil {
					err = o.SetNestedString(labels[key], append(slices.Clone(place), key)...)
				}
			}
		}
	}
	return err == nil, err
}

// setNamespace sets the namespace as set-namespace v0.2.0 does. Its result has no severity.
func setNamespace(rl *fn.ResourceList) (bool, error) {
	name, _, err := rl.FunctionConfig.NestedString("data", "namespace")
	changed := 0
	for _, o := range rl.Items {
		set := o.SetNamespace
		if o.IsGVK("", "v1", "Namespace") {
			set = o.SetName
		}
		if err == nil {
			err = set(name)
		}
		changed++
	}
	rl.Results = append(rl.Results, &fn.Result{Message: fmt.Sprintf("namespace %s set %d times", name, changed)})
	return err == nil, err
}

// filter runs a function on kyaml's resources.
func filter(run func(config *yaml.RNode, items []*yaml.RNode) ([]*yaml.RNode, error)) error {
	rw := &kio.ByteReadWriter{Reader: os.Stdin, Writer: os.Stdout, KeepReaderAnnotations: true, OmitReaderAnnotations: true}
	return kio.Pipeline{Inputs: []kio.Reader{rw}, Filters: []kio.Filter{kio.FilterFunc(
		func(items []*yaml.RNode) ([]*yaml.RNode, error) { return run(rw.FunctionConfig, items) })}, Outputs: []kio.Writer{rw}}.Execute()
}

// searchReplace handles by-path, by-value, by-value-regex, put-value and put-comment.
func searchReplace(config *yaml.RNode, items []*yaml.RNode) ([]*yaml.RNode, error) {
	data := config.GetDataMap()
	value := data["by-value-regex"]
	if value == "" && data["by-value"] != "" {
		value = regexp.QuoteMeta(data["by-value"])
	}
	if value == "" {
		value = ".*"
	}
	path := ".*"
	if p := data["by-path"]; p != "" {
		path = strings.NewReplacer(`\*\*\.`, `(.+\.)?`, `\.\*\*`, `(\..+)?`, `\*`, `[^.]+`).Replace(regexp.QuoteMeta(p))
	}
	byValue, err := regexp.Compile("^(?:" + value + ")$")
	if err != nil {
		return nil, err
	}
	byPath := regexp.MustCompile("^" + path + "$")
	var walk func(n *yaml.Node, at string)
	walk = func(n *yaml.Node, at string) {
		if n.Kind == yaml.ScalarNode && byPath.MatchString(at) && byValue.MatchString(n.Value) {
			old := n.Value
			expand := func(template string) string { return byValue.ReplaceAllString(old, template) }
			if text, ok := data["put-value"]; ok {
				n.Value = expand(text)
			}
			if text, ok := data["put-comment"]; ok {
				n.LineComment = expand(strings.ReplaceAll(text, "${project}", "$${project}"))
			}
		}
		for i, x := range n.Content {
			switch {
			case n.Kind != yaml.MappingNode:
				walk(x, fmt.Sprintf("%s[%d]", at, i))
			case i%2 == 1:
				walk(x, strings.TrimPrefix(at+"."+n.Content[i-1].Value, "."))
			}
		}
	}
	for _, item := range items {
		walk(item.YNode(), "")
	}
	return items, nil
}

// runStarlark runs the script in the field source. Comments get lost, as in kpt's function.
func runStarlark(config *yaml.RNode, items []*yaml.RNode) ([]*yaml.RNode, error) {
	text, err := config.MarshalJSON()
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(items))
	for i, item := range items {
		b, err := item.MarshalJSON()
		if err != nil {
			return nil, err
		}
		texts[i] = string(b)
	}
	thread := &starlark.Thread{Name: "script", Print: func(_ *starlark.Thread, msg string) { fmt.Fprintln(os.Stderr, msg) }}
	list, err := starlark.Call(thread, json.Module.Members["decode"], starlark.Tuple{starlark.String(
		fmt.Sprintf(`{"items": [%s], "functionConfig": %s}`, strings.Join(texts, ","), text))}, nil)
	if err != nil {
		return nil, err
	}
	source := config.Field("source")
	if source == nil {
		source = config.Field("data").Value.Field("source")
	}
	ctx := starlarkstruct.FromStringDict(starlark.String("ctx"), starlark.StringDict{"resource_list": list})
	options := &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}
	if _, err := starlark.ExecFileOptions(options, thread, "source", source.Value.YNode().Value, starlark.StringDict{"ctx": ctx}); err != nil {
		return nil, err
	}
	after, _, err := list.(*starlark.Dict).Get(starlark.String("items"))
	if err != nil {
		return nil, err
	}
	items = nil
	for x := range starlark.Elements(after.(*starlark.List)) {
		out, err := starlark.Call(thread, json.Module.Members["encode"], starlark.Tuple{x}, nil)
		if err != nil {
			return nil, err
		}
		item, err := yaml.Parse(string(out.(starlark.String)))
		if err != nil {
			return nil, err
		}
		unquote(item.YNode())
		items = append(items, item)
	}
	return items, nil
}

// unquote removes the quotes of JSON.
func unquote(n *yaml.Node) {
	n.Style = 0
	for _, x := range n.Content {
		unquote(x)
	}
}

// upsert replaces the resources that have the identity of the configuration, or adds it. As in
// kpt's function, the new resource keeps no annotation of the old one except path and index.
func upsert(config *yaml.RNode, items []*yaml.RNode) ([]*yaml.RNode, error) {
	want, err := config.GetMeta()
	if err != nil {
		return nil, err
	}
	found := false
	for i, item := range items {
		is, err := item.GetMeta()
		if err != nil {
			return nil, err
		}
		if is.TypeMeta != want.TypeMeta || is.NameMeta != want.NameMeta {
			continue
		}
		found = true
		annotations := map[string]string{}
		for key, value := range want.Annotations {
			annotations[key] = value
		}
		annotations[kioutil.PathAnnotation] = is.Annotations[kioutil.PathAnnotation]
		annotations[kioutil.IndexAnnotation] = is.Annotations[kioutil.IndexAnnotation]
		items[i] = config.Copy()
		if err := items[i].SetAnnotations(annotations); err != nil {
			return nil, err
		}
	}
	if found {
		return items, nil
	}
	added := config.Copy()
	delete(want.Annotations, kioutil.PathAnnotation)
	delete(want.Annotations, kioutil.IndexAnnotation)
	return append(items, added), added.SetAnnotations(want.Annotations)
}
