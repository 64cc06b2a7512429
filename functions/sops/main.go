// Krmflow-sops is a KRM function that decrypts files encrypted with sops. It generates Secrets from
// their values, and the manifests in them.
//
// It reads a ResourceList from stdin and writes one to stdout. The functionConfig is a
// SopsSecretGenerator of krmflow.dev/v1alpha1 or goabout.com/v1beta1, or a ksops of viaduct.ai/v1.
// Its files are relative to the current directory and must be in it.
//
// All mistakes are reported together on stderr, with exit code 1. Then stdout remains empty. No
// message contains a decrypted value or a key, and nothing is written to disk.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/getsops/sops/v3/logging"
)

const usage = `krmflow-sops is a KRM function: it reads a ResourceList from stdin and writes one to stdout.
List its configuration in the generators of a kustomization file:
  krmflow.dev/v1alpha1 SopsSecretGenerator, goabout.com/v1beta1 SopsSecretGenerator, viaduct.ai/v1 ksops
`

func main() {
	// The sops library prints prompts for passphrases to os.Stdout. Only the answer may go there.
	stdout := os.Stdout
	os.Stdout = os.Stderr
	if len(os.Args) > 1 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := protect(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot protect the memory of the process: %v\n", err)
		os.Exit(1)
	}
	if err := keepHome("."); err != nil {
		fmt.Fprintf(os.Stderr, "cannot set the home directory: %v\n", err)
		os.Exit(1)
	}
	os.Exit(run(os.Stdin, stdout, os.Stderr, "."))
}

// run answers one call with the files below dir and returns the exit code.
func run(stdin io.Reader, stdout, stderr io.Writer, dir string) (code int) {
	// The library logs comments that it takes for unencrypted, and hints about keys.
	for _, l := range logging.Loggers {
		l.SetOutput(io.Discard)
	}
	debug.SetTraceback("none")
	defer func() {
		// The text of a panic can contain values.
		if r := recover(); r != nil {
			fmt.Fprintln(stderr, "internal error in krmflow-sops: the configuration or a file is not handled")
			code = 1
		}
	}()
	answer, err := answer(stdin, dir)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if _, err := stdout.Write(answer); err != nil {
		fmt.Fprintf(stderr, "cannot write the answer: %v\n", err)
		return 1
	}
	return 0
}

// answer returns the ResourceList that answers the one in stdin.
func answer(stdin io.Reader, dir string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(stdin, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the ResourceList: %w", err)
	}
	if len(text) > maxInput {
		return nil, fmt.Errorf("the ResourceList has more than %d MiB", maxInput>>20)
	}
	list, err := parseList(text)
	if err != nil {
		return nil, err
	}
	if err := list.checkPlace(); err != nil {
		return nil, err
	}
	c, err := parseConfig(list.config)
	if err != nil {
		return nil, err
	}
	items, err := generate(c, dir)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := list.write(&out, items, c.remarks); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Limits of sizes. A Secret has at most 1 MiB; krmflow accepts files of 64 MiB.
const (
	maxInput = 64 << 20
	maxFile  = 16 << 20
	maxTotal = 64 << 20 // of all encrypted files
)

// problem is a mistake: where, what, and hints.
type problem struct {
	where, what string
	hints       []string
}

func (p *problem) Error() string {
	text := printable(p.what)
	if p.where != "" {
		text = printable(p.where) + ": " + text
	}
	for _, h := range p.hints {
		text += "\n  " + printable(h)
	}
	return text
}

// hint adds a hint to a problem.
func (p *problem) hint(format string, args ...any) *problem {
	p.hints = append(p.hints, fmt.Sprintf(format, args...))
	return p
}

func problemf(where, format string, args ...any) *problem {
	return &problem{where: where, what: fmt.Sprintf(format, args...)}
}

// problems collects mistakes.
type problems []error

func (p *problems) addf(where, format string, args ...any) {
	*p = append(*p, problemf(where, format, args...))
}

func (p problems) err() error { return errors.Join(p...) }
