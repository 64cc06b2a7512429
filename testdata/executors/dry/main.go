// Dry is an executor that runs nothing: each function answers with what it got, and says on stderr what would have run.
// It shows what a third party has to write to take the place of one of krmflow's executors:
//
//	go build -o dry ./testdata/executors/dry
//	krmflow build DIR --executor=exec=dry@sha256:$(sha256sum dry | cut -d' ' -f1) ...
package main

import (
	"context"
	"fmt"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

type dry struct{}

func (dry) Prepare(_ context.Context, f function.Function) error {
	if f.Digest == (krm.Digest{}) {
		return &executors.Error{Code: executors.Denied, Msg: f.Name + ": it has no digest"}
	}
	return nil
}

func (dry) Execute(_ context.Context, f function.Function, list yaml.Chunks) (executors.Output, error) {
	return executors.Output{List: list, Stderr: fmt.Appendf(nil, "would run %s%s\n", f.Program, f.Image)}, nil
}

func main() { executors.Serve("dry", dry{}) }
