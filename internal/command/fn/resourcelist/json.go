package resourcelist

import (
	"bytes"
	"encoding/json"

	krmyaml "github.com/krmflow/krmflow/krm/yaml"
)

// JSON returns a document as indented JSON. Fields keep their order, and scalars keep their
// text if it is valid JSON. encoding/json alone would sort fields, round large numbers, and
// escape <, > and & in strings. name is used in errors.
func JSON(name string, text []byte) ([]byte, error) {
	v, err := (&krmyaml.Source{File: name, Data: text}).Content()
	if err != nil {
		return nil, err
	}
	one, err := appendJSON(nil, v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, one, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func appendJSON(dst []byte, v krmyaml.Value) (_ []byte, err error) {
	switch v.Type() {
	case krmyaml.Map:
		dst = append(dst, '{')
		for i, f := range v.Fields() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendString(dst, f.Key); err != nil {
				return nil, err
			}
			if dst, err = appendJSON(append(dst, ':'), f.Value); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case krmyaml.Seq:
		dst = append(dst, '[')
		for i, x := range v.Items() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendJSON(dst, x); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case krmyaml.String, krmyaml.Time:
		return appendString(dst, v.Text())
	case krmyaml.Int, krmyaml.Float:
		if text := v.Text(); json.Valid([]byte(text)) {
			return append(dst, text...), nil
		}
	}
	return krmyaml.AppendJSON(dst, v), nil
}

func appendString(dst []byte, s string) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
