package edit

import (
	"strings"

	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Fields of legacy exec plugin configurations that hold the arguments of the program.
const (
	argsOneLiner = "argsOneLiner"
	argsFromFile = "argsFromFile"
)

// legacy converts the configuration of a legacy exec plugin to that of a function. The program
// is expected beside the kustomization file, with the kind as its name. Whether the program can
// read a ResourceList is unknown, so legacy prints a warning.
func (m *mover) legacy(v yaml.Value, name string) (yaml.Value, error) {
	oneLiner, fromFile := v.Get(argsOneLiner), v.Get(argsFromFile)
	if !oneLiner.Exists() && !fromFile.Exists() {
		return v, nil
	}
	args, err := m.legacyArgs(oneLiner.Text(), fromFile.Text())
	if err != nil {
		return v, err
	}
	program := v.Get("kind").Text()
	exec := yaml.MapOf(yaml.Field{Key: "path", Value: yaml.Str("./" + program)})
	if len(args) > 0 {
		exec = exec.With("args", seq(args))
	}
	runtime := yaml.MapOf(yaml.Field{Key: "exec", Value: exec})
	if !m.IsFile(program) {
		return v, mistake("", "a legacy exec plugin whose program is not beside %s", m.File).
			Hint("put it there as %s, or write %s: %s with its path", program, function.PlaceRuntime, yaml.AppendJSON(nil, runtime))
	}
	for _, field := range []string{argsOneLiner, argsFromFile} {
		if v.Get(field).Exists() {
			v = v.Without(field)
			m.told(name+": "+field, "runtime.exec.args")
		}
	}
	m.Warn("%s: %s now gets a ResourceList on stdin and only its own arguments: check that it supports this", name, program)
	return v.With(function.PlaceRuntime, runtime), nil
}

// legacyArgs returns the arguments of a legacy exec plugin: the words of argsOneLiner, then the
// lines of the file in argsFromFile.
func (m *mover) legacyArgs(oneLiner, fromFile string) ([]string, error) {
	args, err := words(oneLiner)
	if err != nil || fromFile == "" {
		return args, err
	}
	data, err := m.ReadFile(fromFile)
	if err != nil {
		return nil, mistake(argsFromFile, "%v", err)
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if line = strings.TrimLeft(line, " "); line != "" {
			args = append(args, line)
		}
	}
	return args, nil
}

// words splits text into words like a shell: at unquoted spaces, without comments.
func words(text string) (list []string, err error) {
	var word strings.Builder
	begun, quote := false, byte(0)
	end := func() {
		if begun {
			list = append(list, word.String())
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quote != '\'' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			begun = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, begun = c, true
		case quote == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			end()
		case quote == 0 && c == '#' && !begun:
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				return list, nil
			}
			i += n
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, mistake(argsOneLiner, "a quote is not closed")
	}
	end()
	return list, nil
}
