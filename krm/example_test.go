package krm_test

import (
	"fmt"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

const two = `{apiVersion: v1, kind: Service, metadata: {name: web}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
`

func ExampleResources() {
	rs, err := krm.Resources(&yaml.Source{File: "web.yaml", Data: []byte(two)}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rs {
		fmt.Println(r.Pos, r.ID(), r.ID().EffectiveNamespace())
	}
	// Output:
	// web.yaml:1 v1 Service web default
	// web.yaml:3 v1 Namespace shop _non_namespaceable_
}

// A clone shares the resources. Change copies a resource before it changes it, so the other list
// never sees the change.
func ExampleList_Change() {
	rs, err := krm.Resources(&yaml.Source{File: "web.yaml", Data: []byte(two)}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	base := krm.NewList(rs...)
	overlay := base.Clone()
	overlay.Change(0, func(r *krm.Resource) {
		r.PushID() // references to the old name still find the Service
		r.SetName("prod-web")
	})
	fmt.Println(base.At(0).ID(), "and", overlay.At(0).ID())
	fmt.Println(overlay.Find(base.At(0).ID()), overlay.FindAny(base.At(0).ID()))
	// Output:
	// v1 Service web and v1 Service prod-web
	// [] [0]
}

// A list cannot have two resources with the same identity, even if their namespaces are written
// differently.
func ExampleList_Append() {
	rs, err := krm.Resources(&yaml.Source{File: "web.yaml", Data: []byte(two)}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	again := rs[0].Copy()
	again.SetValue(again.Value().WithAt(yaml.Str("default"), "metadata", "namespace"))
	fmt.Println(krm.NewList(rs...).Append(again))
	// Output:
	// duplicate resource v1 Service default/web (already at web.yaml:1)
	//   it is included twice: list the file or its layer once, or give each layer a different namePrefix or namespace
}

func ExampleParseDigest() {
	d := krm.DigestOf([]byte("krmflow"))
	pin, err := krm.ParseDigest(d.String())
	fmt.Println(pin == d, err)
	_, err = krm.ParseDigest("sha256:abc")
	fmt.Println(err)
	// Output:
	// true <nil>
	// the digest "sha256:abc" has 3 characters; a sha256 has 64 hexadecimal digits
}
