package diff

import (
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// HiddenChanged stands for a new value that is not shown. [secret.Hidden] stands for one that is the same on both sides, or is there on one side alone.
const HiddenChanged = "(hidden, changed)"

// marked returns edits in which a text stands for each new value that is hidden as a whole.
func marked(edits []Edit) []Edit {
	var out []Edit
	for k, e := range edits {
		if !e.Hidden || e.Op == Remove || e.Op != Add && !e.Old.Equal(e.New) {
			continue
		}
		if out == nil {
			out = append(out, edits...)
		}
		if out[k].New = yaml.Str(HiddenChanged); e.Op == Add {
			out[k].New = yaml.Str(secret.Hidden)
		}
	}
	if out == nil {
		return edits
	}
	return out
}
