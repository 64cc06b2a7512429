package layerfile

import (
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

// Uses returns the texts in a Kustomization or Component that may refer to other layers: the
// entries of the lists that accept directories. Most of them are files, and some may be texts of
// documents. Uses reads and checks nothing.
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
