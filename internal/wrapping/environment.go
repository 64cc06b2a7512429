package wrapping

import (
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
// their names in upper case (WR-01). A field that is no scalar is YAML (WR-07), or JSON. Notes say which fields are left out.
func (c *Call) environment(config *yaml3.Node) (env, notes []string, err error) {
	env = slices.Clone(c.Env)
	if config == nil {
		return env, nil, nil
	}
	all, err := c.text(config)
	if err != nil {
		return nil, nil, err
	}
	env = append(env, configVariable+"="+string(all))
	for _, part := range []string{"metadata", "spec"} {
		fields := resourcelist.Field(config, part)
		if fields == nil || fields.Kind != yaml3.MappingNode {
			continue
		}
		for i := 0; i+1 < len(fields.Content); i += 2 {
			key := fields.Content[i].Value
			name := strings.ToUpper(key)
			value, err := c.scalar(resourcelist.Field(fields, key))
			if err != nil {
				return nil, nil, err
			}
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
	return env, notes, nil
}

// scalar returns the value of a variable.
func (c *Call) scalar(n *yaml3.Node) (string, error) {
	switch {
	case n == nil || n.Kind == yaml3.ScalarNode && n.ShortTag() == "!!null":
		return "", nil
	case n.Kind == yaml3.ScalarNode:
		return n.Value, nil
	}
	text, err := c.text(n)
	return strings.TrimSuffix(string(text), "\n"), err
}
