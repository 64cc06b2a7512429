package wrapping

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/internal/resourcelist"
	yaml3 "go.yaml.in/yaml/v3"
)

// reserved are variables that decide how programs are found, loaded and started. No field of a configuration sets one: whoever writes spec.path
// means a path, and not PATH.
var reserved = []string{"PATH", "HOME", "TMPDIR", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP",
	"PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT", "NODE_OPTIONS", "NODE_PATH", "WRAPPED", configVariable, mergeVariable, overrideVariable}

func isReserved(name string) bool {
	return slices.Contains(reserved, name) || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "BASH_FUNC_")
}

// environment returns the environment of the command: that of this process, the whole configuration (WR-02), and the fields of metadata and spec by
// their names in upper case (WR-01). A field that is no scalar is YAML (WR-07). Notes say which fields are left out.
func (c *Call) environment(config *yaml3.Node) (env, notes []string) {
	env = slices.Clone(c.Env)
	if config == nil {
		return env, nil
	}
	env = append(env, configVariable+"="+text(config))
	for _, part := range []string{"metadata", "spec"} {
		fields := resourcelist.Field(config, part)
		if fields == nil || fields.Kind != yaml3.MappingNode {
			continue
		}
		for i := 0; i+1 < len(fields.Content); i += 2 {
			key := fields.Content[i].Value
			name, value := strings.ToUpper(key), scalar(resourcelist.Field(fields, key))
			switch {
			case isReserved(name):
				notes = append(notes, fmt.Sprintf("%s.%s is not in a variable: %s has another meaning; %s has it", part, key, name, configVariable))
			case name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00"):
				notes = append(notes, fmt.Sprintf("%s.%s is not in a variable: none can have this name or value", part, key))
			default:
				env = append(env, name+"="+value)
			}
		}
	}
	return env, notes
}

// scalar returns the value of a variable.
func scalar(n *yaml3.Node) string {
	switch {
	case n == nil || n.Kind == yaml3.ScalarNode && n.ShortTag() == "!!null":
		return ""
	case n.Kind == yaml3.ScalarNode:
		return n.Value
	}
	return strings.TrimSuffix(text(n), "\n")
}

// text returns a node as YAML.
func text(n *yaml3.Node) string {
	var b bytes.Buffer
	if err := resourcelist.Encode(&b, false, n); err != nil {
		return ""
	}
	return b.String()
}
