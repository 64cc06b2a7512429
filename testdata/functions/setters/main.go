// Setters is a function that reads comments, as apply-setters of kpt does. A comment such as
// "# kpt-set: ${image}:${tag}" beside a field says how its value is made of the settings in the
// data of the function's ConfigMap; a list takes the items of one setting.
package main

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const mark = "# kpt-set: "

func main() {
	rw := &kio.ByteReadWriter{Reader: os.Stdin, Writer: os.Stdout, KeepReaderAnnotations: true}
	err := kio.Pipeline{Inputs: []kio.Reader{rw}, Filters: []kio.Filter{kio.FilterFunc(func(items []*yaml.RNode) ([]*yaml.RNode, error) {
		s := &setters{values: rw.FunctionConfig.GetDataMap()}
		for _, item := range items {
			if err := s.set(item.YNode()); err != nil {
				return nil, err
			}
		}
		if s.matches == 0 {
			return nil, fmt.Errorf("no matches for the setters in the configuration")
		}
		return items, nil
	})}, Outputs: []kio.Writer{rw}}.Execute()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type setters struct {
	values  map[string]string
	matches int
}

// set sets the values in a node that have comments.
func (s *setters) set(n *yaml.Node) error {
	if value, ok := s.value(n.LineComment); ok && n.Kind == yaml.ScalarNode {
		n.Value, n.Tag = value, yaml.NodeTagEmpty
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			if err := s.setList(n.Content[i-1], child); err != nil {
				return err
			}
		}
		if err := s.set(child); err != nil {
			return err
		}
	}
	return nil
}

// setList sets the items of a list. The comment is beside the key, or the list if it is on one line.
func (s *setters) setList(key, list *yaml.Node) error {
	if list.Kind != yaml.SequenceNode {
		return nil
	}
	comment := key.LineComment + list.LineComment
	value, ok := s.value(comment)
	if !ok {
		return nil
	}
	items, err := yaml.Parse(value)
	if err != nil || items.YNode().Kind != yaml.SequenceNode {
		return fmt.Errorf("%s: expected a list, found %q", key.Value, value)
	}
	list.Content, list.Style = items.YNode().Content, 0
	if key.LineComment, list.LineComment = comment, ""; len(list.Content) == 0 {
		key.LineComment, list.LineComment, list.Style = "", comment, yaml.FlowStyle // as it is written: []
	}
	return nil
}

// value returns the value that a comment asks for.
func (s *setters) value(comment string) (value string, ok bool) {
	pattern, ok := strings.CutPrefix(comment, mark)
	value = pattern
	for name, v := range s.values {
		value = strings.ReplaceAll(value, "${"+name+"}", v)
	}
	if ok = ok && value != pattern; ok {
		s.matches++
	}
	return value, ok
}
