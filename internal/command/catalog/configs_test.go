package catalog

import "testing"

// FuzzStrip removes the names of functions from any text. The remaining text names no functions.
func FuzzStrip(f *testing.F) {
	for _, text := range []string{
		"kind: A\nruntime: {a: b}\n",
		"- kind: A\n  runtime: &x !!map\n    a: 'b''c'\n  c: *x\n",
		"{kind: A, runtime: {\"a\\\"\": ['b', c]}, provider: !y z}",
		"a:\n- |-\n  kind: A\n\n  metadata: {annotations: {config.k8s.io/function: \"a: b\\\n    c\"}}",
		"\ufeffkind: A\nmetadata:\n  configFn: >\n    a\n\n  # b\n? runtime\n: a\n",
		"- runtime:\n  kind: A # b\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := readConfigs("f", text)
		names := named(file)
		for _, c := range names {
			c.marked = true
		}
		data, err := file.strip()
		if err != nil {
			return
		}
		if len(names) == 0 && string(data) != text {
			t.Errorf("%q becomes %q", text, data)
		}
		if left := named(readConfigs("f", string(data))); len(left) > 0 {
			t.Errorf("%q becomes %q, which names %d functions", text, data, len(left))
		}
	})
}

// named returns the configurations that name a function.
func named(f *configFile) (list []*config) {
	for _, c := range f.configs {
		if c.named != nil {
			list = append(list, c)
		}
	}
	return list
}
