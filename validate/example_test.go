package validate_test

import (
	"fmt"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate"
)

func ExampleValidator_Check() {
	minor, err := validate.ParseVersion("1.31")
	if err != nil {
		fmt.Println(err)
		return
	}
	v := validate.New(minor)
	src := &yaml.Source{File: "web.yaml", Data: []byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replica: 3
  selector: {matchLabels: {app: web}}
`)}
	resources, err := krm.Resources(src, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range resources {
		for _, f := range v.Check(r) {
			fmt.Println(src.Locate(0, f.Path...), f.Text(), f.Hints)
		}
	}
	// Output:
	// web.yaml:6 spec.replica: unknown field [did you mean "replicas"?]
	// web.yaml:5 spec: the required field "template" is missing []
}
