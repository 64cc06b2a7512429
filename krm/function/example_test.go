package function_test

import (
	"bytes"
	"fmt"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The input of a function is encoded, and its answer decoded, with the same options. Here the
// function is bytes.ReplaceAll.
func ExampleDecodeResourceList() {
	src := &yaml.Source{File: "web.yaml", Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {colour: green}}")}
	rs, err := krm.Resources(src, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	in := krm.NewList(rs...)
	options := function.WireOptions{Name: "example.com/v1 Paint", Output: 1 << 20}
	sent := function.EncodeResourceList(in, yaml.Value{}, options).Join()
	reply, err := function.DecodeResourceList(yaml.Chunks{bytes.ReplaceAll(sent, []byte("green"), []byte("red"))}, in, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", reply.List.AppendYAML(nil))
	// Output:
	// apiVersion: v1
	// data:
	//   colour: red
	// kind: ConfigMap
	// metadata:
	//   name: web
}

// A configuration can name its function in several places, which must agree.
func ExampleReadInline() {
	src := &yaml.Source{File: "fn.yaml", Data: []byte(`apiVersion: example.com/v1
kind: Stamp
metadata:
  annotations:
    config.kubernetes.io/function: "exec: {path: ./stamp.sh}"
runtime:
  exec: {path: ./other.sh}
`)}
	config, err := src.Value()
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = function.ReadInline(config, nil)
	fmt.Println(err)
	// Output:
	// the configuration names two functions: exec ./other.sh in runtime and exec ./stamp.sh in config.kubernetes.io/function
	//   remove one of them
}

func ExampleParseImage() {
	image, err := function.ParseImage("nginx")
	fmt.Println(image, err)
	image, err = function.ParseImage("registry:5000/fn/stamp:v1")
	fmt.Println(image.Registry, image.Repository, image.Tag, err)
	// Output:
	// docker.io/library/nginx:latest <nil>
	// registry:5000 fn/stamp v1 <nil>
}
