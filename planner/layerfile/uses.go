package layerfile

import (
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

// Uses returns what a Kustomization or Component may name other layers by: the entries of those lists that take directories. Most of them are
// files, and some may be texts of documents. Nothing is read or checked for it.
func Uses(v yaml.Value) (texts []string) {
	for _, f := range v.Fields() {
		switch strings.ToLower(f.Key) {
		case "resources", "bases", "components", "generators", "transformers", "validators":
			for _, item := range f.Value.Items() {
				if item.Type() == yaml.String {
					texts = append(texts, item.Text())
				}
			}
		}
	}
	return texts
}
