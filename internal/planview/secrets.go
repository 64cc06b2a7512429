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

// secretRounds makes each guess at a value cost a good part of a tenth of a second.
const secretRounds = 1 << 18

// secrets returns one digest for all that may hold values of Secrets, "" if there is nothing. A plan is shown to others, and whoever
// knows the rest of a file could try values until the file's own digest fits. This one takes all of them together, is slow, and is
// salted with what the files are called; it is the same for the same tree, so that plans can be compared. as says what files are called in the document.
// Each has the plain digests, which nobody may see.
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
		panic(err) // it takes all lengths
	}
	return fmt.Sprintf("pbkdf2-sha256:%d:%s", secretRounds, hex.EncodeToString(key)), each
}

// isSecret reports whether the plan must not have the digest of a file. Catalogs are no secret: they are pinned by it.
func isSecret(p *planner.Plan, f *yaml.Source) bool {
	for _, t := range p.Catalogs {
		if t.Catalog.Digest == f.Digest() {
			return false
		}
	}
	return f.MayHoldSecrets()
}

// secretConfig reports whether the plan must not have the digest of a function's configuration.
func secretConfig(call graph.Call) bool {
	return (&yaml.Source{Data: call.Function.Config}).MayHoldSecrets()
}
