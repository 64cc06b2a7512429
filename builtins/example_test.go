package builtins_test

import (
	"fmt"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Fill in a built-in, configure it once, then use it on lists.
func Example() {
	rs, err := krm.Resources(&yaml.Source{File: "web.yaml", Data: []byte("{apiVersion: v1, kind: Service, metadata: {name: web}}")}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	list := krm.NewList(rs...)
	prefix := &builtins.PrefixTransformer{Prefix: "prod-", FieldSpecs: builtins.DefaultConfig().NamePrefix}
	if err := prefix.Configure(builtins.Env{}); err != nil {
		fmt.Println(err)
		return
	}
	if err := prefix.Transform(list, func(diag.Code, string, ...any) {}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(list.At(0).ID(), list.At(0).Prefixes)
	// Output:
	// v1 Service prod-web [prod-]
}

// Absorb adds the output of a generator, or merges it into existing resources.
func ExampleAbsorb() {
	settings := &builtins.ConfigMapGenerator{ConfigMapArgs: builtins.ConfigMapArgs{GeneratorArgs: builtins.GeneratorArgs{
		Name:            "settings",
		KeyValueSources: builtins.KeyValueSources{Literals: []string{"colour=green"}},
	}}}
	if err := settings.Configure(builtins.Env{}); err != nil {
		fmt.Println(err)
		return
	}
	made, err := settings.Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	list := krm.NewList()
	fmt.Println(builtins.Absorb(list, made[0], func(diag.Code, string, ...any) {}), list.At(0).ID(), list.At(0).NeedsHash)
	fmt.Println(builtins.Absorb(list, made[0].Copy(), func(diag.Code, string, ...any) {}))
	// Output:
	// <nil> v1 ConfigMap settings true
	// v1 ConfigMap settings already exists
	//   set the generator's behavior to merge or replace to change it
}

// MergePatch merges lists by the schema. Here it merges containers by name.
func ExampleMergePatch() {
	read := func(text string) yaml.Value {
		v, _ := (&yaml.Source{Data: []byte(text)}).Value()
		return v
	}
	pod := read("{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: x}, {name: b, image: y}]}}")
	patch := read("{spec: {containers: [{name: b, image: z}]}}")
	result, _, err := builtins.MergePatch(nil, pod, patch)
	fmt.Printf("%s %v\n", yaml.AppendJSON(nil, result.At("spec")), err)
	// Output:
	// {"containers":[{"image":"z","name":"b"},{"image":"x","name":"a"}]} <nil>
}
