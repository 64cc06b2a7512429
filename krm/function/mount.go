package function

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// ParseMount parses type=bind,src=DIR,dst=DIR[,rw=true], the syntax of kustomize. A relative
// source stays relative.
func ParseMount(text string) (Mount, error) {
	m := Mount{Type: "bind"}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "type":
			m.Type = value
		case "src", "source":
			m.Source = value
		case "dst", "target", "destination":
			m.Dest = value
		case "rw":
			if value != "true" && value != "false" {
				return m, diag.BadFunction.Errorf("rw must be true or false, not %q", value)
			}
			m.Writable = value == "true"
		default:
			return m, diag.BadFunction.Errorf("unknown part %q; expected type=bind,src=DIR,dst=DIR[,rw=true]", key)
		}
	}
	if m.Dest == "" || m.Source == "" && m.Type != "tmpfs" {
		return m, diag.BadFunction.Errorf("src and dst are required")
	}
	switch m.Type {
	case "bind", "volume", "tmpfs":
		return m, nil
	}
	return m, diag.BadFunction.Errorf("unknown mount type %q: expected bind, volume or tmpfs", m.Type)
}
