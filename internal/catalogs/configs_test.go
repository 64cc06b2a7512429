package catalogs

import "testing"

// FuzzStrip takes the names of functions out of any text: what is left is parsed to the same without them, or nothing is left.
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
		file, err := readConfigs("f", text)
		if err != nil {
			return
		}
		changes := false
		for _, c := range file.configs {
			c.marked = true
			changes = changes || len(c.places()) > 0
		}
		if data := file.strip(); !changes && string(data) != text {
			t.Errorf("%q becomes %q", text, data)
		}
	})
}
