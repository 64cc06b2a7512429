package wrap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/command/fn/resourcelist"
	"github.com/krmflow/krmflow/krm/function"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// environment returns the environment of the command. It adds the chosen fields of metadata and
// spec under their names in upper case (WR-01), and the whole configuration (WR-02), to the
// environment of this process. A field that is not a scalar is YAML (WR-07) or JSON. The notes list
// the declared fields that are left out.
//
// The author of a configuration must not choose the names of variables. Programs and their
// libraries read hundreds of variables, and some of them run code (PYTHONWARNINGS, PERL5OPT,
// JAVA_TOOL_OPTIONS, GIT_SSH_COMMAND). A list of refused names would never be complete. Therefore
// the author of the function chooses the names, with --env or in the schema of the catalog entry.
func (c *Call) environment(config *yaml.RNode) (env, notes []string, err error) {
	env = slices.Clone(c.Env)
	if config == nil {
		return env, nil, nil
	}
	chosen, err := c.choice()
	if err != nil {
		return nil, nil, err
	}
	for _, part := range []string{"metadata", "spec"} {
		fields, skipped, err := c.variables(config, part, chosen)
		if err != nil {
			return nil, nil, err
		}
		env, notes = append(env, fields...), append(notes, skipped...)
	}
	all, err := c.text(config.String())
	return append(env, configVariable+"="+string(all)), notes, err // last, so that it takes precedence
}

// A choice reports whether a field of metadata or spec becomes a variable. The note says why a
// declared field does not.
type choice func(part, key, variable string) (yes bool, note string)

// choice returns the choice made by --env or, without it, by the schema of the function's catalog
// entry.
//
// A schema describes a configuration, and its author did not intend a field named path to become
// PATH. Therefore fields that only a schema names never replace a variable that is set.
func (c *Call) choice() (choice, error) {
	if c.Names != nil {
		return func(_, _, variable string) (bool, string) { return slices.Contains(c.Names, variable), "" }, nil
	}
	declared, ok := c.lookup(function.FieldsVariable)
	if !ok {
		e := diag.Arguments.Errorf("wrap needs the names of the variables that the command reads")
		return nil,
			options.UsageError(diag.AsError(e).Hint("add --env with their names, for example --env NAME,REPLICAS, or --env= for none").
				Hint("without --env, the schema in a function's catalog entry names them"))
	}
	paths := strings.Split(declared, ",")
	return func(part, key, variable string) (bool, string) {
		if !slices.Contains(paths, part+"."+key) {
			return false, ""
		}
		if _, set := c.lookup(variable); set {
			return false, fmt.Sprintf("%s.%s is not passed: the variable %s is already set; to replace it, add --env %s", part, key,
				variable, variable)
		}
		return true, ""
	}, nil
}

// variables returns the chosen fields of metadata or spec as variables.
func (c *Call) variables(config *yaml.RNode, part string, chosen choice) (env, notes []string, err error) {
	fields := resourcelist.Field(config, part)
	if fields.IsNil() || fields.YNode().Kind != yaml.MappingNode {
		return nil, nil, nil
	}
	from := map[string]string{} // field of each variable
	for i := 0; i+1 < len(fields.Content()); i += 2 {
		key := fields.Content()[i].Value
		if !function.IsVariable(key) { // excludes non-ASCII letters with an ASCII upper case: ſ, ı
			continue
		}
		variable := strings.ToUpper(key)
		yes, note := chosen(part, key, variable)
		if note != "" {
			notes = append(notes, note)
		}
		if !yes {
			continue
		}
		path := part + "." + key
		if other, twice := from[variable]; twice {
			return nil, nil, diag.BadValue.Errorf("%s and %s are both the variable %s", other, path, variable)
		}
		from[variable] = path
		value, err := c.scalar(yaml.NewRNode(fields.Content()[i+1]))
		if err != nil {
			return nil, nil, err
		}
		if strings.Contains(value, "\x00") {
			return nil, nil, diag.BadValue.Errorf("%s has a null byte, which the variable %s cannot hold", path, variable)
		}
		env = append(env, variable+"="+value)
	}
	return env, notes, nil
}

// lookup returns a variable of this process.
func (c *Call) lookup(name string) (value string, ok bool) {
	for _, e := range c.Env {
		if v, found := strings.CutPrefix(e, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}

// scalar returns a field as the value of a variable.
func (c *Call) scalar(n *yaml.RNode) (string, error) {
	switch {
	case n.IsTaggedNull():
		return "", nil
	case n.YNode().Kind == yaml.ScalarNode:
		return n.YNode().Value, nil
	}
	text, err := c.text(n.String())
	return strings.TrimSuffix(string(text), "\n"), err
}
