package container

import (
	"errors"
	"strconv"
	"strings"
)

// A storageConf contains the directories configured in a storage.conf file.
type storageConf struct {
	graph, rootless string
	more            []string
}

var errStorageConf = errors.New("this storage.conf is not understood")

// parseStorageConf parses the subset of TOML used in such files: tables, strings and lists of
// strings. Any other syntax is an error.
func parseStorageConf(text string) (c storageConf, err error) {
	table := ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			table = strings.TrimSpace(strings.Trim(withoutComment(line), "[] \t"))
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return c, errStorageConf
		}
		for strings.HasPrefix(strings.TrimSpace(value), "[") && !strings.Contains(value, "]") {
			if i++; i == len(lines) {
				return c, errStorageConf
			}
			value += " " + withoutComment(lines[i])
		}
		switch table + "." + strings.TrimSpace(key) {
		case "storage.graphroot":
			c.graph, err = tomlString(value)
		case "storage.rootless_storage_path":
			c.rootless, err = tomlString(value)
		case "storage.imagestore":
			var dir string
			if dir, err = tomlString(value); dir != "" {
				c.more = append(c.more, dir)
			}
		case "storage.options.additionalimagestores":
			var dirs []string
			dirs, err = tomlStrings(value)
			c.more = append(c.more, dirs...)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

func withoutComment(line string) string {
	line, _, _ = strings.Cut(line, "#")
	return line
}

func tomlString(text string) (string, error) {
	text = strings.TrimSpace(text)
	if len(text) > 1 && text[0] == '\'' {
		if value, rest, ok := strings.Cut(text[1:], "'"); ok && strings.TrimSpace(withoutComment(rest)) == "" {
			return value, nil
		}
		return "", errStorageConf
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil || text[0] != '"' || strings.TrimSpace(withoutComment(text[len(quoted):])) != "" {
		return "", errStorageConf
	}
	return strconv.Unquote(quoted)
}

func tomlStrings(text string) (list []string, err error) {
	text, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "["), "]")
	for item := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		s, err := tomlString(item)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}
