package trust_test

import (
	"fmt"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/trust"
)

// The zero Policy trusts nothing. A Decision contains every reason, and the flags that would lift
// them.
func ExamplePolicy_Decide() {
	request := trust.Request{
		ID:     krm.ID{GVK: krm.ParseGVK("example.com/v1", "Stamp"), Name: "release"},
		Inline: &function.Inline{Exec: &function.InlineExec{Path: "stamp.sh"}, Places: []string{function.PlaceRuntime}},
		Dir:    "/tree", Name: "tree",
		OS: "linux", Arch: "amd64",
		Facts: trust.Facts{
			Programs:  map[string]trust.Program{"/tree/stamp.sh": {Real: "/tree/stamp.sh", Digest: krm.DigestOf([]byte("#!/bin/sh\n"))}},
			Isolation: "landlock7",
		},
	}
	var nobody trust.Policy
	d := nobody.Decide(request)
	fmt.Println(d.Allowed, d.Allow())
	d = trust.Policy{AllowUncatalogued: true, AllowExec: true}.Decide(request)
	fmt.Println(d.Allowed, d.Function.Program, len(d.Warnings))
	// Output:
	// false [--enable-alpha-plugins --enable-exec]
	// true /tree/stamp.sh 1
}
