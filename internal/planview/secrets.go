package planview

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// secretRounds is the number of PBKDF2 rounds. It makes each guess at a value cost a good part
// of a tenth of a second.
const secretRounds = 1 << 18

// secrets returns one digest for all content that may hold Secret values, or "" if there is
// none. as maps the name of a file to its name in the document. each holds the plain digests and
// must never be shown.
//
// Plans are shown to other people, for example in a pull request. A digest of a single file
// would let a reader who knows the rest of the file try values until the digest matches. So one
// digest covers all such files together, it is slow to compute, and it is salted with the names
// of all files. It is deterministic, so plans of the same tree can be compared.
func secrets(p *planner.Plan, as func(string) string) (all string, each map[string]krm.Digest) {
	var names, digests strings.Builder
	each = map[string]krm.Digest{}
	files := slices.Clone(p.Files())
	slices.SortStableFunc(files, func(a, b *yaml.Source) int { return strings.Compare(as(a.File), as(b.File)) })
	for _, f := range files {
		fmt.Fprintf(&names, "%q\n", as(f.File))
		if isSecret(p, f) {
			fmt.Fprintf(&digests, "%q %s\n", as(f.File), f.Digest())
			each[as(f.File)] = krm.Digest(f.Digest())
		}
	}
	for call, n := range p.Graph.Calls() {
		if secretConfig(call) {
			each[as(n.ID)] = krm.DigestOf(call.Function.Config)
			fmt.Fprintf(&digests, "%q %s\n", as(n.ID), each[as(n.ID)])
		}
	}
	if digests.Len() == 0 {
		return "", each
	}
	key, err := pbkdf2.Key(sha256.New, digests.String(), []byte("krmflow plan\n"+names.String()), secretRounds, sha256.Size)
	if err != nil {
		panic(err) // cannot fail: all lengths are valid
	}
	return fmt.Sprintf("pbkdf2-sha256:%d:%s", secretRounds, hex.EncodeToString(key)), each
}

// isSecret reports whether the digest of a file must stay out of the plan. Catalogs are exempt:
// they are pinned by their digests.
func isSecret(p *planner.Plan, f *yaml.Source) bool {
	for _, t := range p.Catalogs {
		if t.Catalog.Digest == f.Digest() {
			return false
		}
	}
	return f.MayHoldSecrets()
}

// secretConfig reports whether the digest of a function's configuration must stay out of the
// plan.
func secretConfig(call graph.Call) bool {
	return (&yaml.Source{Data: call.Function.Config}).MayHoldSecrets()
}
