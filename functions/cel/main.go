// Krmflow-cel evaluates the CEL rules of CustomResourceDefinitions (x-kubernetes-validations) and
// ValidatingAdmissionPolicies on the objects of a ResourceList, with the libraries of the API
// server. It changes nothing: its output has the same items and a result for each violated rule.
//
// krmflow validate --cel and krmflow diff --cel start it as a sandboxed function. It is a module of
// its own because cel-go costs every program that links it 5 ms at each start.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
)

func main() {
	var silent flag.FlagSet
	klog.InitFlags(&silent)
	silent.Set("logtostderr", "false")
	klog.SetOutput(io.Discard)
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "krmflow-cel:", err)
		os.Exit(1)
	}
}

// run reads a ResourceList, evaluates the rules and writes the ResourceList with the results.
func run(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return fmt.Errorf("cannot read the ResourceList: %w", err)
	}
	if len(text) > maxInput {
		return fmt.Errorf("the ResourceList has more than %d MiB", maxInput>>20)
	}
	list, err := parseList(text)
	if err != nil {
		return err
	}
	e := newEvaluator(list)
	for i, group := range list.groups() {
		e.current = i
		e.group(group)
	}
	list.Results = e.results
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(list)
}

const maxInput = 256 << 20
