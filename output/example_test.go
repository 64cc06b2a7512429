package output_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output"
)

// Lists are collected beside the folder, which changes in one step at Commit.
func ExampleDir() {
	rs, err := krm.Resources(&yaml.Source{File: "web.yaml", Data: []byte("{apiVersion: v1, kind: Service, metadata: {name: web}}")}, nil)
	if err != nil {
		log.Fatal(err)
	}
	tmp, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	for range 2 {
		out, err := output.Open(filepath.Join(tmp, "out"), output.Options{})
		if err != nil {
			log.Fatal(err)
		}
		if err := out.Put("prod", krm.NewList(rs...)); err != nil {
			log.Fatal(err) // Commit would also fail
		}
		changes, err := out.Commit()
		fmt.Println(changes.Added, changes.Unchanged, err)
	}
	// Output:
	// [prod/v1_service_web.yaml] 0 <nil>
	// [] 1 <nil>
}
